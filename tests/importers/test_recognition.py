"""Which importer reads a file that several know, and how the report says so."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers import FileSample, Skipped, SourceFile, read_source
from weaklink.inspector.importers.reading import most_confident
from weaklink.inspector.model import Trace


@dataclass(frozen=True, slots=True)
class Known:
    """An importer of a name and signs, which reads nothing."""

    name: str
    signs: str

    def recognises(self, sample: FileSample) -> float:
        return 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        yield from ()


ONE, OTHER = Known("one", "a `key`"), Known("other", "a `word`")


def test_nobody_knows_what_nobody_is_sure_of() -> None:
    assert most_confident([]) is None
    assert most_confident([(0.0, ONE), (0.0, OTHER)]) is None


def test_the_first_of_two_that_are_equally_sure_reads_the_file() -> None:
    found = most_confident([(0.5, ONE), (0.5, OTHER)])
    assert found is not None
    assert found.importer is ONE
    assert found.why == (
        "Recognised as `one`: a `key` (confidence 0.5); next best: `other` (confidence 0.5), a `word`."
    )


def test_a_runner_up_that_is_far_behind_is_not_told() -> None:
    found = most_confident([(0.3, OTHER), (0.9, ONE)])
    assert found is not None
    assert found.why == "Recognised as `one`: a `key` (confidence 0.9)."


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            '{"type": "session", "cwd": "/x", "version": 9}',
            "unknown format: the first row has the keys `type`, `cwd`, `version`; the nearest source is `pi` ",
        ),
        ('{"type": "session", "cwd": "/x", "version": 9}', ", but `parentId` is missing"),
        ('{"traj": 1, "task_id": 2, "reward": 3}', ", but the members have other values"),
        ('{"log": {"entry": 1}}', "unknown format: the first row has the keys `log`"),
        ("{}", "unknown format: the first row has no keys"),
    ],
)
def test_a_file_of_an_unknown_source_names_the_nearest_and_what_differs(row: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(row)
    with pytest.raises(UnreadableFileError) as raised:
        read_source(path)
    assert reason in str(raised.value)
    assert str(raised.value).endswith("`log`") is ('"log"' in row)
