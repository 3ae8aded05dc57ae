"""What is not wrong with a dataset, but makes it too small to learn from or to test on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

FEWEST_TO_LEARN = 10
FEWEST_TO_TEST = 5  # reports give no interval for fewer


def advise(
    targets: Mapping[str, Any], tested: Set[str], class_names: Iterable[str], *, what: str = "meshes"
) -> Iterator[str]:
    """Yield a sentence for each reason why numbers from this set should not be trusted.

    Parameters
    ----------
    targets : mapping of str to class or (V,) labels
        Target of each mesh or pair, by its name.
    tested : set of str
        Names of those in the test part.
    class_names : iterable of str
        Empty where targets are no classes.
    what : str
        "meshes" or "pairs".

    Examples
    --------
    >>> print("\\n".join(advise({f"{k}.obj": k % 2 for k in range(20)}, {"18.obj"}, ["cat", "dog"])))
    1 of 20 meshes to test on: too few to say how well a network does; 5 or more allow an interval.
    Never tested, because none of the meshes to test on has them: dog.
    """
    learnt = [name for name in targets if name not in tested]
    held = [name for name in targets if name in tested]
    if len(learnt) < FEWEST_TO_LEARN:
        yield (
            f"{len(learnt)} of {len(targets)} {what} to learn from: enough to try the commands, too few for "
            "a network that is any good on new ones."
        )
    if len(held) < FEWEST_TO_TEST:
        yield (
            f"{len(held)} of {len(targets)} {what} to test on: too few to say how well a network does; "
            f"{FEWEST_TO_TEST} or more allow an interval."
        )
    names = list(class_names)
    seen, met = (
        [sum(k in _classes(targets[name]) for name in side) for k in range(len(names))]
        for side in (learnt, held)
    )
    kinds: dict[str, list[str]] = {}
    for name, often, tested_often in zip(names, seen, met, strict=True):
        if not often and not tested_often:
            sentence = "No vertex of any mesh has these, which the list of classes names"
        elif not often:
            sentence = "Cannot be learnt, because only the test part has them"
        elif held and not tested_often:
            sentence = f"Never tested, because none of the {what} to test on has them"
        else:
            continue
        kinds.setdefault(sentence, []).append(name)
    if single := [name for name, often in zip(names, seen, strict=True) if often == 1]:
        kinds["Learnt from a single mesh"] = single
    for sentence, found in kinds.items():
        yield f"{sentence}: {', '.join(found)}."


def _classes(target: Any) -> set[int]:
    return set(np.unique(np.asarray(target)).tolist())
