"""Where packages written for version 0.2.0 find what a network is; now `fieldconv.networks.protocol`."""

from fieldconv.networks.protocol import Network, NetworkConfig

__all__ = ["Network", "NetworkConfig"]
