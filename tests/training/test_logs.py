"""What a run writes for TensorBoard."""

from pathlib import Path

import pytest

from fieldconv.training.logs import TensorBoard


def test_tensorboard_reads_what_a_resumed_run_wrote(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    first = TensorBoard(tmp_path)
    first.add({"loss": 1.0, "score": 0.5}, 1)
    first.add({"loss": 0.5}, 2)
    first.close()
    second = TensorBoard(tmp_path, done=2)  # the second step is done again
    second.add({"loss": 0.25}, 2)
    second.flush()
    read = accumulators.EventAccumulator(str(tmp_path))
    read.Reload()
    assert [(event.step, event.value) for event in read.Scalars("loss")] == [(1, 1.0), (2, 0.25)]
    assert [event.value for event in read.Scalars("score")] == [0.5]
    second.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_stops_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard")
    board = TensorBoard(tmp_path)
    board._file.close()
    board._file = board._records._writer = open("/dev/full", "wb")  # noqa: SIM115
    for step in range(2000):  # more than what is kept before it is written
        board.add({"loss": 1.0}, step)
    board.flush()
    board.close()
    assert capfd.readouterr().err == ""
