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


def network_named(name: str) -> type[Network]:
    """Return the class of the network of that name.

    Examples
    --------
    >>> network_named("fcnet").__name__
    'FCNet'
    """
    return NETWORKS.get(name)


def network_names() -> list[str]:
    """Return the names of all networks that are installed."""
    return NETWORKS.names()


def register(network: type[Network]) -> type[Network]:
    """Add a network for the rest of this process; use it as a decorator of the class."""
    return NETWORKS.register(network)
