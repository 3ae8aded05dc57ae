"""Do the tests notice mistakes? Make each on purpose, in a copy of the package, and see which test fails.

    python benchmarks/mutations.py [WORD …]

With words, only the mistakes whose description or file contains one of them. Ends with status 1 if some
mistake is noticed by no test. A mistake is a piece of source text that stands once in its file and is
replaced by another; its tests are named beside it, since running all of them would take hours.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NN, NETWORKS, TASKS, SURFACE = "tests/nn/", "tests/networks/", "tests/tasks/", "tests/surface/"


@dataclass(frozen=True)
class Mistake:
    """A change of the source that some test must notice.

    Attributes
    ----------
    what : str
        In words.
    file : str
        Below ``src/fieldconv``.
    before, after : str
        Source text, and what it becomes.
    tests : str
        Test files, or tests in them, separated by spaces; run until one fails.
    """

    what: str
    file: str
    before: str
    after: str
    tests: str


DENSE = """                nn.ReLU(),
                nn.Linear(config.bottleneck, config.dense),
                nn.ReLU(),
"""

MISTAKES = [
    # Those that a reader of the package made up, and that no test noticed
    Mistake(
        "dropout of the dense head 0.5 → 0.1, in the head",
        "networks/fcnet/heads.py",
        "nn.Dropout(config.dropout)",
        "nn.Dropout(0.1)",
        NETWORKS + "test_heads.py",
    ),
    Mistake(
        "dropout of the dense head 0.5 → 0.1, in the paper's preset",
        "tasks/correspondence.py",
        '"dropout": 0.5,',
        '"dropout": 0.1,',
        NETWORKS + "test_config.py",
    ),
    Mistake(
        "dropout of the dense head 0.5 → 0.1, by default",
        "networks/fcnet/config.py",
        "dropout: float = 0.5",
        "dropout: float = 0.1",
        NETWORKS + "test_config.py",
    ),
    Mistake(
        "both ReLUs of the dense head removed",
        "networks/fcnet/heads.py",
        DENSE,
        DENSE.replace("nn.ReLU()", "nn.Identity()"),
        NETWORKS + "test_heads.py",
    ),
    Mistake(
        "first ReLU of the dense head removed",
        "networks/fcnet/heads.py",
        DENSE,
        DENSE.replace("nn.ReLU()", "nn.Identity()", 1),
        NETWORKS + "test_heads.py",
    ),
    Mistake(
        "second ReLU of the dense head removed",
        "networks/fcnet/heads.py",
        "config.dense),\n                nn.ReLU(),",
        "config.dense),\n                nn.Identity(),",
        NETWORKS + "test_heads.py",
    ),
    Mistake(
        "ECHO votes by magnitude, in the network",
        "networks/fcnet/heads.py",
        "votes=config.echo_votes",
        'votes="magnitude"',
        NETWORKS + "test_heads.py",
    ),
    Mistake(
        "ECHO votes by magnitude, by default",
        "networks/fcnet/config.py",
        'echo_votes: Votes = "vector"',
        'echo_votes: Votes = "magnitude"',
        NETWORKS + "test_config.py",
    ),
    Mistake(
        "ECHO votes by magnitude, in the layer",
        "nn/echo.py",
        'votes: Literal["vector", "magnitude"] = "vector"',
        'votes: Literal["vector", "magnitude"] = "magnitude"',
        NN + "test_echo.py",
    ),
    Mistake(
        "ECHO votes by magnitude, in the block",
        "nn/echo_block.py",
        "votes=votes)",
        'votes="magnitude")',
        NN + "test_echo.py",
    ),
    Mistake(
        "clamp of matching 20 → 2 (the settings refuse 0.5)",
        "tasks/matching.py",
        "farthest: float | None = 20.0",
        "farthest: float | None = 2.0",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "ball of right matches 0.05 → 0.1",
        "datasets/matches.py",
        "BALL = 0.05",
        "BALL = 0.1",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "transports negated",
        "surface/parts.py",
        '"transport": unit(discs.transport[order])',
        '"transport": -unit(discs.transport[order])',
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "transports backwards",
        "surface/parts.py",
        '"transport": unit(discs.transport[order])',
        '"transport": unit(-discs.transport[order])',
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "logarithms mirrored",
        "surface/parts.py",
        "np.exp(1j * angle)).astype",
        "np.exp(-1j * angle)).astype",
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "weights normalised at the sender",
        "surface/parts.py",
        "np.where(ball > 0, ball, 1.0)[receiver]",
        "np.where(ball > 0, ball, 1.0)[sender]",
        SURFACE + "test_surface.py",
    ),
    # Layers
    Mistake(
        "filters not conjugate at negative frequencies",
        "nn/field_conv.py",
        "[-sine.flip(0), ",
        "[sine.flip(0), ",
        NN + "test_field_conv.py",
    ),
    Mistake(
        "rotational offsets of negative frequencies in the wrong order",
        "nn/field_conv.py",
        "self.offset[1:].flip(0)",
        "self.offset[1:]",
        NN + "test_field_conv.py",
    ),
    Mistake(
        "rotational offsets turn backwards",
        "nn/field_conv.py",
        "cos, sin = turn.cos(), turn.sin()",
        "cos, sin = turn.cos(), -turn.sin()",
        NN + "test_field_conv.py",
    ),
    Mistake(
        "filters start twice as large",
        "nn/field_conv.py",
        "spacing)) ** -0.5",
        "spacing)) ** -0.5 * 2",
        NN + "test_field_conv.py",
    ),
    Mistake(
        "complex product with a wrong sign",
        "ops/complex_matmul.py",
        "torch.stack([-imaginary, real], -1)",
        "torch.stack([imaginary, real], -1)",
        NN + "test_tangent_linear.py",
    ),
    Mistake(
        "learned gradient points downhill",
        "nn/learned_gradient.py",
        "real = self.direction * self.offset.cos()",
        "real = -self.direction * self.offset.cos()",
        NN + "test_learned_gradient.py",
    ),
    Mistake(
        "learned gradient: magnitudes not squared",
        "nn/learned_gradient.py",
        ".flatten(0, 1)).square()",
        ".flatten(0, 1)).abs()",
        NN + "test_learned_gradient.py",
    ),
    Mistake(
        "learned gradient ignores the length of its inputs at the start",
        "nn/learned_gradient.py",
        "std=1 / (self.input_length * math.sqrt(shares))",
        "std=1 / math.sqrt(shares)",
        NN + "test_learned_gradient.py",
    ),
    Mistake(
        "linear lift starts ten times too small",
        "nn/linear_lift.py",
        "std=2 / input_length",
        "std=0.2 / input_length",
        NN + "test_linear_lift.py",
    ),
    Mistake(
        "shares of rings at linear spacing",
        "nn/initialise.py",
        "(4 * rings**2 - 1) / (3 * rings**3)",
        "1 / rings",
        NN + "test_initialise.py",
    ),
    Mistake(
        "shares of rings at equal areas",
        "nn/initialise.py",
        "return 1 / rings",
        "return 1.0",
        NN + "test_initialise.py",
    ),
    Mistake(
        "perceptrons start as torch has them",
        "nn/initialise.py",
        "if isinstance(layer, nn.Linear):",
        "if isinstance(layer, nn.Bilinear):",
        NN + "test_initialise.py",
    ),
    Mistake(
        "residual block without its second ReLU",
        "nn/fc_resnet_block.py",
        "y = self.relu2(self.conv2(y, surface))",
        "y = self.conv2(y, surface)",
        NN + "test_fc_resnet_block.py",
    ),
    Mistake(
        "residual block that forgets its input",
        "nn/fc_resnet_block.py",
        "return self.carry(x) + y",
        "return y",
        NN + "test_fc_resnet_block.py",
    ),
    Mistake(
        "residual block starts with full second filters",
        "nn/fc_resnet_block.py",
        "self.conv2.weight.mul_(0.5)",
        "self.conv2.weight.mul_(1.0)",
        NN + "test_fc_resnet_block.py",
    ),
    Mistake(
        "ECHO values not scaled before the MLP",
        "nn/echo_block.py",
        ".flatten(1) * self.echo.size",
        ".flatten(1)",
        NN + "test_echo.py",
    ),
    Mistake(
        "ECHO block without its first ReLU",
        "nn/echo_block.py",
        "hidden[0]),\n            nn.ReLU(),",
        "hidden[0]),\n            nn.Identity(),",
        NN + "test_echo.py",
    ),
    Mistake(
        "mean over a shape without weights",
        "nn/pooling.py",
        "weight * values)",
        "values)",
        NN + "test_pooling.py",
    ),
    Mistake(
        "mean over a batch instead of each shape",
        "nn/pooling.py",
        "return batch, surface.num_graphs",
        "return torch.zeros_like(batch), surface.num_graphs",
        NN + "test_pooling.py",
    ),
    Mistake(
        "mean over nothing is not a number",
        "nn/pooling.py",
        "torch.where(whole > 0, whole, 1.0)",
        "whole",
        NN + "test_pooling.py",
    ),
    # Networks
    Mistake(
        "area pooling and mean pooling exchanged",
        "networks/fcnet/heads.py",
        'self.pooling == "area"',
        'self.pooling == "mean"',
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "features scaled per batch instead of per shape",
        "networks/fcnet/network.py",
        "mean = mean_per_shape(scalars.square().sum(1), surface.area, surface)",
        "mean = scalars.square().sum(1).mean().expand(shape_of_samples(surface)[1])",
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "features not scaled",
        "networks/fcnet/network.py",
        '_scaled(scalars, surface) if self.config.input_scale == "unit" else scalars',
        "scalars",
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "extra residuals not halved",
        "networks/fcnet/network.py",
        "0.5 * (x + self.carries",
        "(x + self.carries",
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "extra residuals all from the lift",
        "networks/fcnet/network.py",
        "x = before = 0.5",
        "x = 0.5",
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "extra residuals from two blocks on",
        "networks/fcnet/network.py",
        "config.blocks >= 3",
        "config.blocks >= 2",
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "vectors head returns vectors in no frame",
        "networks/fcnet/heads.py",
        "        return self.conv(x, surface)  # type: ignore[no-any-return]",
        "        return self.conv(x, surface).conj()",
        NETWORKS + "test_heads.py",
    ),
    Mistake(
        "descriptors are real parts",
        "networks/fcnet/heads.py",
        "return polar(self.conv(x, surface))[0]",
        "return self.conv(x, surface).real",
        NETWORKS + "test_fcnet.py",
    ),
    Mistake(
        "networks take features of any number",
        "networks/protocol.py",
        "scalars is None or scalars.shape[-1] != self.config.num_features",
        "scalars is None",
        NETWORKS + "test_protocol.py",
    ),
    Mistake(
        "networks of another radius than their settings say",
        "networks/protocol.py",
        "return SurfaceSettings(**own, operators=self.operators)",
        'return SurfaceSettings(operators=self.operators, features=own["features"])',
        NETWORKS + "test_protocol.py",
    ),
    # Tasks
    Mistake(
        "twin loss repels corresponding points, too",
        "tasks/matching.py",
        "(1 - weight) * (margin",
        "(margin",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "twin loss without margin",
        "tasks/matching.py",
        "(margin - squared).clamp(min=0)",
        "(margin - squared)",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "twin loss of distances, not squared ones",
        "tasks/matching.py",
        "squared = squared_distances(outputs, scene, model)",
        "squared = squared_distances(outputs, scene, model).sqrt()",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "soft negatives attract fully",
        "tasks/matching.py",
        "draw.uniform(0, config.soft_negatives, count)",
        "draw.uniform(0, 1, count)",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "other points may be the corresponding ones",
        "tasks/matching.py",
        "same = partner[other_scene] == other_model",
        "same = np.zeros(count, bool)",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "models of a batch shifted by too little",
        "tasks/matching.py",
        "models.append(model + first + pair.scene.num_nodes)",
        "models.append(model + first)",
        TASKS + "test_matching.py",
    ),
    Mistake(
        "label smoothing forgotten by labels",
        "tasks/base/label_task.py",
        "smoothing=config.label_smoothing",
        "smoothing=0.0",
        TASKS + "test_label_task.py",
    ),
    Mistake(
        "label smoothing forgotten by classification",
        "tasks/classification.py",
        "smoothing=config.label_smoothing",
        "smoothing=0.0",
        TASKS + "test_label_task.py",
    ),
    Mistake(
        "label smoothing forgotten on the way back",
        "tasks/base/cross_entropy.py",
        "sub_(ctx.smoothing / scores.shape[1])",
        "sub_(0.0)",
        TASKS + "test_cross_entropy.py",
    ),
    Mistake(
        "label smoothing of the paper's segmentation",
        "tasks/segmentation.py",
        'training={"epochs": _EPOCHS, "label_smoothing": 0.2}',
        'training={"epochs": _EPOCHS, "label_smoothing": 0.1}',
        TASKS + "test_presets.py",
    ),
    Mistake(
        "unknown labels count in the mean loss",
        "tasks/base/label_task.py",
        "known = target >= 0",
        "known = target >= -1",
        TASKS + "test_label_task.py",
    ),
    Mistake(
        "scores averaged instead of probabilities, over orientations",
        "tasks/base/label_task.py",
        "torch.stack(list(outputs)).log_softmax(-1).logsumexp(0)",
        "torch.stack(list(outputs)).mean(0)",
        TASKS + "test_label_task.py",
    ),
    Mistake(
        "scores averaged instead of probabilities, at vertices",
        "tasks/base/label_task.py",
        "scores = at_vertices(surface, outputs.softmax(1)).numpy()",
        "scores = at_vertices(surface, outputs).softmax(1).numpy()",
        TASKS + "test_label_task.py",
    ),
    Mistake(
        "scores averaged instead of probabilities, in the evaluation of segmentation",
        "tasks/segmentation.py",
        "scores = network(surface).softmax(1)",
        "scores = network(surface)",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "scores averaged instead of probabilities, in the evaluation of correspondence",
        "tasks/correspondence.py",
        "network(surface).softmax(1)",
        "network(surface)",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "area accuracy counts vertices",
        "tasks/segmentation.py",
        "by_area[k] = confusion(truth, predicted, classes, surface.vertex_area.numpy())",
        "by_area[k] = own",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "geodesic errors of unknown points",
        "tasks/correspondence.py",
        "known = truth >= 0\n            reliability",
        "known = truth >= -1\n            reliability",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "correspondence between meshes by the wrong axis",
        "tasks/correspondence.py",
        "other.scores.argmax(0)[one.labels]",
        "one.scores.argmax(0)[other.labels]",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "matching by the nearest of the wrong mesh",
        "tasks/matching.py",
        "cKDTree(other.descriptors).query(one.descriptors)",
        "cKDTree(one.descriptors).query(other.descriptors)",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "surest wrong class not the worst",
        "tasks/classification.py",
        "sure if right else -sure",
        "sure",
        TASKS + "test_evaluation.py",
    ),
    Mistake(
        "shapes not turned in training",
        "tasks/base/task.py",
        "            if config.rotate:\n",
        "            if False:\n",
        TASKS + "test_task.py",
    ),
    Mistake(
        "shapes stretched before they are turned",
        "tasks/base/task.py",
        "matrix = matrix * draw.uniform(1 - config.stretch, 1 + config.stretch, 3)",
        "matrix = matrix * draw.uniform(1 - config.stretch, 1 + config.stretch, (3, 1))",
        TASKS + "test_task.py",
    ),
    Mistake(
        "outputs of orientations added up",
        "tasks/base/task.py",
        "return torch.stack(list(outputs)).mean(0)",
        "return torch.stack(list(outputs)).sum(0)",
        TASKS + "test_task.py",
    ),
    Mistake(
        "radius of coarser meshes grows too fast",
        "tasks/base/recipe.py",
        "self.vertices / vertices) ** 0.5",
        "self.vertices / vertices)",
        TASKS + "test_presets.py",
    ),
    Mistake(
        "mean error is not in hundredths",
        "tasks/base/metrics.py",
        "100 * float(errors.mean())",
        "float(errors.mean())",
        TASKS + "test_metrics.py",
    ),
    Mistake(
        "ties speak for descriptors",
        "tasks/base/metrics.py",
        "np.lexsort((right, distance), axis=1)",
        "np.lexsort((~right, distance), axis=1)",
        TASKS + "test_metrics.py",
    ),
    Mistake(
        "share within 0.05 taken at 0.1",
        "tasks/base/metrics.py",
        "share_within(errors, [0.0, 0.05])",
        "share_within(errors, [0.0, 0.1])",
        TASKS + "test_metrics.py",
    ),
    Mistake(
        "lost vertices keep a label",
        "tasks/base/prediction.py",
        "lost = new_vertex < 0",
        "lost = new_vertex < -1",
        TASKS + "test_evaluation.py",
    ),
    # Surfaces
    Mistake(
        "interpolated vectors stay in the samples' frames",
        "surface/surface.py",
        "weight = weight * self.vertex_transport",
        "weight = weight + 0j",
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "interpolated vectors turned backwards",
        "surface/surface.py",
        "weight = weight * self.vertex_transport",
        "weight = weight * self.vertex_transport.conj()",
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "vertices read from other samples",
        "surface/parts.py",
        "np.argsort(place)[index[own]]",
        "index[own]",
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "samples in the order in which they were found, areas not",
        "surface/parts.py",
        "sample_areas(mesh, found)[place]",
        "sample_areas(mesh, found)",
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "edges receive where they should send",
        "surface/parts.py",
        "sender, receiver = number[discs.centres], number[discs.targets]",
        "receiver, sender = number[discs.centres], number[discs.targets]",
        SURFACE + "test_surface.py",
    ),
    Mistake(
        "eigenfunctions of all vertices at the samples",
        "surface/parts.py",
        "basis.functions[sampling.chosen]",
        "basis.functions[: len(sampling.chosen)]",
        SURFACE + "test_parts.py",
    ),
    Mistake(
        "gradients of eigenfunctions mirrored",
        "surface/parts.py",
        "gradients.astype(np.complex64)",
        "gradients.conj().astype(np.complex64)",
        SURFACE + "test_parts.py",
    ),
    Mistake(
        "discs of another radius taken from the cache",
        "surface/parts.py",
        'Part("discs", ("samples", "radius", "solver"), _discs)',
        'Part("discs", ("samples", "solver"), _discs)',
        SURFACE + "test_cache.py",
    ),
    Mistake(
        "eigenbasis of another size taken from the cache",
        "surface/parts.py",
        'Part("eigenbasis", ("samples", "eigenfunctions"), _eigenbasis',
        'Part("eigenbasis", ("samples",), _eigenbasis',
        SURFACE + "test_cache.py",
    ),
    Mistake(
        "features turned by the inverse rotation",
        "surface/views.py",
        "x[:, columns] = x[:, columns] @ turn",
        "x[:, columns] = x[:, columns] @ turn.T",
        SURFACE + "test_views.py",
    ),
    Mistake(
        "normals stay when the shape turns",
        "surface/settings.py",
        'TURNING = ("xyz", "normals")',
        'TURNING = ("xyz",)',
        SURFACE + "test_views.py",
    ),
    Mistake(
        "one orientation too many",
        "surface/views.py",
        "Rotation.random(count - 1, random_state=0)",
        "Rotation.random(count, random_state=0)",
        SURFACE + "test_views.py",
    ),
    Mistake(
        "orientations of other turns each time",
        "surface/views.py",
        "random_state=0",
        "random_state=None",
        SURFACE + "test_views.py",
    ),
    Mistake(
        "turned frames: transports not",
        "surface/changes.py",
        "turned[name] = surface[name] * unit[q] * unit[p].conj()",
        "turned[name] = surface[name]",
        "tests/test_testing.py",
    ),
    Mistake(
        "turned frames: the way to the vertices not",
        "surface/changes.py",
        "surface.vertex_transport * unit[surface.vertex_sample]",
        "surface.vertex_transport",
        "tests/test_testing.py",
    ),
    Mistake(
        "turned frames: gradients of eigenfunctions not",
        "surface/changes.py",
        "if values.is_complex() and name not in of_edges:",
        "if False:",
        "tests/test_testing.py",
    ),
    Mistake(
        "the check does not move coordinates among the features",
        "surface/changes.py",
        "moved[:, columns] = after[name]",
        "pass",
        "tests/test_testing.py",
    ),
    # Training and geometry
    Mistake(
        "moving average forgets at another rate",
        "training/optimise.py",
        "1 - decay)",
        "decay)",
        "tests/training/test_optimise.py",
    ),
    Mistake(
        "moving average without its warm-up",
        "training/optimise.py",
        "min(self.decay, (1 + step) / (10 + step))",
        "self.decay",
        "tests/training/test_optimise.py",
    ),
    Mistake(
        "averaged weights stay in the network",
        "training/optimise.py",
        "            for name, value in kept.items():\n                self._live[name].copy_(value)",
        "            pass",
        "tests/training/test_optimise.py",
    ),
    Mistake(
        "one cycle starts at a tenth, not at a 25th",
        "training/optimise.py",
        "0.04 + 0.96 * done",
        "0.1 + 0.9 * done",
        "tests/training/test_optimise.py",
    ),
    Mistake(
        "one cycle does not end at zero",
        "training/optimise.py",
        "(1 - math.cos(math.pi * left)) / 2",
        "0.1 + 0.9 * (1 - math.cos(math.pi * left)) / 2",
        "tests/training/test_optimise.py",
    ),
    Mistake(
        "gradients of functions turned by a quarter",
        "geometry/spectral/vertex_gradients.py",
        "np.cross(unit[:, None], sides)",
        "sides",
        "tests/geometry/spectral/test_vertex_gradients.py",
    ),
    Mistake(
        "gradients of functions point downhill",
        "geometry/spectral/vertex_gradients.py",
        "np.roll(corners, 1, axis=1) - np.roll(corners, -1, axis=1)",
        "np.roll(corners, -1, axis=1) - np.roll(corners, 1, axis=1)",
        "tests/geometry/spectral/test_vertex_gradients.py",
    ),
    Mistake(
        "gradients of functions weighted by twice the areas",
        "geometry/spectral/vertex_gradients.py",
        "np.repeat(doubled / 2, 3)",
        "np.repeat(doubled, 3)",
        "tests/geometry/spectral/test_vertex_gradients.py",
    ),
]


def main() -> int:
    words = sys.argv[1:]
    chosen = [m for m in MISTAKES if not words or any(word in m.what or word in m.file for word in words)]
    if not chosen:
        print(f"no mistake mentions {' or '.join(words)}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        # Times of files are kept, and with them what numba has compiled.
        shutil.copytree(ROOT / "src", Path(folder) / "src")
        begin = time.perf_counter()
        sound = sorted({test for mistake in chosen for test in mistake.tests.split()})
        status, noticed = run_tests(Path(folder), sound)
        if status:
            print(f"a test fails without any mistake: {noticed}")
            return 1
        width = max(len(mistake.what) for mistake in chosen)
        print(f"{len(chosen)} mistakes; {len(sound)} test files pass without any\n", flush=True)
        unnoticed = 0
        for mistake in chosen:
            caught = try_out(mistake, Path(folder))
            unnoticed += not caught.startswith("tests/")
            print(f"{mistake.what:<{width}}   {caught}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"\n{len(chosen) - unnoticed} of {len(chosen)} noticed, in {seconds:.0f} s")
    return int(unnoticed > 0)


def try_out(mistake: Mistake, folder: Path) -> str:
    """Return the test that notices a mistake, or what is wrong in capitals."""
    target = folder / "src" / "fieldconv" / mistake.file
    original = ROOT / "src" / "fieldconv" / mistake.file
    source = original.read_text(encoding="utf-8")
    if source.count(mistake.before) != 1:
        return f"NOT FOUND ONCE in {mistake.file}: {mistake.before}"
    target.write_text(source.replace(mistake.before, mistake.after), encoding="utf-8")
    try:
        status, noticed = run_tests(folder, mistake.tests.split())
    finally:
        shutil.copy2(original, target)
    if status == 0:
        return "NOT NOTICED"
    return noticed if status == 1 and noticed else "BROKEN: the tests do not even start"


def run_tests(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Return pytest's exit status on the copied package, and the first test that failed."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",  # what is compiled of a mistake must not outlive it
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    failed = re.search(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    return done.returncode, failed[1] if failed else done.stdout[-300:] if done.returncode > 1 else ""


if __name__ == "__main__":
    sys.exit(main())
