"""`fieldconv models`: the networks that come with the package."""

from __future__ import annotations

from fieldconv.models import MODELS, folder_of


def models_command() -> int:
    """List the networks that come with the package; predict, match, evaluate and train --finetune take them.

    $ fieldconv models
    $ fieldconv predict bodies scan.ply --out RESULT
    """
    from fieldconv.training.checkpoint import CARD, WEIGHTS

    for name, network in MODELS.items():
        folder = folder_of(network)
        size = (folder / WEIGHTS).stat().st_size / 1e6
        print(f"{name:16}{network.about}\n{'':16}task {network.task}, {size:.1f} MB, card {folder / CARD}")
    return 0
