from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from fieldconv.tasks.base.vertex_values import slug
from fieldconv.viz import VertexValues, read_shape, write_shape
from fieldconv.viz import colours as col
from fieldconv.viz import panels as pan
from fieldconv.viz.values import (
    MeshValues,
    colouring,
    read_about,
    share_descriptor_colours,
    values_of,
    vertex_colours,
)

COUNT = 162
RNG = np.random.default_rng(0)
EVERY_KIND = [
    VertexValues(
        name="Part ☂",
        kind="labels",
        values=np.arange(COUNT) % 3 - 1,
        key="part",
        class_names=("Kopf", "腕"),
    ),
    VertexValues(
        name="Height", kind="scalar", values=np.where(np.arange(COUNT) == 7, np.nan, 0.1), limits=(0, 2)
    ),
    VertexValues(name="Gap", kind="error", values=RNG.random(COUNT).astype(np.float32)),
    VertexValues(name="Match", kind="places", values=np.arange(COUNT)[::-1] - 1),
    VertexValues(name="Flow", kind="field", values=RNG.normal(size=COUNT) + 1j * RNG.normal(size=COUNT)),
    VertexValues(name="Wind", kind="field", values=RNG.normal(size=(COUNT, 3))),
    VertexValues(name="Length", kind="field", values=RNG.random(COUNT)),
    VertexValues(name="Network", kind="descriptors", values=RNG.normal(size=(COUNT, 5)).astype(np.float32)),
    VertexValues(name="Paint", kind="colours", values=RNG.integers(0, 256, (COUNT, 3), dtype=np.uint8)),
]


def test_every_kind_survives_a_file(ball: Mesh, tmp_path: Path) -> None:
    path = tmp_path / "größe.ply"
    write_shape(path, ball, EVERY_KIND, about={"run": "a run", "note": "Pferd (61 %)"})
    mesh, found = read_shape(path)
    np.testing.assert_array_equal(mesh.vertices, ball.vertices)
    np.testing.assert_array_equal(mesh.faces, ball.faces)
    assert mesh.vertex_data == {}
    assert len(found) == len(EVERY_KIND)
    for own, given in zip(found, EVERY_KIND, strict=True):
        about = (own.name, own.kind, own.key, own.limits, own.class_names)
        assert about == (given.name, given.kind, given.key, given.limits, given.class_names)
        np.testing.assert_array_equal(own.values, given.values)
    assert read_about(path) == {"run": "a run", "note": "Pferd (61 %)"}


def test_other_programs_see_the_meshs_colours(ball: Mesh, tmp_path: Path) -> None:
    painted = Mesh(ball.vertices, ball.faces, vertex_colours=vertex_colours(EVERY_KIND[0]))
    write_shape(tmp_path / "a.ply", painted, EVERY_KIND[:1])
    np.testing.assert_array_equal(
        Mesh.load(tmp_path / "a.ply").vertex_colours[:, :3], vertex_colours(EVERY_KIND[0])
    )
    # Here they would only repeat the labels.
    assert [own.name for own in read_shape(tmp_path / "a.ply")[1]] == ["Part ☂"]
    # Those of places say what only their template could say otherwise.
    write_shape(tmp_path / "b.ply", painted, EVERY_KIND[3:4])
    assert [own.kind for own in read_shape(tmp_path / "b.ply")[1]] == ["places", "colours"]


def test_other_data_of_a_mesh_is_kept(ball: Mesh, tmp_path: Path) -> None:
    mesh = Mesh(ball.vertices, ball.faces, vertex_data={"curvature": np.arange(162.0), "part": np.zeros(162)})
    write_shape(tmp_path / "a.ply", mesh, EVERY_KIND[:1])
    [part, curvature] = read_shape(tmp_path / "a.ply")[1]
    np.testing.assert_array_equal(part.values, EVERY_KIND[0].values)  # not the mesh's own of that name
    assert (curvature.name, curvature.kind) == ("Curvature", "scalar")


def test_names_of_properties_replace_a_missing_description(ball: Mesh, tmp_path: Path) -> None:
    """As `match` or another program writes them."""
    whole = (np.arange(COUNT) % 5).astype(np.int32)
    confidence = np.linspace(0, 1, COUNT).astype(np.float32)
    data = {"match": whole, "confidence": confidence, "part": whole, "error": confidence}
    colours = np.full((COUNT, 3), 9, np.uint8)
    Mesh(ball.vertices, ball.faces, vertex_colours=colours, vertex_data=data).save(tmp_path / "0.ply")
    found = read_shape(tmp_path / "0.ply")[1]
    assert [(own.name, own.kind) for own in found] == [
        ("Correspondence", "places"),
        ("Confidence", "scalar"),
        ("Part", "labels"),
        ("Error", "error"),
        ("Colours", "colours"),
    ]
    assert found[1].limits == (0, 1)


def test_vertices_of_a_template_are_no_classes(ball: Mesh) -> None:
    """There are too many for a legend."""
    [found] = values_of(Mesh(ball.vertices, ball.faces, vertex_data={"label": 40 * np.arange(COUNT)}))
    assert found.kind == "scalar"


def test_mesh_data_is_shown_by_its_kind(ball: Mesh) -> None:
    data = {
        "label": np.arange(162) % 4,
        "geodesic_error": np.linspace(0, 1, 162),
        "curvature": np.linspace(-1, 1, 162),
    }
    mesh = Mesh(ball.vertices, ball.faces, vertex_data=data, vertex_colours=np.zeros((162, 4), np.uint8))
    found = [colouring(own, mesh) for own in values_of(mesh)]
    assert [type(c).__name__ for c in found] == ["Labels", "Scalar", "Scalar", "Colours"]
    assert [c.name for c in found[:2]] == ["Prediction", "Geodesic error"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"a.json cannot be read \(.*\); delete it or write the shape again"),
        ('{"format": "fieldconv shape", "values": 3}', "a.json is not as fieldconv writes it"),
        (
            '{"format": "fieldconv shape", "values": [{"key": "no", "kind": "scalar", "name": "x"}]}',
            "does not describe a.ply: 'no' is missing",
        ),
        (
            '{"format": "fieldconv shape", "values": [{"key": "u", "kind": "colour", "name": "x"}]}',
            "does not describe a.ply: 'x' is of kind 'colour'; choose",
        ),
        ('{"format": "fieldconv shape", "values": [3]}', "does not describe a.ply"),
    ],
)
def test_a_broken_description_gives_one_line(ball: Mesh, tmp_path: Path, text: str, message: str) -> None:
    Mesh(ball.vertices, ball.faces, vertex_data={"u": np.zeros(COUNT)}).save(tmp_path / "a.ply")
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        read_shape(tmp_path / "a.ply")
    assert "\n" not in str(caught.value)


def test_json_of_others_is_left_alone(ball: Mesh, tmp_path: Path) -> None:
    ball.save(tmp_path / "a.ply")
    for other in ("[1, 2]", '{"camera": 3}'):
        (tmp_path / "a.json").write_text(other, encoding="utf-8")
        assert read_shape(tmp_path / "a.ply")[1] == []


def test_unusable_values_are_refused(ball: Mesh, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"'x' has values of shape \(3, 2\).*labels are \(V,\) whole numbers"
    ):
        VertexValues(name="x", kind="labels", values=np.zeros((3, 2), int))
    with pytest.raises(ValueError, match="scalar are"):
        VertexValues(name="x", kind="scalar", values=np.zeros(3, complex))
    three = VertexValues(name="x", kind="scalar", values=np.zeros(3))
    with pytest.raises(ValueError, match="has 3 values but the mesh has 162 vertices"):
        write_shape(tmp_path / "a.ply", ball, [three])
    with pytest.raises(ValueError, match="two values have the key 'height'"):
        write_shape(tmp_path / "a.ply", ball, [EVERY_KIND[1], EVERY_KIND[1]])
    with pytest.raises(ValueError, match=r"ends in \.ply"):
        write_shape(tmp_path / "a.obj", ball, [])
    assert list(tmp_path.iterdir()) == []


def test_slugs_are_plain_words() -> None:
    assert slug("腕") == "values"  # a key is needed even where nothing of the name can stay


@pytest.mark.parametrize("values", EVERY_KIND, ids=lambda v: v.name)
def test_panels_and_files_have_the_same_colours(values: VertexValues, ball: Mesh) -> None:
    """Compare with the colour of each vertex in the panel, computed by hand."""
    shown = colouring(values, ball, template=ball)
    kept = vertex_colours(values, template=ball)
    assert kept.shape == (COUNT, 3)
    assert kept.dtype == np.uint8
    for v in range(COUNT):
        if isinstance(shown, pan.Labels):
            expected = shown.colours[shown.values[v]] if shown.values[v] >= 0 else [128] * 3
        elif isinstance(shown, pan.Scalar):
            low, high = shown.limits
            number = shown.values[v]
            place = (number - low) / (high - low)
            expected = [128] * 3 if np.isnan(number) else col.look_up(shown.ramp, place)
        else:
            assert isinstance(shown, pan.Colours)
            missing = shown.match is not None and shown.match[v] < 0
            expected = [128] * 3 if missing else shown.values[v]
        np.testing.assert_array_equal(kept[v], expected)


def test_places_need_their_template(ball: Mesh) -> None:
    with pytest.raises(ValueError, match="'Match' names vertices of a template"):
        colouring(EVERY_KIND[3], ball)
    with pytest.raises(ValueError, match="'Match' names vertices of a template"):
        vertex_colours(EVERY_KIND[3])


def test_fields_show_their_vectors_and_share_their_hues(ball: Mesh) -> None:
    flow = EVERY_KIND[4]
    shown = colouring(flow, ball, largest=2 * np.abs(flow.values).max())
    assert isinstance(shown, pan.Scalar)
    assert shown.arrows is not None
    np.testing.assert_allclose(shown.values, np.abs(flow.values))
    np.testing.assert_array_equal(shown.ramp, col.field_ramp(1.0, 2.0))
    assert colouring(EVERY_KIND[6], ball).arrows is None  # lengths alone have no direction


def test_errors_share_their_scale(ball: Mesh) -> None:
    gap = EVERY_KIND[2]
    assert colouring(gap, ball, largest=3.0).limits == (0, 3.0)
    assert colouring(gap, ball).limits == (0, pytest.approx(gap.values.max()))


def test_the_description_is_plain_json(ball: Mesh, tmp_path: Path) -> None:
    write_shape(tmp_path / "a.ply", ball, EVERY_KIND[:1])
    content = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert content["values"] == [
        {"key": "part", "name": "Part ☂", "kind": "labels", "limits": None, "class_names": ["Kopf", "腕"]}
    ]


def test_descriptors_have_the_same_colours_on_all_meshes() -> None:
    """Equal rows have one colour on all meshes; other values do not change."""
    rows = RNG.normal(size=(30, 4))
    order = RNG.permutation(30)
    meshes = [
        MeshValues([EVERY_KIND[0], VertexValues(name="D", kind="descriptors", values=own)], "a note")
        for own in (rows, rows[order])
    ]
    one, other = share_descriptor_colours(meshes)
    assert [values.kind for values in one.values] == ["labels", "colours"]
    assert one.note == "a note"
    np.testing.assert_array_equal(one.values[1].values[order], other.values[1].values)
    assert len(np.unique(one.values[1].values, axis=0)) > 20
