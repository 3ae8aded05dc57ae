"""What a run's network says about meshes, as colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldconv.geometry.mesh import Mesh
from fieldconv.viz import panels as pan


@dataclass
class Shown:
    """Of one mesh: ways to colour it, and a note for those who read."""

    colourings: list[pan.Colouring] = field(default_factory=list)
    note: str = ""


def predicted(run: str | Path, meshes: Sequence[Mesh]) -> tuple[list[Shown], Mesh | None]:
    """Predictions of a network for each mesh, and the template they refer to, if there is one.

    Parameters
    ----------
    run : path
        Run or checkpoint folder.
    """
    from fieldconv.training.checkpoint import load_pretrained
    from fieldconv.training.prediction import predict

    model = load_pretrained(run)
    found = [predict(model, mesh) for mesh in meshes]
    names = list(model.class_names)
    if model.config.head == "classification":
        notes = []
        for prediction in found:
            assert prediction.labels is not None
            assert prediction.scores is not None
            label = int(prediction.labels)
            name = names[label] if label < len(names) else str(label)
            notes.append(Shown(note=f"{name} ({100 * prediction.scores[label]:.0f} %)"))
        return notes, None
    if model.config.head == "descriptors":
        colours = alike([prediction.descriptors for prediction in found])
        return [
            Shown([pan.Colours(name="Descriptors: alike where colours are", values=c)]) for c in colours
        ], None
    shown = []
    for prediction in found:
        assert prediction.labels is not None
        assert prediction.scores is not None
        sure = pan.scalar("Confidence", prediction.scores.max(axis=1), limits=(0.0, 1.0))
        if model.template is not None:
            shown.append(Shown([pan.carried("Correspondence", model.template, prediction.labels), sure]))
        else:
            shown.append(Shown([pan.labels("Prediction", prediction.labels, names), sure]))
    return shown, model.template


def alike(descriptors: Sequence[ArrayLike]) -> list[NDArray[np.uint8]]:
    """Colours that are alike where descriptors are: the three main directions of all of them together.

    Parameters
    ----------
    descriptors : sequence of (V, d)

    Returns
    -------
    list of (V, 3) uint8
    """
    from fieldconv.viz.colours import from_oklab

    rows = [np.asarray(own, dtype=np.float64) for own in descriptors]
    every = np.concatenate(rows)
    centre = every.mean(axis=0)
    _, _, axes = np.linalg.svd(every - centre, full_matrices=False)
    main = np.zeros((3, every.shape[1]))
    main[: min(3, len(axes))] = axes[:3]
    spread = (every - centre) @ main.T
    size = np.maximum(np.percentile(np.abs(spread), 97, axis=0), 1e-12)
    result = []
    for own in rows:
        a, b, light = np.clip((own - centre) @ main.T / size, -1, 1).T
        lab = np.stack([0.72 + 0.14 * light, 0.16 * a, 0.16 * b], axis=-1)
        result.append(np.rint(255 * from_oklab(lab)).astype(np.uint8))
    return result
