"""The command line with one choice changed that the paper leaves open, for `benchmarks/ablations.py`.

    python benchmarks/changed_choices.py CHANGE train segmentation --preset reproduce --out RUN

The package has one way for each of these choices. CHANGE is one of the functions below, which replaces it in
this process. Surfaces are then prepared anew each time: the cache does not know of the change.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import fieldconv.datasets.matches as matches
import fieldconv.surface.parts as parts
import fieldconv.tasks.matching as matching
from fieldconv.cli import main
from fieldconv.datasets import FAUST
from fieldconv.datasets.benchmarks.faust import read_faust
from fieldconv.geometry import Mesh
from fieldconv.labels import first_preimage
from fieldconv.networks import Network
from fieldconv.networks.fcnet.heads import ClassificationHead, DescriptorHead, LabelHead
from fieldconv.nn import ECHOBlock, FCResNetBlock, FieldConv, LearnedGradient, TangentLinear
from fieldconv.nn.initialise import squared_shares
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.ops import gradient_aggregate
from fieldconv.ops import rings as rings_module
from fieldconv.ops.direction import polar
from fieldconv.surface import Surface
from fieldconv.surface.cache import FOLDER
from fieldconv.tasks.base.metrics import precision_recall


def relu_after_the_sum() -> None:
    """As in the first residual networks: convolution, ReLU, convolution, sum, ReLU."""

    def forward(self: FCResNetBlock, x: Tensor, surface: Any) -> Tensor:
        y = self.conv2(self.relu1(self.conv1(x, surface)), surface)
        return self.relu2(self.carry(x) + y)  # type: ignore[no-any-return]

    FCResNetBlock.forward = forward  # type: ignore[method-assign]


def relu_before_convolutions() -> None:
    """ReLU, convolution, ReLU, convolution, sum; the lift has as many channels as the blocks."""

    def forward(self: FCResNetBlock, x: Tensor, surface: Any) -> Tensor:
        y = self.conv1(self.relu2(x), surface)
        return self.carry(x) + self.conv2(self.relu1(y), surface)  # type: ignore[no-any-return]

    FCResNetBlock.forward = forward  # type: ignore[method-assign]


def inputs_lifted_apart() -> None:
    """X = Σ_k P_k² Φ_k / |Φ_k|, instead of sums over k before magnitude and direction are joined."""

    def forward(self: LearnedGradient, x: Tensor, surface: Any) -> Tensor:
        gradients, means = gradient_aggregate(x, surface, rings=self.rings, spacing=self.spacing)
        turned = self.direction * torch.polar(torch.ones_like(self.offset), self.offset)
        phi = torch.einsum("prk,rko->pko", gradients, turned)
        magnitude = torch.einsum("prk,rko->pko", means, self.magnitude).square()
        return (magnitude * polar(phi.flatten(1))[1].view_as(phi)).sum(1)

    LearnedGradient.forward = forward  # type: ignore[method-assign]


def two_rings_of_the_lift() -> None:
    """Two radii of the learned gradient, however many the convolutions have."""
    usual = LearnedGradient.__init__

    def init(self: LearnedGradient, *args: Any, **options: Any) -> None:
        usual(self, *args, **{**options, "rings": 2})

    LearnedGradient.__init__ = init  # type: ignore[method-assign]


def lift_sees_half_as_far() -> None:
    """The learned gradient's filters end at ε/2, with as many radii, instead of at ε."""
    usual_init, usual_forward = LearnedGradient.__init__, LearnedGradient.forward

    def init(self: LearnedGradient, *args: Any, **options: Any) -> None:
        rings = options["rings"]
        usual_init(self, *args, **{**options, "rings": 2 * rings})
        with torch.no_grad():
            # A quarter of the disc is left, so that means become a quarter: magnitudes begin as before.
            shares = squared_shares(rings, self.spacing)
            nn.init.normal_(self.magnitude, std=4 / (self.input_length * math.sqrt(shares)))
        self.register_buffer("inside", torch.arange(2 * rings)[:, None, None] < rings, persistent=False)

    def forward(self: LearnedGradient, x: Tensor, surface: Any) -> Tensor:
        with torch.no_grad():  # weights beyond ε/2 never act, so that they may as well be zero
            self.direction.mul_(self.inside)
            self.magnitude.mul_(self.inside)
        return usual_forward(self, x, surface)

    LearnedGradient.__init__ = init  # type: ignore[method-assign]
    LearnedGradient.forward = forward  # type: ignore[method-assign]


def rings_from_the_centre() -> None:
    """The first of N evenly spaced radii is 0 instead of ε/N."""

    def radii(rings: int, spacing: str = "linear") -> Tensor:
        return torch.linspace(0, 1, rings, dtype=torch.float64)

    rings_module.ring_radii = radii  # type: ignore[assignment]


def offsets_begin_at_nothing() -> None:
    """β = 0 at first, instead of even over the circle."""
    for layer in (FieldConv, LearnedGradient):
        usual = layer.reset_parameters

        def reset(self: Any, usual: Callable[[Any], None] = usual) -> None:
            usual(self)
            nn.init.zeros_(self.offset)

        layer.reset_parameters = reset  # type: ignore[method-assign]


def exponential_units() -> None:
    """ELU between the layers of the ECHO block's perceptron, instead of ReLU."""
    usual = ECHOBlock.__init__

    def init(self: ECHOBlock, *args: Any, **options: Any) -> None:
        usual(self, *args, **options)
        self.mlp[1] = self.mlp[3] = nn.ELU()

    ECHOBlock.__init__ = init  # type: ignore[method-assign]


def echo_as_it_is() -> None:
    """ECHO values not multiplied by H."""

    def forward(self: ECHOBlock, x: Tensor, surface: Any) -> Tensor:
        return self.mlp(self.describe(x, surface).flatten(1))  # type: ignore[no-any-return]

    ECHOBlock.forward = forward  # type: ignore[method-assign]


def origin_between_the_ends() -> None:
    """The origin of positions half way between the two samples farthest apart, instead of the centroid."""
    usual = Network.inputs

    def inputs(self: Network, surface: Any) -> Tensor:
        positions = usual(self, surface)
        shape, count = shape_of_samples(surface)
        centres = []
        for number in range(count):
            own = positions[shape == number]
            first, second = divmod(int(torch.cdist(own, own).argmax()), len(own))
            centres.append((own[first] + own[second]) / 2)
        return positions - torch.stack(centres)[shape]

    Network.inputs = inputs  # type: ignore[method-assign]


def linear_after_the_mean() -> None:
    """Magnitudes averaged over the shape first, then a linear layer to the classes."""
    usual = ClassificationHead.__init__

    def init(self: ClassificationHead, config: Any) -> None:
        usual(self, config)
        self.bias = None
        self.linear = nn.Linear(config.width, config.outputs)
        del self.conv

    def forward(self: ClassificationHead, x: Tensor, surface: Any) -> Tensor:
        mean = mean_per_shape(polar(x)[0], torch.ones_like(surface.area), surface)
        return self.linear(mean)  # type: ignore[no-any-return]

    ClassificationHead.__init__ = init  # type: ignore[method-assign]
    ClassificationHead.forward = forward  # type: ignore[method-assign]


def no_relu_after_the_bottleneck() -> None:
    """The first dense layer of correspondence sees what the ECHO block puts out as it is."""
    usual = LabelHead.__init__

    def init(self: LabelHead, config: Any) -> None:
        usual(self, config)
        self.dense[0] = nn.Identity()  # type: ignore[operator]

    LabelHead.__init__ = init  # type: ignore[method-assign]


def dropout_after_the_bottleneck() -> None:
    """Dropout before both dense layers of correspondence, instead of the second alone."""
    usual = LabelHead.__init__

    def init(self: LabelHead, config: Any) -> None:
        usual(self, config)
        self.dense[0] = nn.Sequential(nn.ReLU(), nn.Dropout(config.dropout))  # type: ignore[operator]

    LabelHead.__init__ = init  # type: ignore[method-assign]


def another_template() -> None:
    """Shape 50 of FAUST, a woman in another pose, is the template instead of shape 0."""
    for reads in (FAUST.__init__, read_faust):
        reads.__kwdefaults__["template"] = 50  # type: ignore[attr-defined]


def descriptors_of_the_last_block() -> None:
    """Descriptors are the magnitudes of the last block's vectors; no convolution follows it."""
    usual = DescriptorHead.__init__

    def init(self: DescriptorHead, config: Any) -> None:
        usual(self, config)
        del self.conv

    def forward(self: DescriptorHead, x: Tensor, surface: Any) -> Tensor:
        return polar(x)[0]

    DescriptorHead.__init__ = init  # type: ignore[method-assign]
    DescriptorHead.forward = forward  # type: ignore[method-assign]


def descriptors_of_a_linear_layer() -> None:
    """Descriptors are the magnitudes of a linear layer's vectors, instead of a convolution's."""
    usual = DescriptorHead.__init__

    def init(self: DescriptorHead, config: Any) -> None:
        usual(self, config)
        del self.conv
        self.linear = TangentLinear(config.width, config.outputs)

    def forward(self: DescriptorHead, x: Tensor, surface: Any) -> Tensor:
        return polar(self.linear(x))[0]

    DescriptorHead.__init__ = init  # type: ignore[method-assign]
    DescriptorHead.forward = forward  # type: ignore[method-assign]


def ties_count_as_right() -> None:
    """Of candidates at equal distances the right ones count as earlier, instead of later."""

    def measured(distance: Any, right: Any) -> Any:
        # What is right is moved nearer by less than any two different distances lie apart.
        return precision_recall(np.nextafter(distance, np.where(right, -np.inf, distance)), right)

    matching.precision_recall = measured  # type: ignore[attr-defined]


def matches_from_the_model() -> None:
    """Right is a sample of the model if the scene's vertex that truly is there is in the ball.

    Instead of: if it is the nearest to where some vertex of the scene in the ball truly is.
    """

    def about(scene: Surface, model: Surface, near_scene: Any, truth: NDArray[np.int64]) -> NDArray[np.int64]:
        source = first_preimage(truth, model.num_vertices)[model.sample.numpy()]
        known = np.flatnonzero(source >= 0)
        right, sample = near_scene[source[known]].nonzero()
        asked = (truth[scene.sample.numpy()] >= 0)[sample]
        return np.stack([sample[asked], known[right[asked]]])

    matches._about_scene = about


def samples_far_apart_in_space() -> None:
    """Farthest points by the distance in space, instead of along the surface."""
    parts.farthest_point_samples = partial(  # type: ignore[attr-defined]
        parts.farthest_point_samples,  # type: ignore[attr-defined]
        metric="euclidean",
    )


def first_sample_anywhere() -> None:
    """The first of the farthest points is drawn at random, instead of the one farthest from the centroid."""
    usual = parts.farthest_point_samples  # type: ignore[attr-defined]

    def chosen(mesh: Mesh, count: int, *, seed: int | None = None) -> NDArray[np.int64]:
        return usual(mesh, count, seed=0 if seed is None else seed)  # type: ignore[no-any-return]

    parts.farthest_point_samples = chosen  # type: ignore[attr-defined]


def area_of_the_one_ring() -> None:
    """A sample has a third of its one-ring's area, all scaled to the area of the mesh."""

    def areas(mesh: Mesh, samples: NDArray[np.int64]) -> NDArray[np.float64]:
        own = mesh.vertex_areas[samples]
        return own * (mesh.area / own.sum())

    parts.sample_areas = areas  # type: ignore[attr-defined]


def labels_of_the_nearest_sample() -> None:
    """A vertex that is no sample takes what the nearest sample has, instead of interpolating from four."""

    def nearest(self: Surface, values: Tensor) -> Tensor:
        assert not values.is_complex()
        return values[self.vertex_sample[:, 0]]

    Surface.interpolate = nearest  # type: ignore[method-assign]


CHANGES = {
    change.__name__: change
    for change in (
        relu_after_the_sum,
        relu_before_convolutions,
        inputs_lifted_apart,
        two_rings_of_the_lift,
        lift_sees_half_as_far,
        rings_from_the_centre,
        offsets_begin_at_nothing,
        exponential_units,
        echo_as_it_is,
        origin_between_the_ends,
        linear_after_the_mean,
        no_relu_after_the_bottleneck,
        dropout_after_the_bottleneck,
        another_template,
        descriptors_of_the_last_block,
        descriptors_of_a_linear_layer,
        ties_count_as_right,
        matches_from_the_model,
        samples_far_apart_in_space,
        first_sample_anywhere,
        area_of_the_one_ring,
        labels_of_the_nearest_sample,
    )
}


if __name__ == "__main__":
    change, *words = sys.argv[1:]
    CHANGES[change]()
    with TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        status = main(words)
    raise SystemExit(status)
