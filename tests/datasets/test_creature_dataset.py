"""Embedded creatures as datasets, as folders, and the commands."""

import numpy as np
import pytest
import torch

from fieldconv.cli import main
from fieldconv.datasets import Creatures, DatasetError, FolderDataset, check_folder, make_folder
from fieldconv.datasets.creature_collection import creature_collection
from fieldconv.datasets.creatures import PARTS, SPECIES, make_creature, template
from fieldconv.surface import ToSurface

SMALL = {"vertices": 250, "species": ["snake", "fish"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = {}

    def make(task):
        if task not in made:
            species = ["fish"] if task == "correspondence" else SMALL["species"]
            made[task] = make_folder(
                tmp_path_factory.mktemp(task),
                task,
                meshes=4 if task == "matching" else 3,  # two to train on
                vertices=250,
                species=species,
            )
        return made[task]

    return make


def test_targets_are_those_of_the_generator():
    collection = creature_collection("segmentation", meshes=3, **SMALL)
    assert [item.group for item in collection.items] == ["snake", "fish", "snake"]
    for i, item in enumerate(collection.items):
        creature = make_creature(item.group, i, vertices=250)
        sample = item.read()
        assert np.array_equal(sample.mesh.vertices, creature.mesh.vertices)
        assert [collection.class_names[k] for k in sample.target] == [PARTS[k] for k in creature.labels]


def test_classes_are_in_the_order_of_the_species():
    names = creature_collection(
        "classification", meshes=2, species=["fish", "snake"], vertices=250
    ).class_names
    assert names == tuple(name for name in SPECIES if name in ("fish", "snake"))


def test_train_and_test_share_no_creature_nor_do_two_seeds():
    names = [
        {item.name for item in creature_collection(meshes=32, split=split, seed=seed).items}
        for split in ("train", "test")
        for seed in (0, 1, 2)
    ]
    assert len(set.union(*names)) == 6 * 32


def test_correspondence_is_with_a_template_of_one_species():
    data = Creatures(
        "correspondence", meshes=1, vertices=250, species="fish", cache=False, pre_transform=ToSurface(0.2)
    )
    assert data.num_classes == 250
    shape = template("fish", 250)
    creature = make_creature("fish", 0, vertices=250)
    y = data[0].y.numpy()
    spacing = (shape.mesh.area / 250) ** 0.5
    apart = np.linalg.norm(creature.rest - shape.rest[y], axis=1)
    assert (y >= 0).all()
    assert np.median(apart) < spacing
    with pytest.raises(ValueError, match="one for correspondence"):
        creature_collection("correspondence", species=["fish", "snake"])


def test_places_that_the_other_lacks_are_unknown():
    from dataclasses import replace

    from fieldconv.datasets.creature_collection import counterpart
    from fieldconv.geometry import Mesh

    fish = template("fish", 300)
    front = fish.rest[:, 0] > np.median(fish.rest[:, 0])
    faces = fish.mesh.faces[front[fish.mesh.faces].all(1)]
    keep, faces = np.unique(faces, return_inverse=True)
    half = replace(
        fish,
        mesh=Mesh(fish.rest[keep], faces.reshape(-1, 3)),
        labels=fish.labels[keep],
        rest=fish.rest[keep],
    )
    found = counterpart(fish, half)
    assert np.array_equal(found[keep], np.arange(len(keep)))
    length = np.ptp(fish.rest[:, 0])
    assert (found[fish.rest[:, 0] < np.median(fish.rest[:, 0]) - 0.3 * length] == -1).all()


def test_pairs_are_of_one_species_each():
    collection = creature_collection("matching", meshes=7, **SMALL)
    groups = [(collection.items[p.scene].group, collection.items[p.model].group) for p in collection.pairs]
    assert groups == [("snake", "snake")] * 4 + [("fish", "fish")] * 3
    assert len({(p.scene, p.model) for p in collection.pairs}) == 7
    assert len(creature_collection("matching", meshes=3, vertices=250).pairs) == 3  # of one species, then
    with pytest.raises(ValueError, match="at least 2"):
        creature_collection("matching", meshes=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "sorting"}, "choose one of classification"),
        ({"split": "some"}, "choose one of train, test, all"),
        ({"species": "unicorn"}, "there is no species 'unicorn'"),
        ({"species": []}, "choose at least one"),
        ({"difficulty": "impossible"}, "impossible"),
    ],
)
def test_wrong_options_say_what_is_allowed(options, message):
    with pytest.raises(ValueError, match=message):
        creature_collection(**options)


@pytest.mark.parametrize("task", ["classification", "segmentation", "correspondence", "matching"])
def test_a_folder_holds_the_same_as_the_dataset(folder, task):
    root = folder(task)
    report = check_folder(root)
    assert (report.problems, report.task) == ((), task)
    species = ["fish"] if task == "correspondence" else SMALL["species"]
    options = {"cache": False, "pre_transform": ToSurface(0.2, samples=60)}
    made = Creatures(task, meshes=2, vertices=250, species=species, **options)
    read = FolderDataset(root, **options)
    assert (read.task, len(read), read.num_classes) == (task, len(made), made.num_classes)
    assert sorted(read.class_names) == sorted(made.class_names)
    if task == "matching":
        one, two = made[0], read[0]
        assert torch.equal(one.matches.match, two.matches.match)
        return
    by_name = {name.split("/")[-1].removesuffix(".obj"): i for i, name in enumerate(read.names)}
    for surface in made:
        other = read[by_name[surface.name]]
        torch.testing.assert_close(other.pos, surface.pos, atol=1e-5, rtol=0)
        expected, found = surface.y, other.y
        if task == "segmentation":
            assert read.class_names == made.class_names
        if task == "classification":
            assert read.class_names[found] == made.class_names[expected]
        else:
            assert torch.equal(found, expected)


def test_a_folder_in_use_is_not_overwritten(folder):
    with pytest.raises(DatasetError, match="not empty"):
        make_folder(folder("classification"), meshes=1)


def test_the_commands(tmp_path, capsys):
    out = str(tmp_path / "out")
    arguments = ["datasets", "make", "creatures", out, "--task", "segmentation", "--meshes", "3"]
    assert main([*arguments, "--vertices", "250", "--species", "snake"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "own folder, segmentation" in text
    assert "torso" in text
    assert "Everything is as it should be." in text
    (tmp_path / "out" / "train" / "snake-0.txt").write_text("0\n1\n", encoding="utf-8")
    assert main(["datasets", "check", out]) == 1
    assert "snake-0.txt: has 2 labels; expected 250" in " ".join(capsys.readouterr().out.split())
    assert main([*arguments, "--vertices", "250"]) == 1
    assert "not empty" in capsys.readouterr().err


def test_creatures_are_not_reshaped_however_they_are_prepared():
    data = Creatures(meshes=1, vertices=250, cache=False, progress=False)
    other = data.prepared_with(ToSurface(0.4).settings)
    assert (type(other), other.reshaped(1)) == (Creatures, other)


@pytest.mark.parametrize("task", ["segmentation", "matching"])
def test_all_creatures_are_those_of_both_parts(task):
    options = {"vertices": 250, "species": ["snake"], "seed": 3}
    every = creature_collection(task, split="all", meshes=4, **options)
    train = creature_collection(task, split="train", meshes=4, **options)
    test = creature_collection(task, split="test", meshes=2 if task == "matching" else 1, **options)
    assert [item.name for item in every.items] == [item.name for item in (*train.items, *test.items)]
    named = [(every.items[p.scene].name, every.items[p.model].name) for p in every.pairs]
    assert named == [(c.items[p.scene].name, c.items[p.model].name) for c in (train, test) for p in c.pairs]
