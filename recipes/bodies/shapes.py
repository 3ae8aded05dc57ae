"""Random builds: people of all ages, and a little beyond what people are like."""

from __future__ import annotations

import numpy as np

from recipes.bodies.model import BodyModel, Floats

Rng = np.random.Generator

# Shares of ages, in anny's measure: −1/3 newborn, 0 baby, 1/3 child, 2/3 young, 1 old.
AGES = ((0.08, -0.33, 0.15), (0.20, 0.15, 0.55), (0.52, 0.55, 0.85), (0.20, 0.85, 1.05))
EXPRESSIVE = 0.5  # share of bodies that pull a face


def draw_phenotype(rng: Rng) -> dict[str, float]:
    """Return age, gender, muscle, weight … as `BodyModel.build` takes them."""
    shares = [share for share, _, _ in AGES]
    _, young, old = AGES[rng.choice(len(AGES), p=shares)]

    def wide() -> float:
        """From a tenth below to a tenth above what the model's makers drew, the middle likelier."""
        return float(1.2 * rng.beta(1.3, 1.3) - 0.1)

    descent = rng.dirichlet([0.6, 0.6, 0.6])
    return {
        "age": float(rng.uniform(young, old)),
        "gender": float(np.clip(1.1 * rng.beta(0.4, 0.4) - 0.05, -0.05, 1.05)),
        "muscle": wide(),
        "weight": wide(),
        "height": wide(),
        "proportions": wide(),
        "cupsize": float(rng.random()),
        "firmness": float(rng.random()),
        "african": float(descent[0]),
        "asian": float(descent[1]),
        "caucasian": float(descent[2]),
    }


def draw_changes(model: BodyModel, rng: Rng) -> dict[str, float]:
    """Return local changes: single limbs, trunk and face, longer, thicker, wider …; both sides much alike."""
    if rng.random() < 0.15:
        return {}
    spread = rng.uniform(0.1, 0.45)
    changes: dict[str, float] = {}
    for name in model.changes:
        if name.startswith("r-"):
            same = changes.get(f"l-{name[2:]}")
            if same is not None:
                changes[name] = float(np.clip(same + 0.1 * spread * rng.standard_normal(), -1.2, 1.2))
        elif rng.random() < 0.4:
            # Shifts of whole parts to one side stay small: few people are that lopsided.
            whole = 0.25 if name.endswith("-out") and not name.startswith("l-") else 1.0
            changes[name] = float(np.clip(whole * spread * rng.standard_normal(), -1.2, 1.2))
    return changes


def draw_expression(model: BodyModel, rng: Rng) -> dict[str, float]:
    """Return how far some of the face's muscles pull."""
    if rng.random() > EXPRESSIVE:
        return {}
    chosen = rng.choice(len(model.expressions), 6, replace=False)
    return {model.expressions[i]: float(rng.uniform(0, 0.8)) for i in chosen}


def draw_build(model: BodyModel, rng: Rng) -> tuple[Floats, Floats]:
    """Return skin and bone heads of a random body at rest."""
    return model.build(draw_phenotype(rng), draw_changes(model, rng), draw_expression(model, rng))
