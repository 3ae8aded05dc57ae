"""Pairs of surfaces, and which of their samples correspond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from fieldconv._arrays import Ints
from fieldconv.geometry.geodesic.geodesic_discs import geodesic_discs
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.batches import batch
from fieldconv.surface.fields import Fields
from fieldconv.surface.surface import Surface
from fieldconv.tasks.base.examples import Example

BALL = 0.05  # geodesic radius within which a match counts as right, at unit area
_INDEX_PAIRS = ("match", "ball", "scene_ball")


class Matches(Fields):
    """Which samples of a scene and a model correspond (supplement C of the paper).

    Attributes
    ----------
    match : (2, C) int64
        A sample of the scene, and the sample of the model geodesically nearest to where it truly is.
    ball : (2, K) int64
        All samples of the model within a geodesic ball of 0.05 around there: what counts as right.
    scene_ball : (2, K) int64
        The same with the ball on the scene, as in the paper: the samples of the model nearest to where all
        scene vertices within 0.05 of a sample truly are.
    truth : (n_scene,) int64
        The model's vertex at each sample of the scene, −1 where unknown; not shifted in batches.
    samples : (1, 2) int64
        Number of samples of the scene and of the model.
    """

    match: Tensor
    ball: Tensor
    scene_ball: Tensor
    truth: Tensor
    samples: Tensor


class SurfacePair(NamedTuple):
    """A pair for matching; `collate` makes a pair of batches of several."""

    scene: Surface
    model: Surface
    matches: Matches


def collate(examples: Sequence[Example]) -> Example:
    """Return surfaces as a batch, pairs as a pair of batches; the ``collate_fn`` for torch's loader.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from fieldconv.datasets import Creatures
    >>> data = Creatures("segmentation", meshes=2, vertices=250, species=["snake"], cache=False)
    >>> next(iter(DataLoader(data, batch_size=2, collate_fn=collate))).num_graphs
    2
    """
    if not isinstance(examples[0], SurfacePair):
        return batch(examples)
    scenes, models, matches = zip(*examples, strict=True)
    return SurfacePair(batch(scenes), batch(models), _join(matches))


def _join(several: Sequence[Matches]) -> Matches:
    """Return the matches of several pairs, in the numbers that samples have in batches."""
    if len(several) == 1:
        return several[0]
    samples = torch.cat([one.samples for one in several])
    first = samples.cumsum(0) - samples
    joined = Matches()
    for name in several[0]:
        values = [one[name] for one in several]
        if name in _INDEX_PAIRS:
            joined[name] = torch.cat([v + begin[:, None] for v, begin in zip(values, first, strict=True)], 1)
        else:
            joined[name] = torch.cat(values)
    return joined


def near_samples(surface: Surface, mesh: Mesh, ball: float = BALL) -> csr_array:
    """Return (V, n) bool: which samples are within the geodesic ball around each vertex."""
    samples = surface.sample.numpy()
    discs = geodesic_discs(mesh.normalised(), ball, samples)
    sample = np.repeat(np.arange(len(samples)), np.diff(discs.offsets))
    shape = surface.num_vertices, len(samples)
    return csr_array((np.ones(len(sample), bool), (discs.targets, sample)), shape)


def find_matches(
    scene: Surface, model: Surface, near: csr_array, truth: Ints, near_scene: csr_array
) -> Matches:
    """Return which samples correspond, given the model's vertex at each vertex of the scene (−1: none).

    ``near`` and ``near_scene`` are the `near_samples` of the model and of the scene.
    """
    image = truth[scene.sample.numpy()]
    known = np.flatnonzero(image >= 0)
    nearest = model.vertex_sample[:, 0].numpy()
    chosen, right = near[image[known]].nonzero()
    vertex, around = near_scene.nonzero()
    counted = (image >= 0)[around] & (truth[vertex] >= 0)
    scene_ball = np.unique(np.stack([around[counted], nearest[truth[vertex[counted]]]]), axis=1)
    return Matches(
        match=torch.from_numpy(np.stack([known, nearest[image[known]]])),
        ball=torch.from_numpy(np.stack([known[chosen], right])),
        scene_ball=torch.from_numpy(np.ascontiguousarray(scene_ball, np.int64)),
        truth=torch.from_numpy(image),
        samples=torch.tensor([[len(scene.sample), len(model.sample)]]),
    )
