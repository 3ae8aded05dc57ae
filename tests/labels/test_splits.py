import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.labels import first_preimage, split_groups
from fieldconv.labels.collection import natural_order
from fieldconv.labels.splits import choose


@given(st.lists(st.sampled_from("abc"), max_size=40), st.floats(0, 1), st.integers(0, 5))
def test_train_and_test_divide_every_group(groups, fraction, seed):
    train = split_groups(groups, "train", test_fraction=fraction, seed=seed)
    test = split_groups(groups, "test", test_fraction=fraction, seed=seed)
    assert sorted(train + test) == list(range(len(groups)))
    for group in set(groups):
        size = groups.count(group)
        tested = sum(groups[i] == group for i in test)
        assert tested == 0 if size == 1 else size * fraction - 1e-6 <= tested < size * fraction + 1


def test_a_fifth_of_ten_is_two_whatever_the_rounding():
    assert len(split_groups(["a"] * 10, "test", test_fraction=0.2)) == 2
    assert len(split_groups(["a"] * 15, "test", test_fraction=0.2)) == 3


def test_another_group_does_not_change_the_split_of_the_first():
    alone = split_groups(["cat"] * 10, "test", seed=3)
    assert [i for i in split_groups(["cat"] * 10 + ["dog"] * 7, "test", seed=3) if i < 10] == alone


def test_seeds_differ():
    assert len({tuple(choose(20, 10, seed=seed)) for seed in range(5)}) > 1


def test_an_unknown_split_says_what_is_allowed():
    with pytest.raises(ValueError, match="train, test, all"):
        split_groups([], "validation")


def test_natural_order():
    names = ["10.off", "2.off", "a10", "a9b", "a9a", "1.off"]
    assert sorted(names, key=natural_order) == ["1.off", "2.off", "10.off", "a9a", "a9b", "a10"]


@given(st.lists(st.integers(-1, 9), min_size=1))
def test_first_preimage(ids):
    import numpy as np

    expected = [ids.index(i) if i in ids else -1 for i in range(10)]
    assert first_preimage(np.array(ids), 10).tolist() == expected
