"""Networks on surfaces, found by name: each file or folder here but `base` and `scalar` holds one.

Packages of others add theirs with entry points of the group ``fieldconv.networks``; `register` adds one in a
script or notebook. See `fieldconv.networks.base.Network` for what a network has to say about itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldconv._lazy import lazy
from fieldconv._registry import Registry

if TYPE_CHECKING:
    from fieldconv.networks.base import Network as Network
    from fieldconv.networks.base import NetworkConfig as NetworkConfig
    from fieldconv.networks.fcnet import FCNet as FCNet
    from fieldconv.networks.fcnet import FCNetConfig as FCNetConfig


def _base() -> type[Network]:
    from fieldconv.networks.base import Network

    return Network


NETWORKS: Registry[Network] = Registry("network", __name__, _base, helpers=("base", "scalar"))


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
    """Add a network to those found by name; use it as a decorator of the class."""
    return NETWORKS.register(network)


__getattr__, __dir__ = lazy(
    __name__,
    {
        "FCNet": "fcnet",
        "FCNetConfig": "fcnet",
        "Network": "base",
        "NetworkConfig": "base",
        "network_named": "",
        "network_names": "",
        "register": "",
    },
)
