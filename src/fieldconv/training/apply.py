"""Prediction and matching of new meshes with a trained network."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fieldconv._arrays import Array, Bools, Floats, Ints
from fieldconv._checked import check_count
from fieldconv._io import write_array, write_csv
from fieldconv.geometry.mesh.check import oddities
from fieldconv.geometry.mesh.mesh import Mesh, Repair
from fieldconv.geometry.mesh.numbering import by_position
from fieldconv.geometry.shapefile import load_shape
from fieldconv.geometry.spectral.map_refinement import refine_maps
from fieldconv.networks.protocol import PER_SHAPE, Network
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import at_vertices
from fieldconv.tasks import all_tasks, task_named
from fieldconv.tasks.base import Decoded, Prediction, Task
from fieldconv.training.fit import NetworkOutputs, check_network, evaluation_mode
from fieldconv.viz.colours import position_colours
from fieldconv.viz.values import known_up, vertex_colours, write_shape

Shape = Mesh | str | Path
CONFIDENCE_SCALE = 0.1  # round trip error, at unit area, at which a match has confidence 1/e
NO_MATCH_DISTANCE = 0.1  # round trip error beyond which a vertex of a partial match has no counterpart


def predict(
    model: Network,
    shape: Shape,
    *,
    rotations: int = 1,
    descriptors: bool = True,
    samples: int | None = None,
    samplings: int = 1,
    out: str | Path | None = None,
    name: str | None = None,
    also: Sequence[str] = (),
) -> Prediction:
    """Apply a network to a mesh, or mesh file, of any resolution and quality.

    Parameters
    ----------
    model : Network
    shape : Mesh or path
        Also a file of points, which are joined to a mesh; see `fieldconv.geometry.shapefile.load_shape`.
    rotations : int
        Average over this many orientations of the shape: itself, and turned. Only networks that see
        positions differ between them.
    descriptors : bool
        Whether to return descriptors too.
    samples : int, optional
        Samples on the shape, instead of those of `Network.answer_settings`.
    samplings : int
        Average over this many sets of samples: borders depend less on where samples happen to lie.
    out : path, optional
        Folder to write the result to, in files called ``name``; by default the mesh's own name.
    also : sequence of "obj", "glb" or "off"
        Further formats of the coloured mesh, for programs that do not read PLY.

    Examples
    --------
    >>> from fieldconv import FCNet
    >>> model = FCNet.for_task("segmentation", classes=2, preset="tiny")
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> predict(model, square).scores.shape
    (4, 2)
    """
    check_network(model)
    check_count("rotations", rotations)
    check_count("samplings", samplings)
    mesh = shape if isinstance(shape, Mesh) else load_shape(shape)
    task = task_of(model)
    usable = _repair_and_number(mesh, renumber=task.head != "vectors")
    outputs = NetworkOutputs(model, task, rotations)
    result = _predict_usable(outputs, usable.mesh, samples, samplings, descriptors)
    if result.values is not None and np.iscomplexobj(result.values):
        result = replace(result, values=_as_given(result.values, by_position(usable.mesh).mirrored))
    if task.head != PER_SHAPE:
        result = _to_original_vertices(result, usable.new_vertex)
    odd = oddities(mesh, usable.actions)
    result = replace(result, mesh=mesh, input=odd)
    if out is not None:
        about = {"run": model.source, "note": "; ".join(filter(None, (task.note(result), str(odd))))}
        if not isinstance(shape, Mesh) and (up := known_up(shape)):
            about["up"] = up  # as the file is known to have it
        name = name or mesh.name or "mesh"
        task.write(result, Path(out), name, descriptors=descriptors)
        if shown := task.show(result):
            path = Path(out) / f"{name}.ply"
            colours = vertex_colours(shown[0], template=result.template)
            write_shape(path, replace(mesh, vertex_colours=colours, face_colours=None), shown, about=about)
        _write_also(Path(out) / f"{name}.ply", also)
    return result


def answers(model: Network, shapes: Shape | Iterable[Shape]) -> Any:
    """Return the labels, values or descriptors of one shape, or a list for several."""
    if shapes is None or isinstance(shapes, np.ndarray):
        raise TypeError(f"cannot predict on {type(shapes).__name__}; give a Mesh, a file, or several of them")
    if not isinstance(shapes, Mesh | str | Path):
        return [answers(model, shape) for shape in shapes]
    return predict(model, shapes).answer


def task_of(model: Network) -> Task:
    """Return the task a network was trained for; for an untrained one a task that fits its head."""
    if model.task is not None:
        return task_named(model.task).with_template(model.template)
    fitting = [task for task in all_tasks() if task.head == model.config.head and not task.one_template]
    return max(fitting, key=lambda task: task.default_outputs is None)


class Match(NamedTuple):
    """A dense map from A to B.

    Attributes
    ----------
    target : (V_A,) int64
        Vertex of B for each vertex of A; −1 for vertices that cannot be used, and, of partial matches, for
        those without a counterpart.
    confidence : (V_A,) float64
        e^{−d/0.1}, where d is the distance of a vertex from where it arrives when mapped to B and back.
    points : (V_A, 3) float64 or None
        Point on B, inside a triangle, for each vertex of A; only of refined maps.
    """

    target: Ints
    confidence: Floats
    points: Floats | None = None


def match(
    model: Network,
    a: Shape,
    b: Shape,
    *,
    partial: bool = False,
    samples: int | None = None,
    samplings: int = 1,
    refine: bool = False,
    out: str | Path | None = None,
    also: Sequence[str] = (),
) -> Match:
    """Map every vertex of A to B: by the nearest descriptor, or by way of the template.

    Parameters
    ----------
    model : Network
        Trained for a task that can match, such as matching or correspondence.
    a, b : Mesh or path
    partial : bool
        Parts may be missing. With a template, a vertex of A has no counterpart if no vertex of B is near the
        same place of the template; otherwise if it arrives elsewhere, more than 0.1 away at unit area, when
        it is mapped to B and back.
    samples : int, optional
        Samples on each shape, instead of those of `Network.answer_settings`.
    samplings : int
        Average over this many sets of samples: borders depend less on where samples happen to lie.
    refine : bool
        Make the map smoother with the eigenfunctions of both shapes (`fieldconv.geometry.refine_map`).
    out : path, optional
        Folder to write ``map.npy``, ``map.csv`` and both meshes to, A with the colours of its matches.
    also : sequence of "obj", "glb" or "off"
        Further formats of the coloured meshes.

    Examples
    --------
    >>> from fieldconv import FCNet
    >>> model = FCNet.for_task("matching", preset="tiny")
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> match(model, square, square).target.shape
    (4,)
    """
    check_network(model)
    check_count("samplings", samplings)
    task = task_of(model)
    if not task.can_match:
        able = [other.name for other in all_tasks() if other.can_match]
        raise ValueError(
            f"a network for {model.task or model.config.head} cannot match shapes; train one for "
            f"{' or '.join(sorted(able, reverse=True))}"
        )
    meshes = [shape if isinstance(shape, Mesh) else load_shape(shape) for shape in (a, b)]
    usable_a, usable_b = (_repair_and_number(mesh) for mesh in meshes)
    one, two = usable_a.mesh, usable_b.mesh
    outputs = NetworkOutputs(model, task)
    first, second = (_predict_usable(outputs, mesh, samples, samplings) for mesh in (one, two))
    for prediction, mesh in zip((first, second), meshes, strict=True):
        if note := task.note(prediction):
            warnings.warn(f"{mesh.name or 'mesh'}: {note}", stacklevel=2)
    there, back = task.correspond(first, second), task.correspond(second, first)
    points = None
    if refine:
        (there, triangle, weights), (back, *_) = refine_maps(one, two, there, back)
        points = np.einsum("nc,ncd->nd", weights, two.vertices[two.faces[triangle]])
    error = round_trip_error(one, there, back)
    confidence = np.exp(-error / CONFIDENCE_SCALE)
    there = usable_b.vertex_map[there]
    if partial:
        missing = task.missing_counterparts(first, second)
        there = np.where(error > NO_MATCH_DISTANCE if missing is None else missing, -1, there)
    place, unusable = usable_a.new_vertex, usable_a.new_vertex < 0
    there, confidence = np.where(unusable, -1, there[place]), np.where(unusable, 0, confidence[place])
    points = None if points is None else np.where(unusable[:, None], np.nan, points[place])
    result = Match(there.astype(np.int64), confidence, points)
    if out is not None:
        _write_match(result, meshes, Path(out), also)
    return result


def round_trip_error(mesh: Mesh, there: Ints, back: Ints) -> Floats:
    """Return (V,) distance of each vertex from where it arrives when mapped to another mesh and back.

    ``there`` (V,) and ``back`` (V_other,) are the vertices that they are mapped to. The mesh has unit area.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> round_trip_error(square, np.array([0, 1, 1, 0]), np.array([0, 1])).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    positions = mesh.normalised().vertices
    return np.asarray(np.linalg.norm(positions - positions[back[there]], axis=1))


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names, repeated ones with a number, so that files do not replace each other.

    Examples
    --------
    >>> distinct(["cat", "dog", "cat"])
    ['cat', 'dog', 'cat-2']
    """
    names = list(names)
    taken, counts, result = set(names), Counter[str](), list[str]()
    for name in names:
        counts[name] += 1
        new = name
        while counts[name] > 1 and new in taken:
            new = f"{name}-{counts[name]}"
            counts[name] += new in taken
        taken.add(new)
        result.append(new)
    return result


def _repair_and_number(mesh: Mesh, *, renumber: bool = True) -> Repair:
    """Return the mesh repaired if it needs that, numbered by position, and what was done to it.

    Vertices without a face have no number, unless they are points of a cloud. Vectors are expressed in the
    tangent frames of the mesh as it is numbered.
    """
    repair = None if mesh.problem is None else mesh.repair()
    numbered = by_position(mesh if repair is None else repair.mesh)
    if repair is None:
        every = np.arange(len(mesh.vertices))
        kept, place = (numbered.order, numbered.place) if renumber else (every, every)
        usable = Repair(numbered.mesh if renumber else mesh, kept, numbered.actions, place)
    else:
        kept, new = repair.vertex_map[numbered.order], repair.new_vertex
        place = np.where(new < 0, -1, numbered.place[new])
        usable = Repair(numbered.mesh, kept, [*repair.actions, *numbered.actions], place)
    if mesh.cloud:
        return usable
    on_face = np.zeros(len(mesh.vertices), bool)
    on_face[mesh.faces] = True
    return replace(usable, new_vertex=np.where(on_face, usable.new_vertex, -1))


def _predict_usable(
    outputs: NetworkOutputs, mesh: Mesh, samples: int | None, samplings: int, descriptors: bool = True
) -> Prediction:
    model, task = outputs.model, outputs.task
    weights = next(model.parameters(), None)
    if weights is not None and weights.dtype != torch.float32:
        raise ValueError(f"the network is of type {weights.dtype}; call model.float() before predicting")
    settings = model.answer_settings(samples)
    decoded: list[Decoded] = []
    described: list[NDArray[np.float32]] = []
    for sampling in range(samplings):
        surface = Surface.prepare(mesh, replace(settings, sampling_seed=sampling))
        with evaluation_mode(model):
            raw, own = outputs.with_descriptors(surface) if descriptors else (outputs(surface), None)
        decoded.append(task.decode(raw, surface))
        if own is not None:
            described.append(own if own.ndim == 1 else at_vertices(surface, torch.from_numpy(own)).numpy())
        if settings.samples is None or len(surface.sample) < settings.samples:
            break  # every vertex is a sample, so that there is only one set
    labels, scores, values = task.average(decoded) if len(decoded) > 1 else decoded[0]
    mean = np.mean(described, 0) if described else None
    return Prediction(mesh, labels, scores, mean, model.class_names, values, model.template)


def _to_original_vertices(result: Prediction, new_vertex: Ints) -> Prediction:
    """Return a prediction of a repaired mesh at the vertices of the original one."""
    moved = Decoded(result.labels, result.scores, result.values).at(new_vertex)
    described = result.descriptors
    if described is not None and described.ndim == 2:
        described = np.where((new_vertex < 0)[:, None], 0, described[new_vertex])
    return replace(result, descriptors=described, **moved._asdict())


def _as_given(vectors: Array, mirrored: Bools) -> Array:
    """Return tangent vectors, expressed as seen from outside, in frames whose normals may point inside."""
    return np.where(mirrored.reshape(-1, *[1] * (vectors.ndim - 1)), vectors.conj(), vectors)


def _write_also(path: Path, formats: Sequence[str]) -> None:
    """Write a coloured PLY mesh, if the task has written one, in other formats too."""
    if formats and path.is_file():
        mesh = replace(Mesh.load(path), vertex_data={})
        for suffix in formats:
            mesh.save(path.with_suffix(f".{suffix}"))


def _write_match(result: Match, meshes: list[Mesh], out: Path, also: Sequence[str]) -> None:
    target, confidence = result.target, result.confidence
    write_array(out / "map.npy", target)
    if result.points is not None:
        write_array(out / "points.npy", result.points)
    rows = zip(range(len(target)), target.tolist(), (f"{c:.4f}" for c in confidence), strict=True)
    write_csv(out / "map.csv", ["vertex", "match", "confidence"], rows)
    colours = meshes[1].vertex_colours
    if colours is None:
        colours = position_colours(meshes[1].vertices)
    matched = np.where((target >= 0)[:, None], colours[target], 128)
    names = distinct(mesh.name or "mesh" for mesh in meshes)
    data = {"match": target, "confidence": confidence}
    a = Mesh(meshes[0].vertices, meshes[0].faces, names[0], matched, vertex_data=data)
    b = Mesh(meshes[1].vertices, meshes[1].faces, names[1], colours)
    for mesh in (a, b):
        path = out / f"{mesh.name}.ply"
        mesh.save(path)
        _write_also(path, also)
