"""Vertices without a counterpart: found where a part has been cut away, and hardly anywhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from fieldconv.datasets.creature_collection import counterpart
from fieldconv.datasets.creatures import correspondence, make_creature
from fieldconv.geometry import Mesh
from fieldconv.geometry.damage import damage
from fieldconv.geometry.mesh.numbering import by_position
from fieldconv.networks import Network, NetworkConfig
from fieldconv.tasks.correspondence import MAX_COUNTERPART_DISTANCE
from fieldconv.training import match
from fieldconv.training.apply import NO_MATCH_DISTANCE, round_trip_error


def none_score(truth: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Precision and recall of −1, "no counterpart"."""
    none, answered = truth < 0, predicted < 0
    both = int((none & answered).sum())
    return both / int(answered.sum()), both / int(none.sum())


@pytest.mark.parametrize(("species", "seed"), [("quadruped", 3), ("lizard", 5), ("octopus", 1)])
def test_the_round_trip_error_finds_missing_parts(species: str, seed: int) -> None:
    """With true maps between a whole creature and another of its kind that was cut."""
    whole = make_creature(species, seed)
    torn = make_creature(species, seed + 100, difficulty="cut")
    away = round_trip_error(whole.mesh, correspondence(whole, torn), correspondence(torn, whole))
    truth = counterpart(whole, torn)
    precision, recall = none_score(truth, np.where(away > NO_MATCH_DISTANCE, -1, 0))
    assert 0.02 < (truth < 0).mean() < 0.7
    assert precision > 0.9
    assert recall > 0.8


class Known(Network):
    """Describes vertices as it was told, by how many there are."""

    name, Config = "known", NetworkConfig

    def __init__(self, described: list[np.ndarray]) -> None:
        super().__init__(NetworkConfig(head="descriptors", outputs=3))
        self.task = "matching"
        self.anything = torch.nn.Parameter(torch.zeros(1))
        self.known = {len(rows): torch.from_numpy(rows).float() for rows in described}

    def forward(self, surface: object) -> Tensor:
        return self.known[surface.num_nodes]  # type: ignore[attr-defined]

    def descriptors(self, surface: object) -> Tensor:
        return self(surface)


def test_partial_matches_say_none_where_a_part_is_missing(tmp_path: Path) -> None:
    whole = make_creature("quadruped", 3).mesh
    done = damage.remove_tip(whole, np.random.default_rng(0), (0.1, 0.1), closed=False)
    network = Known([by_position(mesh).mesh.vertices for mesh in (whole, done.mesh)])  # as it is shown them
    full = match(network, whole, done.mesh)
    part = match(network, whole, done.mesh, partial=True, out=tmp_path)
    kept = np.full(len(whole.vertices), -1)
    kept[done.nearest] = np.arange(len(done.nearest))
    assert (full.target >= 0).all()
    assert np.array_equal(part.target[kept >= 0], kept[kept >= 0])  # what is there is found
    precision, recall = none_score(kept, part.target)
    assert precision == 1
    assert recall > 0.5  # all but the ring next to the rim
    assert np.array_equal(np.load(tmp_path / "map.npy"), part.target)
    # The other way round every vertex has its counterpart.
    assert np.array_equal(match(network, done.mesh, whole, partial=True).target, done.nearest)


class Placed(Known):
    """Puts every vertex on the template vertex that it was told."""

    def __init__(self, template: Mesh, places: list[np.ndarray]) -> None:
        rows = [np.eye(len(template.vertices))[place] for place in places]
        super().__init__(rows)
        self.config = NetworkConfig(head="labels", outputs=len(template.vertices))
        self.task, self.template = "correspondence", template


def test_with_a_template_places_that_no_vertex_comes_near_are_missing() -> None:
    template = make_creature("quadruped", 3, vertices=1500).mesh
    done = damage.remove_tip(template, np.random.default_rng(0), (0.1, 0.1), closed=False)
    numbered = [by_position(mesh).order for mesh in (template, done.mesh)]
    network = Placed(template, [numbered[0], done.nearest[numbered[1]]])
    found = match(network, template, done.mesh, partial=True).target
    kept = np.full(len(template.vertices), -1)
    kept[done.nearest] = np.arange(len(done.nearest))
    assert np.array_equal(found[kept >= 0], kept[kept >= 0])
    # Along edges to the nearest vertex that is left: no path is shorter than the straight line.
    normed = template.normalised().vertices
    straight = cKDTree(normed[done.nearest]).query(normed)[0]
    assert (found[straight > MAX_COUNTERPART_DISTANCE] == -1).all()
    assert (straight > MAX_COUNTERPART_DISTANCE).mean() > 0.05
    assert np.array_equal(match(network, done.mesh, template, partial=True).target, done.nearest)
