"""Windows paths in JSON strings whose backslashes nobody escaped: no escape in them is read as a tab or line feed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.json_scanner import read_json

_WRONG = st.sampled_from(["data", "Users", "System32", "x64", "etc", "über"])
_PIECE = st.sampled_from(["temp", "new", "bin", "files", "run", "uface", "u12", "app data"])


def _repaired(text: str) -> str:
    edits = [edit for fault in read_json(text).faults if fault.fix for edit in fault.fix.edits]
    for edit in sorted(edits, key=lambda repair: repair.range, reverse=True):
        text = text[: edit.range.start] + edit.text + text[edit.range.end :]
    return text


@given(st.sampled_from(["C:", "d:", r"\\host"]), st.lists(_PIECE, max_size=4), _WRONG, st.lists(_PIECE, max_size=4))
def test_every_backslash_of_the_path_is_kept(root: str, before: list[str], wrong: str, behind: list[str]) -> None:
    path = "\\".join((root, *before, wrong, *behind))
    reading = read_json(f'{{"path": "{path}"}}')
    assert reading.nodes[0].value() == {"path": path}
    repaired = read_json(_repaired(f'{{"path": "{path}"}}'))
    assert repaired.strict
    assert repaired.nodes[0].value() == {"path": path}


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (r"a\tb\d", "a\tb\\d"),
        (r"^\d+:\s\t$", "^\\d+:\\s\t$"),
        (r"C:\new", "C:\new"),
        (r"C:\\temp\\new\d", r"C:\temp\new\d"),
        (r"cd D:\temp\data\n", "cd D:\\temp\\data\n"),
        (r"D:\temp\data is \"it\"\n\tand more", 'D:\\temp\\data is "it"\n\tand more'),
    ],
)
def test_escapes_outside_such_paths_are_read_as_json_reads_them(content: str, value: str) -> None:
    assert read_json(f'"{content}"').nodes[0].value() == value


def test_the_repair_of_a_guessed_path_is_not_safe() -> None:
    (fault,) = read_json(r'"D:\temp\data"').faults
    assert fault.rule.code == "J107"
    assert fault.fix is not None
    assert not fault.fix.safe
