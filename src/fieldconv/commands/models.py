"""`fieldconv models`: the networks that come with the package."""

from __future__ import annotations

from fieldconv.models import CARD, MODELS, WEIGHTS


def models_command() -> int:
    """List the networks that come with the package; predict, match, evaluate and train --finetune take them.

    $ fieldconv models
    $ fieldconv predict bodies scan.ply --out RESULT
    """
    for name, network in MODELS.items():
        size = (network.folder / WEIGHTS).stat().st_size / 1e6
        card = network.folder / CARD
        print(f"{name:16}{network.about}\n{'':16}task {network.task}, {size:.1f} MB, card {card}")
    return 0
