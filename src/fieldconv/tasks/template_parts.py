"""Which part of the template is this point on? Read from a network that knows places on the template."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from torch import Tensor

from fieldconv._arrays import Ints
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import at_vertices
from fieldconv.tasks.base import Decoded, Prediction, Task
from fieldconv.tasks.base.vertex_values import VertexValues, confidence_values
from fieldconv.tasks.template_points import TemplatePoints


class TemplateParts(TemplatePoints):
    """The parts of a template, of all levels, read from the outputs of a network for `TemplatePoints`.

    A network for one of the two tasks answers the other as well. `fieldconv.models` lists the shipped one
    twice: as ``bodies`` for this task, and as ``body-points``.
    """

    name, about = "template-parts", "a part of a template at each vertex, with its place there"

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        """Return parts; ``values`` are places, their confidence, and the parts of finer levels."""
        levels = [outputs[:, first:last].softmax(1) for first, last in pairwise(self.places.starts)]
        parts, *others = (at_vertices(surface, level) for level in levels)
        finer = [other.argmax(1, keepdim=True).numpy().astype(np.float32) for other in others]
        values, scores = np.hstack([self.locate(outputs, surface), *finer]), parts.numpy()
        return Decoded(scores.argmax(1).astype(np.int64), scores, values)

    def average(self, found: Sequence[Decoded]) -> Decoded:
        scores = np.mean([one.scores for one in found if one.scores is not None], 0)
        place = self.average_places(found)
        finer = np.stack([one.values for one in found if one.values is not None])[:, :, place.shape[1] :]
        best = np.stack([self._confidence(one) for one in found]).argmax(0)
        values = np.hstack([place, finer[best, np.arange(len(place))]])
        return Decoded(scores.argmax(1).astype(np.int64), scores, values)

    def parts_at(self, labels: Ints) -> Ints:
        return labels

    def show(self, found: Prediction) -> list[VertexValues]:
        assert found.labels is not None
        assert found.values is not None
        starts, names = self.places.starts, found.class_names
        parts = names[: starts[1]]
        shown = [
            VertexValues(name="Part", key="label", kind="labels", values=found.labels, class_names=parts),
            confidence_values(self._confidence(found)),
        ]
        for level, (first, last) in enumerate(pairwise(starts[1:]), start=1):
            number = np.nan_to_num(found.values[:, self.places.dims + level], nan=-1).astype(np.int64)
            finer = names[first:last]
            shown.append(
                VertexValues(name="Finer part", key="fine", kind="labels", values=number, class_names=finer)
            )
        return shown

    write = Task.write  # the points are for those who ask for them
