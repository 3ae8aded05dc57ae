"""Every benchmark layout, from folders written by hand."""

import shutil

import numpy as np
import pytest

from fieldconv.datasets import FAUST, SHREC11, SHREC19, HumanSegmentation, SHREC19Humans, check_folder
from fieldconv.datasets.folder_dataset import DataFolder
from handmade import TETRAHEDRON, strip, write_lines, write_mesh


def names(collection):
    return [item.name for item in collection.items]


# SHREC'11


@pytest.fixture
def shrec11(tmp_path):
    for label in ("cat", "ant"):
        for i in range(6):
            write_mesh(tmp_path / label / "train" / f"T{i}.obj")
        for i in range(6, 8):
            write_mesh(tmp_path / label / "test" / f"T{i}.obj")
    return tmp_path


def test_shrec11_draws_from_all_meshes_of_a_class(shrec11):
    train = SHREC11.read(shrec11, train_per_class=3, seed=1)
    test = SHREC11.read(shrec11, split="test", train_per_class=3, seed=1)
    assert train.class_names == ("ant", "cat")
    assert len(train.items) == 2 * 3
    assert len(test.items) == 2 * 5
    assert len({*names(train), *names(test)}) == 16
    assert [int(item.read().target) for item in train.items] == [0, 0, 0, 1, 1, 1]
    samplings = {tuple(names(SHREC11.read(shrec11, train_per_class=3, seed=seed))) for seed in range(3)}
    assert len(samplings) == 3


def test_shrec11_published_folders(shrec11):
    assert names(SHREC11.read(shrec11, split="test", train_per_class=None)) == [
        "ant/test/T6.obj",
        "ant/test/T7.obj",
        "cat/test/T6.obj",
        "cat/test/T7.obj",
    ]


def test_shrec11_says_what_is_missing_and_where_to_get_it(shrec11, tmp_path):
    shutil.rmtree(shrec11 / "ant")
    (shrec11 / "ant" / "train").mkdir(parents=True)
    collection = SHREC11.read(shrec11, train_per_class=10)
    assert collection.problems == (
        "ant: no meshes; expected ant/train/*.obj",
        "cat: 8 meshes; expected more than 10 to train on",
    )
    assert "MeshCNN" in str(collection.error())
    assert SHREC11.read(tmp_path / "nowhere").problems == ("no such folder",)


# Human segmentation


def labelled(root, side, name, suffix=".eseg"):
    """A ladder of two squares, 6 vertices, 4 faces, 9 edges; the first is foot (8), the other head (1)."""
    write_mesh(root / side / f"{name}.obj", strip(2))
    # Faces (0,2,1), (1,2,3), (2,4,3), (3,4,5); edges in order 02 21 10, 23 31, 24 43, 45 53.
    labels = {".eseg": [8, 8, 8, 8, 8, 1, 1, 1, 1], ".seg": [8, 8, 1, 1], ".txt": [8, 8, 1, 1, 1, 1]}[suffix]
    write_lines(root / "seg" / f"{name}{suffix}", labels)


def test_human_seg_labels_of_edges_faces_and_vertices(tmp_path):
    labelled(tmp_path, "train", "adobe__a", ".eseg")
    labelled(tmp_path, "train", "faust__b", ".seg")
    labelled(tmp_path, "train", "scape__c", ".txt")
    collection = HumanSegmentation.read(tmp_path)
    assert collection.problems == ()
    edges, faces, vertices = (item.read().target.tolist() for item in collection.items)
    # All faces have area 1/2. Vertex 2 has two faces of the first square, one of the second; 3 the reverse.
    assert faces == [7, 7, 7, 0, 0, 0]
    # By edges: vertex 2 has 02 (1/6), 12 (1/3), 23 (1/3) for foot and 24 (1/6) for head;
    # vertex 3 has 23 (1/3), 13 (1/6) for foot and 34 (1/3), 35 (1/6) for head: a tie, for the smaller label.
    assert edges == [7, 7, 7, 0, 0, 0]
    assert vertices == [7, 7, 0, 0, 0, 0]


def test_human_seg_splits_and_held_out_sources(tmp_path):
    for name in ("MIT_animation__x", "adobe__a", "faust__b", "scape__c"):
        labelled(tmp_path, "train", name)
    labelled(tmp_path, "test", "shrec__1")
    assert len(HumanSegmentation.read(tmp_path).items) == 4
    assert names(HumanSegmentation.read(tmp_path, split="test")) == ["test/shrec__1.obj"]
    assert len(HumanSegmentation.read(tmp_path, split="all").items) == 5
    train = HumanSegmentation.read(tmp_path, hold_out=["MIT", "scape"])
    assert names(train) == ["train/adobe__a.obj", "train/faust__b.obj"]
    test = HumanSegmentation.read(tmp_path, split="test", hold_out=["MIT", "scape"])
    assert names(test) == ["train/MIT_animation__x.obj", "train/scape__c.obj"]
    assert HumanSegmentation.read(tmp_path, hold_out=["tosca"]).problems == (
        "no meshes of the held-out source 'tosca'; there are adobe, faust, mit, scape",
    )


def test_human_seg_reports_every_problem_with_file_and_line(tmp_path):
    labelled(tmp_path, "train", "adobe__a")
    labelled(tmp_path, "train", "adobe__b")
    labelled(tmp_path, "train", "adobe__c")
    labelled(tmp_path, "train", "adobe__d")
    (tmp_path / "seg" / "adobe__a.eseg").unlink()
    write_lines(tmp_path / "seg" / "adobe__b.eseg", [1] * 8)
    write_lines(tmp_path / "seg" / "adobe__c.eseg", [1] * 8 + [9])
    write_lines(tmp_path / "seg" / "adobe__d.eseg", [1, 1, "?"])
    report = check_folder(tmp_path)
    assert report.layout == "human segmentation set"
    missing, count, value, text = report.problems
    assert missing.startswith("train/adobe__a.obj: no labels; expected seg/adobe__a.eseg")
    assert "adobe__b.eseg: has 8 labels; expected 6 " in count
    assert "adobe__c.eseg: entry 9 is 9; expected a label 1…8" in value
    assert "adobe__d.eseg: line 3 is '?'" in text
    assert HumanSegmentation.read(tmp_path, split="test").problems == ("no meshes in test/",)


def test_human_seg_full_resolution(tmp_path):
    meshes, segs = tmp_path / "meshes", tmp_path / "segs"
    by_face = [8, 8, 1, 1]
    write_mesh(meshes / "train" / "adobe" / "a.off", strip(2))
    write_lines(segs / "train" / "adobe" / "a.txt", by_face)
    write_mesh(meshes / "train" / "faust" / "tr_reg_000.off", strip(2))
    write_lines(segs / "train" / "faust" / "faust_corrected.txt", by_face)
    write_mesh(meshes / "train" / "MIT_animation" / "meshes_crane" / "meshes" / "mesh_0000.obj", strip(2))
    write_lines(segs / "train" / "mit" / "mit_crane_corrected.txt", by_face)
    write_mesh(meshes / "test" / "shrec" / "1.off", strip(2))
    write_lines(segs / "test" / "shrec" / "shrec_1_full.txt", by_face)
    train, test = HumanSegmentation.read(tmp_path), HumanSegmentation.read(tmp_path, split="test")
    assert train.problems == test.problems == ()
    assert [item.group for item in train.items] == ["mit", "adobe", "faust"]
    assert [item.group for item in test.items] == ["shrec"]
    for item in (*train.items, *test.items):
        assert item.read().target.tolist() == [7, 7, 7, 0, 0, 0]
    write_mesh(meshes / "train" / "scape" / "mesh000.off", strip(2))
    assert "segs/train/scape/mesh000.txt or" in HumanSegmentation.read(tmp_path).problems[0]


# Remeshed FAUST


def test_faust_composes_the_maps_through_the_template(tmp_path):
    write_mesh(tmp_path / "shapes" / "tr_reg_000.off", strip(2))
    write_mesh(tmp_path / "shapes" / "tr_reg_001.off", strip(3))
    # The same four points of the body, counted from 1: on the template vertices 5, 4, 0, 4.
    write_lines(tmp_path / "corres" / "tr_reg_000.vts", [6, 5, 1, 5])
    # On shape 1 they are vertices 7, 7, 0, 6; so vertices 1 … 5 are not named.
    write_lines(tmp_path / "corres" / "tr_reg_001.vts", [8, 8, 1, 7])
    collection = FAUST.read(tmp_path, indices=[0, 1])
    assert collection.problems == ()
    assert len(collection.template().vertices) == 6
    template, shape = (item.read().target.tolist() for item in collection.items)
    assert [template[i] for i in (0, 4, 5)] == [0, 4, 5]  # the template's own map is the identity …
    assert [shape[i] for i in (0, 6, 7)] == [0, 4, 5]  # the first line that names vertex 7 says 5
    # … and the others take the nearest: vertex 1 (0, 1) that of 0 (0, 0), vertex 5 (2, 1) that of 7 (3, 1).
    assert template[1] == 0
    assert shape[1] == 0
    assert shape[5] == 5
    assert set(shape) == {0, 4, 5}


def test_faust_splits_by_number(tmp_path):
    for i in (0, 1, 79, 80, 99):
        write_mesh(tmp_path / "shapes" / f"tr_reg_{i:03d}.off")
        write_lines(tmp_path / "corres" / f"tr_reg_{i:03d}.vts", [1, 2, 3, 4])
    train = FAUST.read(tmp_path)
    assert names(train) == [f"shapes/tr_reg_{i:03d}.off" for i in (0, 1, 79)]
    assert len(train.problems) == 77
    assert train.problems[0] == "shapes/tr_reg_002.off is missing"
    assert names(FAUST.read(tmp_path, split="test")) == ["shapes/tr_reg_080.off", "shapes/tr_reg_099.off"]
    assert len(FAUST.read(tmp_path, split="all").items) == 5
    assert names(FAUST.read(tmp_path, indices=range(79, 81))) == [
        "shapes/tr_reg_079.off",
        "shapes/tr_reg_080.off",
    ]
    assert (
        "template shapes/tr_reg_005.off is missing"
        in FAUST.read(tmp_path, indices=[0], template=5).problems[0]
    )


def test_faust_malformed_maps(tmp_path):
    for i, lines in enumerate(([1, 2, 3], [1, 2], [1, 5, 2])):
        write_mesh(tmp_path / "shapes" / f"tr_reg_{i:03d}.off")
        write_lines(tmp_path / "corres" / f"tr_reg_{i:03d}.vts", lines)
    write_mesh(tmp_path / "shapes" / "tr_reg_003.off")
    report = check_folder(tmp_path)
    assert report.layout == "remeshed FAUST"
    missing, short, beyond = report.problems
    assert missing == "shapes/tr_reg_003.off: its ground truth corres/tr_reg_003.vts is missing"
    assert "tr_reg_001.vts: has 2 lines; expected 3" in short
    assert "tr_reg_002.vts: entry 2 is 5; expected ids 1…4" in beyond


# SHREC'19, isometric and non-isometric


@pytest.fixture
def shrec19(tmp_path):
    write_mesh(tmp_path / "models" / "scan_000.obj", strip(1))  # 4 vertices
    for i in range(1, 7):
        write_mesh(tmp_path / "models" / f"scan_{i:03d}.obj", strip(2))  # 6 vertices
        write_lines(tmp_path / "gt" / f"scan_000.scan_{i:03d}.gt.txt", [0, 1, 2, 3, -1, 3])
    write_lines(tmp_path / "pairs" / "figure_pairs.txt", [f"000 {i:03d}" for i in range(1, 6)])
    write_lines(tmp_path / "pairs" / "glove_pairs.txt", ["000,006"])
    write_lines(tmp_path / "pairs" / "hand_pairs.txt", ["scan_000 scan_001", "000 002"])
    return tmp_path


def test_shrec19_maps_the_second_scan_to_the_first(shrec19):
    collection = SHREC19.read(shrec19, split="all")
    assert collection.problems == ()
    assert len(collection.pairs) == 8
    pair = collection.pairs[0]
    assert (collection.items[pair.scene].name, collection.items[pair.model].name) == ("scan_001", "scan_000")
    scene, model = collection.items[pair.scene].read(), collection.items[pair.model].read()
    assert pair.truth(scene, model).tolist() == [0, 1, 2, 3, -1, 3]
    assert check_folder(shrec19).known == pytest.approx(5 / 6)


def test_shrec19_tests_a_fifth_of_each_group(shrec19):
    test = SHREC19.read(shrec19, split="test")
    assert [pair.group for pair in test.pairs] == [
        "figure",
        "hand",
    ]  # 1 of 5, 1 of 2; glove's only pair trains
    train = SHREC19.read(shrec19)
    assert sorted(pair.group for pair in train.pairs) == ["figure"] * 4 + ["glove", "hand"]


def test_shrec19_ids_from_one_are_noticed_and_accepted_on_request(shrec19):
    path = shrec19 / "gt" / "scan_000.scan_006.gt.txt"
    write_lines(path, [1, 2, 3, 4, 0, 4])
    assert "scan_000.scan_006.gt.txt: entry 4 is 4; expected ids 0…3" in check_folder(shrec19).problems[0]
    collection = SHREC19.read(shrec19, split="all", index_base=1)
    pair = next(pair for pair in collection.pairs if pair.group == "glove")
    scene, model = collection.items[pair.scene].read(), collection.items[pair.model].read()
    assert pair.truth(scene, model).tolist() == [0, 1, 2, 3, -1, 3]


def test_shrec19_reports_missing_files(shrec19):
    (shrec19 / "gt" / "scan_000.scan_003.gt.txt").unlink()
    (shrec19 / "models" / "scan_006.obj").unlink()
    (shrec19 / "pairs" / "hand_pairs.txt").unlink()
    write_lines(shrec19 / "gt" / "scan_000.scan_001.gt.txt", [0, 1])
    report = check_folder(shrec19)
    assert report.layout == "SHREC'19"
    assert report.problems[:3] == (
        "pairs/figure_pairs.txt, line 3: gt/scan_000.scan_003.gt.txt is missing",
        "pairs/glove_pairs.txt, line 1: models/scan_006.obj is missing",
        "pairs/hand_pairs.txt is missing",
    )
    assert "scan_000.scan_001.gt.txt: has 2 lines; expected 6" in report.problems[3]
    assert "shrec19.cs.cf.ac.uk" in report.hint


# SHREC'19 humans


@pytest.fixture
def humans(tmp_path):
    write_mesh(tmp_path / "shapes" / "2.off", strip(3))
    write_mesh(tmp_path / "shapes" / "10.off", TETRAHEDRON)
    write_lines(tmp_path / "smpl_matches" / "2.txt", [1, 8, 8])  # three points; vertices 0, 7, 7
    write_lines(tmp_path / "smpl_matches" / "10.txt", [4, 2, 3])  # vertices 3, 1, 2
    write_lines(tmp_path / "pairs.txt", ["2,10", "10,2"])
    return tmp_path


def test_humans_go_through_the_points_of_the_template(humans):
    collection = SHREC19Humans.read(humans, split="all")
    assert collection.problems == ()
    assert names(collection) == ["2", "10"]
    samples = [item.read() for item in collection.items]
    there, back = (pair.truth(samples[pair.scene], samples[pair.model]) for pair in collection.pairs)
    assert there[[0, 7]].tolist() == [3, 1]
    assert there[1] == 3  # not named: at x = 0 it is nearer to vertex 0 than to vertex 7
    assert back[[3, 1, 2]].tolist() == [0, 7, 7]


def test_humans_split_by_pair_or_by_shape(tmp_path):
    for i in range(1, 6):
        write_mesh(tmp_path / "shapes" / f"{i}.off")
        write_lines(tmp_path / "smpl_matches" / f"{i}.txt", [1, 2, 3])
    pairs = [(i, j) for i in range(1, 6) for j in range(1, 6) if i != j]
    write_lines(tmp_path / "pairs.txt", [f"{i},{j}" for i, j in pairs])
    by_pair = {"split_by": "pair", "test_fraction": 0.2}
    assert len(SHREC19Humans.read(tmp_path, split="test", **by_pair).pairs) == 4
    assert len(SHREC19Humans.read(tmp_path, **by_pair).pairs) == 16
    train = SHREC19Humans.read(tmp_path, test_fraction=0.4)
    test = SHREC19Humans.read(tmp_path, split="test", test_fraction=0.4)
    assert (len(train.pairs), len(test.pairs)) == (3 * 2, 2)
    assert not {*names(train)} & {*names(test)}


def test_humans_report_every_problem(humans):
    write_mesh(humans / "shapes" / "3.off")
    write_lines(humans / "pairs.txt", ["2,10", "10", "2,44"])
    write_lines(humans / "smpl_matches" / "10.txt", [4, 5, 3])
    report = check_folder(humans)
    assert report.problems[:3] == (
        "shapes/3.off: its ground truth smpl_matches/3.txt is missing",
        "pairs.txt, line 2 is '10'; expected two names",
        "pairs.txt, line 3: shapes/44.off is missing",
    )
    assert "smpl_matches/10.txt: entry 2 is 5; expected ids 1…4" in report.problems[3]


def test_layouts_are_told_apart(shrec11, tmp_path_factory):
    assert DataFolder.recognise(shrec11).benchmark is SHREC11
    assert DataFolder.recognise(tmp_path_factory.mktemp("empty")).benchmark is None
    assert DataFolder.recognise("nowhere").benchmark is None


def test_the_order_is_that_of_the_names(shrec11):
    assert names(SHREC11.read(shrec11, split="all"))[:3] == [
        "ant/train/T0.obj",
        "ant/train/T1.obj",
        "ant/train/T2.obj",
    ]
    assert np.all(
        np.diff([int(item.read().target) for item in SHREC11.read(shrec11, split="all").items]) >= 0
    )
