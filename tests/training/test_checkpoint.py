"""Networks on disk, and what they say about meshes they have never seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fieldconv.geometry import Mesh
from fieldconv.networks import FCNet
from fieldconv.surface import Surface
from fieldconv.surface.views import at_vertices
from fieldconv.tasks import task_named
from fieldconv.training import CheckpointError, evaluate, load, match, predict, train
from fieldconv.training.fit import NetworkOutputs, attach_task
from tests.training.blobs import blob, blobs, tiny_network


@pytest.fixture(scope="module")
def segmenter(tmp_path_factory: pytest.TempPathFactory) -> tuple[FCNet, Path]:
    data = blobs(count=4)
    model = tiny_network("segmentation", data)
    folder = tmp_path_factory.mktemp("run")
    train(model, data, preset="tiny", epochs=8, rotate=False, out=folder, quiet=True)
    return model, folder


def test_the_folder_says_everything(segmenter: tuple[FCNet, Path]) -> None:
    model, folder = segmenter
    again = FCNet.from_pretrained(folder)
    assert again.config == model.config
    assert (again.task, again.class_names) == ("segmentation", ("foot", "belly", "head"))
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))
    assert not again.training
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["library"] == "fieldconv"
    assert config["network"]["radius"] == 0.3
    assert "version" in config
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "foot, belly, head" in card
    assert "library_name: fieldconv" in card


def test_nothing_is_pickled(segmenter: tuple[FCNet, Path]) -> None:
    for path in segmenter[1].iterdir():
        if path.is_file():
            assert not path.read_bytes().startswith((b"\x80\x02", b"\x80\x04", b"PK"))


def test_save_pretrained_keeps_the_template(tmp_path: Path) -> None:
    data = blobs("correspondence", count=1)
    model = tiny_network("correspondence", data)
    attach_task(model, data)
    model.save_pretrained(tmp_path)
    found = FCNet.from_pretrained(tmp_path).template
    assert found is not None
    assert np.array_equal(found.vertices, data.template.vertices)  # type: ignore[union-attr]


def test_another_template_is_refused() -> None:
    data = blobs("correspondence", count=1)
    model = tiny_network("correspondence", data)
    attach_task(model, data)
    template = model.template
    assert template is not None
    model.template = Mesh(template.vertices[::-1], template.faces)
    with pytest.raises(ValueError, match="template is not the one"):
        evaluate(model, data)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("config.json", None, "has no config.json"),
        ("config.json", b"{", "cannot be read"),
        ("config.json", b"[" * 100_000, "it is nested too deeply"),
        ("config.json", b'{"model": 1}', "does not describe a fieldconv network"),
        ("model.safetensors", None, "has no model.safetensors"),
        ("model.safetensors", b"garbage", "cannot be read"),
    ],
)
def test_damage_is_reported(
    segmenter: tuple[FCNet, Path], tmp_path: Path, file: str, content: bytes | None, says: str
) -> None:
    segmenter[0].save_pretrained(tmp_path)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(CheckpointError, match=says):
        FCNet.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task": 3}, "its 'task' is missing or wrong"),
        ({"class_names": None}, "its 'class_names' is missing or wrong"),
        ({"network": 3}, "its 'network' is missing or wrong"),
        ({"network": {"radius": "x"}}, "radius is 'x'; give a number"),
    ],
)
def test_wrong_contents_are_reported(
    segmenter: tuple[FCNet, Path], tmp_path: Path, change: dict[str, object], says: str
) -> None:
    segmenter[0].save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, **change}), encoding="utf-8")
    with pytest.raises(CheckpointError, match=says):
        FCNet.from_pretrained(tmp_path)


def test_weights_that_do_not_fit_are_reported(segmenter: tuple[FCNet, Path], tmp_path: Path) -> None:
    segmenter[0].save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config["network"]["width"] += 1
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"does not fit config\.json"):
        FCNet.from_pretrained(tmp_path)


def test_missing_folders_are_reported_without_asking_the_hub() -> None:
    with pytest.raises(CheckpointError, match="no such folder"):
        FCNet.from_pretrained("./nowhere")


def test_hub_names_are_downloaded(
    segmenter: tuple[FCNet, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked: list[Any] = []

    def download(name: str, **_: Any) -> str:
        asked.append(name)
        return str(segmenter[1])

    monkeypatch.setattr(hub, "snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    assert load("somebody/network").task == "segmentation"
    assert asked == ["somebody/network"]


def test_push_uploads_the_folder(segmenter: tuple[FCNet, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    sent: dict[str, Any] = {}

    class Api:
        def __init__(self, token: Any = None) -> None: ...

        def create_repo(self, name: str, **options: Any) -> None:
            sent["repo"] = name

        def upload_folder(self, repo_id: str, folder_path: str) -> str:
            sent["files"] = sorted(path.name for path in Path(folder_path).iterdir())
            return f"https://hub/{repo_id}"

    monkeypatch.setattr(hub, "HfApi", Api)
    assert segmenter[0].push_to_hub("me/network") == "https://hub/me/network"
    assert sent == {"repo": "me/network", "files": ["README.md", "config.json", "model.safetensors"]}


def test_predict_reads_files_meshes_and_lists(segmenter: tuple[FCNet, Path], tmp_path: Path) -> None:
    model, _ = segmenter
    mesh, height = blob(77, 1)
    mesh.save(tmp_path / "new.obj")
    labels = model.predict(mesh)
    assert labels.shape == height.shape
    assert np.mean(labels == np.digitize(height, [-0.3, 0.6])) > 0.8
    assert np.array_equal(model.predict(tmp_path / "new.obj"), labels)
    assert np.array_equal(model.predict(str(tmp_path / "new.obj")), labels)
    several = model.predict([mesh, tmp_path / "new.obj"])
    assert [len(found) for found in several] == [len(labels)] * 2


def test_predictions_do_not_depend_on_numbering_place_or_scale(segmenter: tuple[FCNet, Path]) -> None:
    model, _ = segmenter
    mesh, _ = blob(78, 1)
    labels = predict(model, mesh)
    order = np.random.default_rng(0).permutation(len(mesh.vertices))
    new = np.argsort(order)
    moved = Mesh(40 * mesh.vertices[order] + [3, 4, 5], new[mesh.faces])
    other = predict(model, moved)
    assert np.array_equal(other.labels, labels.labels[order])  # type: ignore[index]
    np.testing.assert_allclose(other.scores, labels.scores[order], atol=1e-4)  # type: ignore[index]


def test_averaged_orientations_are_probabilities(segmenter: tuple[FCNet, Path]) -> None:
    mesh, _ = blob(79, 1)
    found = predict(segmenter[0], mesh, rotations=3)
    np.testing.assert_allclose(found.scores.sum(1), 1, atol=1e-5)  # type: ignore[union-attr]
    alone = predict(segmenter[0], mesh)
    assert not np.allclose(found.scores, alone.scores)  # type: ignore[arg-type]
    # Evaluation averages in the same way.
    surface = Surface.from_mesh(mesh, **segmenter[0].config.surface_settings.to_dict())
    with torch.no_grad():
        outputs = NetworkOutputs(segmenter[0].eval(), task_named("segmentation"), 3)(surface)
    scores = at_vertices(surface, outputs.softmax(1))
    np.testing.assert_allclose(scores, found.scores, atol=1e-6)  # type: ignore[arg-type]


def test_broken_meshes_are_mended_and_labels_come_back_in_place(segmenter: tuple[FCNet, Path]) -> None:
    model, _ = segmenter
    mesh, _ = blob(80, 1)
    vertices = np.concatenate([[[np.nan] * 3], mesh.vertices])
    broken = Mesh(vertices, np.concatenate([mesh.faces + 1, [[0, 1, 2]]]))
    labels = model.predict(broken)
    assert labels[0] == -1
    assert np.array_equal(labels[1:], model.predict(mesh))


def test_open_and_non_manifold_meshes_are_fine(segmenter: tuple[FCNet, Path]) -> None:
    model, _ = segmenter
    mesh, _ = blob(81, 1)
    opened = Mesh(mesh.vertices, mesh.faces[:-40])
    fin = np.concatenate([mesh.vertices, [mesh.vertices[0] * 1.5]])
    glued = Mesh(fin, np.concatenate([mesh.faces, [[*mesh.faces[0][:2], len(mesh.vertices)]]]))
    for shape in (opened, glued):
        assert len(model.predict(shape)) == len(shape.vertices)


@pytest.mark.parametrize("task", ["matching", "correspondence"])
def test_match_maps_a_shape_to_its_renumbered_self(task: str) -> None:
    """Even an untrained network gives a point and its copy the same descriptor."""
    data = blobs(task, count=2)
    model = tiny_network(task, data)
    attach_task(model, data)
    mesh, _ = blob(3, 1)
    order = np.random.default_rng(0).permutation(len(mesh.vertices))
    copy = Mesh(mesh.vertices[order], np.argsort(order)[mesh.faces])
    found = match(model, mesh, copy)
    assert found.target.shape == found.confidence.shape == (len(mesh.vertices),)
    if task == "matching":
        assert np.array_equal(order[found.target], np.arange(len(mesh.vertices)))
        np.testing.assert_allclose(found.confidence, 1.0)


def test_match_refuses_networks_for_other_tasks(segmenter: tuple[FCNet, Path]) -> None:
    mesh, _ = blob(1, 1)
    with pytest.raises(ValueError, match="cannot match shapes; train one for matching or correspondence"):
        match(segmenter[0], mesh, mesh)


def test_a_template_does_not_outlive_its_network(segmenter: tuple[FCNet, Path], tmp_path: Path) -> None:
    model = segmenter[0]
    model.template = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    model.save_pretrained(tmp_path)
    assert FCNet.from_pretrained(tmp_path).template is not None
    model.template = None
    model.save_pretrained(tmp_path)
    assert FCNet.from_pretrained(tmp_path).template is None
