"""Networks by name: `fcnet`, those of `rivals`, those of other packages, and those of the caller's script.

Other packages add theirs with entry points of the group ``fieldconv.networks``; `register` adds one in a
script or notebook. `fieldconv.networks.protocol.Network` says what a network defines.
"""

from __future__ import annotations

from fieldconv._registry import Registry
from fieldconv.networks.protocol import Network

NETWORKS: Registry[Network] = Registry(
    "network",
    "fieldconv.networks",
    lambda: Network,
    helpers=("protocol", "registry", "base", "shared"),
    within=("rivals",),
)

network_named = NETWORKS.get
network_names = NETWORKS.names
register = NETWORKS.register
