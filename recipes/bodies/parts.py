"""Parts of the body, drawn on the template: eight as human segmentation benchmarks have them, and 32 finer.

Borders are planes through joints, as anatomists place them: neck at the collar, arm at the shoulder's edge,
leg along the groin and below the buttock, then elbow, wrist, knee, ankle. The eight follow the convention of
the common benchmarks: the neck belongs to the head, shoulders, hips and buttocks to the torso.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recipes.bodies.model import BodyModel, Floats, Ints
from recipes.bodies.rig import FRONT, LEFT, SIDES, UP

PARTS = ("head", "hand", "lower arm", "upper arm", "torso", "upper leg", "lower leg", "foot")
_CENTRE = {
    "face": "head", "scalp": "head", "neck": "head", "chest": "torso", "upper back": "torso",
    "belly": "torso", "lower back": "torso", "pelvis": "torso",
}  # fmt: skip
_SIDED = {
    "upper arm": "upper arm", "lower arm": "lower arm", "palm": "hand", "thumb": "hand",
    "index finger": "hand", "middle finger": "hand", "ring finger": "hand", "little finger": "hand",
    "upper leg": "upper leg", "lower leg": "lower leg", "foot": "foot", "toes": "foot",
}  # fmt: skip
_WHOLE = _CENTRE | {f"{side} {name}": part for side in ("left", "right") for name, part in _SIDED.items()}
FINE_PARTS = tuple(_WHOLE)
# Part of each finer part.
PART_OF_FINE: Ints = np.array([PARTS.index(part) for part in _WHOLE.values()])

Mask = NDArray[np.bool_]


def fine_labels(model: BodyModel) -> Ints:
    """Return for each vertex of the template the index of its finer part."""
    skin, at = model.neutral, dict(zip(model.bones, model.joints, strict=True))

    def share(*starts: str, letter: str = "") -> Floats:
        """Skin weight of all bones whose names begin so."""
        chosen = [name.startswith(starts) and name.endswith(letter) for name in model.bones]
        return np.asarray(model.weights[:, chosen].sum(axis=1))

    def beyond(point: Floats, normal: Floats) -> Mask:
        return np.asarray((skin - point) @ normal > 0)

    label = np.full(len(skin), -1)

    def paint(name: str, where: Mask) -> None:
        label[where] = FINE_PARTS.index(name)

    # The trunk: bands between heights of the spine, front and back.
    front = (skin[:, 1] - at["spine03"][1]) < -0.015
    upper = beyond(at["spine02"], UP)
    paint("chest", upper & front)
    paint("upper back", upper & ~front)
    paint("belly", ~upper & front)
    paint("lower back", ~upper & ~front)
    paint("pelvis", ~beyond(at["spine04"] - 0.01 * UP, UP))

    head = share("neck", "head", "eye", "spine01") > 0.5
    paint("neck", head & beyond(at["neck01"] - 0.02 * UP, UP + 0.45 * FRONT))
    skull = head & beyond(at["neck03"], UP + 0.7 * FRONT)
    paint("scalp", skull)
    paint("face", skull & beyond(at["head"] + 0.03 * FRONT, FRONT - 0.3 * UP))

    crotch = _crotch(skin)
    for side, letter, sign in (("left", "L", SIDES["L"]), ("right", "R", SIDES["R"])):
        shoulder, elbow, wrist = (at[f"{name}.{letter}"] for name in ("upperarm01", "lowerarm01", "wrist"))
        upper_arm, fore = _unit(elbow - shoulder), _unit(wrist - elbow)
        arm = share("shoulder", "upperarm", "lowerarm", "wrist", "finger", "metacarpal", letter=letter) > 0.25
        arm &= beyond(shoulder + 0.02 * upper_arm, _unit(upper_arm + sign * LEFT))
        forearm = arm & beyond(elbow, _unit(upper_arm + fore))
        hand = forearm & beyond(wrist, fore)
        paint(f"{side} upper arm", arm)
        paint(f"{side} lower arm", forearm)
        paint(f"{side} palm", hand)
        paint(f"{side} thumb", hand & (share("finger1-2", "finger1-3", letter=letter) > 0.5))
        for number, finger in enumerate(("index", "middle", "ring", "little"), start=2):
            paint(f"{side} {finger} finger", hand & (share(f"finger{number}-", letter=letter) > 0.5))

        hip, knee, ankle = (at[f"{name}.{letter}"] for name in ("upperleg01", "lowerleg01", "foot"))
        # Steep along the groin in front, nearly level below the buttock.
        out = sign * skin[:, 0]
        slope = 0.55 - 0.35 * np.tanh((skin[:, 1] - hip[1]) / 0.06)
        leg = (out > -0.002) & (skin[:, 2] < crotch + slope * np.maximum(out, 0))
        leg &= share("clavicle", "shoulder", "upperarm", "lowerarm", "wrist", "finger", "metacarpal") < 0.5
        shin = leg & beyond(knee, _unit(ankle - hip))
        foot = shin & beyond(ankle + 0.02 * UP, _unit(ankle - knee))
        paint(f"{side} upper leg", leg)
        paint(f"{side} lower leg", shin)
        paint(f"{side} foot", foot)
        paint(f"{side} toes", foot & (share("toe", letter=letter) > 0.5))
    return label


def _crotch(skin: Floats) -> float:
    """Height of the lowest point between the legs."""
    middle = np.abs(skin[:, 0]) < 0.006
    return float(skin[middle, 2].min())


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / np.linalg.norm(vector))
