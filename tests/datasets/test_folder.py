"""Anyone's own folder: every layout, every way to split it, every problem at once."""

import numpy as np
import pytest

from fieldconv.datasets import DatasetError, FolderDataset, check_folder
from fieldconv.datasets.folder_dataset import guess_task, read_folder
from fieldconv.geometry import Mesh
from handmade import TETRAHEDRON, strip, write_lines, write_mesh


def names(collection):
    return [item.name for item in collection.items]


def targets(collection):
    return [item.read().target.tolist() for item in collection.items]


# Classification


def test_a_class_per_folder(tmp_path):
    for label, count in (("dog", 5), ("cat", 10)):
        for i in range(count):
            write_mesh(tmp_path / label / f"{i}.obj")
    collection = read_folder(tmp_path, split="all")
    assert (collection.task, collection.class_names) == ("classification", ("cat", "dog"))
    assert targets(collection) == [0] * 10 + [1] * 5
    assert names(collection)[:3] == ["cat/0.obj", "cat/1.obj", "cat/2.obj"]
    test = read_folder(tmp_path, split="test", seed=4)
    assert [item.group for item in test.items] == ["cat", "cat", "dog"]
    assert not {*names(test)} & {*names(read_folder(tmp_path, seed=4))}


def test_train_and_test_folders(tmp_path):
    write_mesh(tmp_path / "train" / "cat" / "a.obj")
    write_mesh(tmp_path / "train" / "dog" / "b.obj")
    write_mesh(tmp_path / "test" / "dog" / "c.obj")
    assert names(read_folder(tmp_path)) == ["train/cat/a.obj", "train/dog/b.obj"]
    test = read_folder(tmp_path, split="test")
    assert (names(test), targets(test), test.class_names) == (["test/dog/c.obj"], [1], ("cat", "dog"))


def test_file_lists(tmp_path):
    for label in ("cat", "dog"):
        for i in range(3):
            write_mesh(tmp_path / label / f"{label}{i}.obj")
    write_lines(tmp_path / "train.txt", ["dog/dog0.obj", "cat1", "# a comment"])
    write_lines(tmp_path / "test.txt", ["cat/cat2"])
    assert sorted(names(read_folder(tmp_path))) == ["cat/cat1.obj", "dog/dog0.obj"]
    assert names(read_folder(tmp_path, split="test")) == ["cat/cat2.obj"]
    write_lines(tmp_path / "test.txt", ["cat1.obj", "cow"])
    assert read_folder(tmp_path).problems == (
        "test.txt, line 1: cat1.obj is listed already",
        "test.txt, line 2: there is no mesh cow",
    )


def test_problems_of_a_classification_folder_are_listed_at_once(tmp_path):
    write_mesh(tmp_path / "train" / "cat" / "a.obj")
    write_mesh(tmp_path / "train" / "loose.obj")
    (tmp_path / "train" / "empty").mkdir()
    write_mesh(tmp_path / "test" / "zebra" / "c.obj")
    (tmp_path / "train" / "cat" / "broken.off").write_text("OFF\n3 1 0\n0 0 0\n", encoding="utf-8")
    report = check_folder(tmp_path, task="classification")
    assert report.problems[:3] == (
        "train/loose.obj: lies in no class folder; expected <class>/loose.obj",
        "train/empty/: no meshes (.obj, .off, .ply, .stl, .glb)",
        "test/zebra: class 'zebra' is unknown: it has no meshes to train on",
    )
    assert "broken.off" in report.problems[3]
    assert len(report.problems) == 4
    assert report.groups[0].meshes == 1


def test_an_empty_folder(tmp_path):
    assert read_folder(tmp_path).problems == ("no meshes (.obj, .off, .ply, .stl, .glb) for classification",)
    assert read_folder(tmp_path / "nowhere").problems == ("no such folder",)


# Segmentation


@pytest.mark.parametrize("suffix", [".txt", ".npy", ".csv", ".seg", ".eseg"])
@pytest.mark.parametrize("place", ["", "labels"])
def test_labels_beside_the_mesh(tmp_path, suffix, place):
    write_mesh(tmp_path / "a.obj", strip(2))
    labels = (
        [5] * 5 + [9] * 4 if suffix == ".eseg" else [5, 5, 9, 9] if suffix == ".seg" else [5, 5, 5, 9, 9, 9]
    )
    path = tmp_path / place / f"a{suffix}"
    path.parent.mkdir(exist_ok=True)
    if suffix == ".npy":
        np.save(path, np.array(labels))
    else:
        write_lines(path, labels)
    collection = read_folder(tmp_path, split="all")
    assert collection.problems == ()
    assert (collection.task, collection.class_names) == ("segmentation", ("5", "9"))
    voted = targets(collection)[0]
    assert voted[:2] + voted[-2:] == [0, 0, 1, 1]
    if suffix in (".txt", ".npy", ".csv"):
        assert voted == [0, 0, 0, 1, 1, 1]


def test_labels_in_ply_files(tmp_path):
    labels = np.array([3, 3, 1, 1], np.int32)
    Mesh(*TETRAHEDRON, vertex_data={"label": labels}).save(tmp_path / "a.ply")
    collection = read_folder(tmp_path, split="all")
    assert (collection.class_names, targets(collection)) == (("1", "3"), [[1, 1, 0, 0]])


def test_labels_as_vertex_colours(tmp_path):
    red, blue, green = (255, 0, 0, 255), (0, 0, 255, 255), (0, 255, 0, 255)
    Mesh(*TETRAHEDRON, vertex_colours=np.array([red, red, blue, blue], np.uint8)).save(tmp_path / "a.ply")
    Mesh(*TETRAHEDRON, vertex_colours=np.array([green, red, blue, red], np.uint8)).save(tmp_path / "b.ply")
    collection = read_folder(tmp_path, split="all")
    assert collection.class_names == ("#0000ff", "#00ff00", "#ff0000")
    assert targets(collection) == [[2, 2, 0, 0], [1, 2, 0, 2]]
    write_lines(tmp_path / "classes.txt", ["#ff0000 head", "#00ff00 tail", "#0000ff left leg"])
    collection = read_folder(tmp_path, split="all")
    assert collection.class_names == ("head", "tail", "left leg")
    assert targets(collection) == [[0, 0, 2, 2], [1, 0, 2, 0]]


def test_names_of_parts(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_lines(tmp_path / "a.txt", [2, 0, -1, 2])
    write_lines(tmp_path / "classes.txt", ["head", "upper arm", "hand"])
    collection = read_folder(tmp_path, split="all")
    assert (collection.class_names, targets(collection)) == (("head", "upper arm", "hand"), [[2, 0, -1, 2]])
    write_lines(tmp_path / "classes.txt", ["2 head", "0 arm"])
    collection = read_folder(tmp_path, split="all")
    assert (collection.class_names, targets(collection)) == (("head", "arm"), [[0, 1, -1, 0]])
    write_lines(tmp_path / "classes.txt", ["2 head", "1 arm"])
    assert read_folder(tmp_path).problems == ("a.obj: label 0 is unknown: it is not in classes.txt",)


def test_problems_of_a_segmentation_folder_are_listed_at_once(tmp_path):
    for side, name in (
        ("train", "good"),
        ("train", "short"),
        ("train", "bare"),
        ("train", "two"),
        ("test", "new"),
    ):
        write_mesh(tmp_path / side / f"{name}.obj")
        write_lines(tmp_path / side / f"{name}.txt", [0, 1, 1, 0])
    (tmp_path / "train" / "bare.txt").unlink()
    write_lines(tmp_path / "train" / "short.txt", [0, 1, 1])
    write_lines(tmp_path / "train" / "two.seg", [0, 1, 1, 0])
    write_lines(tmp_path / "test" / "new.txt", [0, 1, 1, 7])
    report = check_folder(tmp_path)
    assert report.task == "segmentation"
    two, bare, new, short = report.problems
    assert bare.startswith("train/bare.obj: no labels; expected train/bare.txt (or .npy, .csv, .seg, .eseg)")
    assert two == "train/two.obj: several label files (two.seg, two.txt); keep one of them"
    assert new == "test/new.obj: label 7 is unknown: no training mesh has it"
    assert "short.txt: has 3 labels; expected 4 " in short
    assert "fieldconv datasets make" in report.hint


def test_one_name_for_two_meshes_is_a_problem(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_mesh(tmp_path / "a.off")
    write_lines(tmp_path / "a.txt", [0, 1, 1, 0])
    assert read_folder(tmp_path).problems == ("a.obj and a.off share one name; keep one of them",)


# Correspondence


def test_vertex_maps_to_a_template(tmp_path):
    write_mesh(tmp_path / "template.obj", strip(2))
    for name, ids in (("a", [0, 5, -1, 2]), ("b", [1, 1, 1, 1])):
        write_mesh(tmp_path / f"{name}.obj")
        write_lines(tmp_path / f"{name}.txt", ids)
    collection = read_folder(tmp_path, split="all")
    assert (collection.task, collection.problems) == ("correspondence", ())
    assert targets(collection) == [[0, 5, -1, 2], [1, 1, 1, 1]]
    assert len(collection.template().vertices) == 6
    assert targets(read_folder(tmp_path, split="all", index_base=1)) == [[-1, 4, -1, 1], [0, 0, 0, 0]]


def test_problems_of_vertex_maps(tmp_path):
    write_mesh(tmp_path / "template.obj")
    for name, ids in (("a", [0, 4, 1, 2]), ("b", [1, 1]), ("c", [])):
        write_mesh(tmp_path / f"{name}.obj")
        write_lines(tmp_path / f"{name}.txt", ids)
    (tmp_path / "c.txt").unlink()
    missing, beyond, short = check_folder(tmp_path).problems
    assert missing == "c.obj: no vertex map; expected c.txt (or .npy, .csv)"
    assert "a.txt: entry 2 is 4; expected ids 0…3" in beyond
    assert "b.txt: has 2 entries; expected 4, one per vertex of b" in short
    (tmp_path / "template.obj").unlink()
    assert "0 template meshes; expected one" in read_folder(tmp_path, task="correspondence").problems[0]


# Matching


def test_pairs_with_their_own_maps(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_mesh(tmp_path / "b.obj", strip(2))
    write_lines(tmp_path / "pairs.txt", ["a b", "b, a, back.txt"])
    write_lines(tmp_path / "maps" / "a.b.txt", [5, 4, -1, 3])
    write_lines(tmp_path / "back.txt", [0, 1, 2, 3, 3, 3])
    collection = read_folder(tmp_path, split="all")
    assert (collection.task, collection.problems) == ("matching", ())
    samples = [item.read() for item in collection.items]
    truths = [pair.truth(samples[pair.scene], samples[pair.model]).tolist() for pair in collection.pairs]
    assert truths == [[5, 4, -1, 3], [0, 1, 2, 3, 3, 3]]


def test_pairs_through_common_vertices(tmp_path):
    write_mesh(tmp_path / "template.obj", strip(3))
    write_mesh(tmp_path / "a.obj")
    write_lines(tmp_path / "a.txt", [0, 2, 7, -1])
    write_mesh(tmp_path / "b.obj")
    write_lines(tmp_path / "b.txt", [7, 0, 6, 0])
    write_lines(tmp_path / "pairs.txt", ["a b"])
    collection = read_folder(tmp_path, split="all")
    pair, samples = collection.pairs[0], [item.read() for item in collection.items]
    # Template vertices 0 and 7 are b's 1 and 0; vertex 2 b lacks, and the nearest it has is 0 (x = 1 and 0).
    assert pair.truth(samples[pair.scene], samples[pair.model]).tolist() == [1, 1, 0, -1]
    (tmp_path / "template.obj").unlink()
    collection = read_folder(tmp_path, split="all")
    pair, samples = collection.pairs[0], [item.read() for item in collection.items]
    assert pair.truth(samples[pair.scene], samples[pair.model]).tolist() == [1, -1, 0, -1]


def test_splits_of_pairs(tmp_path):
    for i in range(6):
        write_mesh(tmp_path / f"{i}.obj")
        write_lines(tmp_path / "maps" / f"{i}.0.txt", [0, 1, 2, 3])
    write_lines(tmp_path / "pairs.txt", [f"{i} 0" for i in range(1, 6)])
    assert [len(read_folder(tmp_path, split=s).pairs) for s in ("train", "test", "all")] == [4, 1, 5]
    write_lines(tmp_path / "train_pairs.txt", ["1 0", "2 0"])
    write_lines(tmp_path / "test_pairs.txt", ["3 0"])
    assert [len(read_folder(tmp_path, split=s).pairs) for s in ("train", "test", "all")] == [2, 1, 3]


def test_problems_of_pairs(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_mesh(tmp_path / "b.obj")
    write_lines(tmp_path / "pairs.txt", ["a b", "a", "a c", "b a"])
    write_lines(tmp_path / "maps" / "a.b.txt", [0, 1, 2])
    assert check_folder(tmp_path).problems[:3] == (
        "pairs.txt, line 2 is 'a'; expected two names",
        "pairs.txt, line 3: there is no mesh c",
        "pairs.txt, line 4: no ground truth; expected maps/b.a.txt",
    )
    assert "maps/a.b.txt: has 3 entries; expected 4" in check_folder(tmp_path).problems[3]
    (tmp_path / "pairs.txt").unlink()
    assert "pairs.txt is missing" in read_folder(tmp_path, task="matching").problems[0]


def test_task_names(tmp_path):
    assert guess_task(tmp_path) == "classification"
    with pytest.raises(ValueError, match="choose one of classification"):
        read_folder(tmp_path, task="sorting")


def test_check_counts_labels(tmp_path):
    for name in "ab":
        write_mesh(tmp_path / f"{name}.obj")
        write_lines(tmp_path / f"{name}.txt", [0, 0, 1, -1])
    report = check_folder(tmp_path)
    assert report.labels == {"0": 4, "1": 2, "(unknown)": 2}
    assert report.known == 0.75
    assert report.groups[0].vertices == (4, 4, 4)


def test_check_finds_meshes_that_cannot_be_used(tmp_path):
    for name in ("good", "nan", "flat"):
        write_mesh(tmp_path / f"{name}.obj")
        write_lines(tmp_path / f"{name}.txt", [0, 0, 1, 1])
    (tmp_path / "nan.obj").write_text(
        "v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 2 3 4\n", encoding="utf-8"
    )
    (tmp_path / "flat.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 2 0 0\nv 3 0 0\nf 1 2 3\nf 2 3 4\n", encoding="utf-8"
    )
    flat, nan = sorted(check_folder(tmp_path).problems)
    assert flat == f"{tmp_path / 'flat.obj'}: every face is degenerate (no area); check the positions"
    assert nan.startswith(f"{tmp_path / 'nan.obj'}: the position of vertex 0 is not finite")


def test_a_folder_without_any_label_is_a_problem(tmp_path):
    for name in "ab":
        write_mesh(tmp_path / f"{name}.obj")
        write_lines(tmp_path / f"{name}.txt", [-1, -1, -1, -1])
    assert "no vertex of any mesh has a label" in check_folder(tmp_path).problems[0]
    with pytest.raises(DatasetError, match="no vertex of any mesh has a label"):
        FolderDataset(tmp_path, "segmentation", cache=False)


# Names instead of numbers, and sets that are too small


def test_labels_by_name(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_mesh(tmp_path / "b.obj")
    write_lines(tmp_path / "a.txt", ["leg", "head", "head", "-1"])
    (tmp_path / "b.csv").write_text("vertex,label\n0,tail\n1,leg\n2,leg\n3,head\n", encoding="utf-8")
    collection = read_folder(tmp_path, task="segmentation", split="all")
    assert not collection.problems
    assert collection.class_names == ("head", "leg", "tail")
    assert targets(collection) == [[1, 0, 0, -1], [2, 1, 1, 0]]


def test_labels_by_name_follow_classes_txt(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_lines(tmp_path / "a.txt", ["leg", "head", "head", "leg"])
    write_lines(tmp_path / "classes.txt", ["torso", "leg", "head"])
    collection = read_folder(tmp_path, task="segmentation", split="all")
    assert (collection.class_names, targets(collection)) == (("torso", "leg", "head"), [[1, 2, 2, 1]])
    write_lines(tmp_path / "a.txt", ["leg", "heed", "head", "leg"])
    (problem,) = read_folder(tmp_path, task="segmentation", split="all").problems
    assert problem.endswith("a.txt: label 2 is 'heed'; did you mean 'head'?")


def test_names_and_numbers_do_not_mix(tmp_path):
    write_mesh(tmp_path / "a.obj")
    write_mesh(tmp_path / "b.obj")
    write_lines(tmp_path / "a.txt", ["leg", "head", "head", "leg"])
    write_lines(tmp_path / "b.txt", [0, 1, 1, 0])
    problems = read_folder(tmp_path, task="segmentation", split="all").problems
    assert "1 of 2 files of labels hold names, the others numbers; write all alike" in problems


def test_small_sets_are_reported(tmp_path):
    for side, count in (("train", 3), ("test", 1)):
        for i in range(count):
            write_mesh(tmp_path / side / f"{i}.obj")
            write_lines(tmp_path / side / f"{i}.txt", [0, 1, 1, 2 if i == 1 else 0])
    write_lines(tmp_path / "classes.txt", ["head", "leg", "tail", "wing"])
    report = check_folder(tmp_path)
    assert not report.problems
    few, untrusted, untested, absent, single = report.advice
    assert few.startswith("3 of 4 meshes to learn from")
    assert untrusted.startswith("1 of 4 meshes to test on")
    assert absent.endswith(": wing.")
    assert untested == "Never tested, because none of the meshes to test on has them: tail."
    assert single == "Learnt from a single mesh: tail."


def test_large_sets_get_no_advice(tmp_path):
    for label in ("cat", "dog"):
        for i in range(15):
            write_mesh(tmp_path / label / f"{i}.obj")
    assert check_folder(tmp_path).advice == ()
