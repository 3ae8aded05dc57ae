"""The paper's generic network, with field convolutions."""

from fieldconv.networks.fcnet.config import FCNetConfig
from fieldconv.networks.fcnet.network import FCNet

__all__ = ["FCNet", "FCNetConfig"]
