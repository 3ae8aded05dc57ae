"""Training that begins with the weights of another network."""

from __future__ import annotations

from typing import Any

import torch

from fieldconv.networks.protocol import Network

_OF_THE_DATA = ("head", "outputs")  # what the task and the data decide


def settings_from(base: Network) -> dict[str, Any]:
    """Return the settings of a network that are the same for other classes."""
    return {key: value for key, value in base.config.to_dict().items() if key not in _OF_THE_DATA}


def start_from(model: Network, base: Network) -> list[str]:
    """Copy the weights of a network that fit; return the names of those that do not, which stay new.

    Another number of outputs changes the last layer only, so that all before it is taken over.

    Raises
    ------
    ValueError
        If no weights fit.
    """
    given = base.state_dict()
    fresh = []
    with torch.no_grad():
        for name, own in model.state_dict().items():
            if name in given and given[name].shape == own.shape:
                own.copy_(given[name])
            else:
                fresh.append(name)
    if len(fresh) == len(model.state_dict()):
        raise ValueError(f"no weights of {base.source or base.name} fit this network")
    return fresh
