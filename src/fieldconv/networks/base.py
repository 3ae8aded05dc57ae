"""Old place of `fieldconv.networks.protocol`, for packages written for version 0.2.0."""

from fieldconv.networks.protocol import Network, NetworkConfig

__all__ = ["Network", "NetworkConfig"]
