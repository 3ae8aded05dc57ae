"""Which point of the template is this?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fieldconv.cache import default_folder
from fieldconv.tasks.base import Evaluation, Follow, Network, at_vertices
from fieldconv.tasks.distances import template_distances
from fieldconv.tasks.metrics import THRESHOLDS, share_within, summarise_errors
from fieldconv.tasks.segmentation import LabelTask


class Correspondence(LabelTask):
    """A template vertex per point; judged by the geodesic distance, on the template, to the true one.

    Parameters
    ----------
    folder : path, optional
        Where distances on templates are kept; the cache by default.
    """

    name, metric = "correspondence", "within_0.05"

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = folder

    def evaluate(self, network: Network, data: Any, *, follow: Follow) -> Evaluation:
        distances = template_distances(data.template, self.folder or default_folder())
        everything, shapes = [], []
        for surface in follow(data):
            predicted = at_vertices(surface, network(surface).softmax(1)).argmax(1).numpy()
            truth = surface.vertex_y.numpy()
            known = truth >= 0
            errors = distances[truth[known], predicted[known]]
            everything.append(errors)
            own = summarise_errors(errors)
            shapes.append(
                {"name": surface.name, "within_0.05": own.within, "exact": own.exact, "mean_error": own.mean}
            )
        errors = np.concatenate(everything)
        total = summarise_errors(errors)
        return Evaluation(
            self.name,
            {
                "within_0.05": total.within,
                "exact": total.exact,
                "mean_error": total.mean,
                "area_under_curve": total.area_under_curve,
            },
            shapes,
            curves={"geodesic error": np.stack([THRESHOLDS, share_within(errors)], 1)},
        )
