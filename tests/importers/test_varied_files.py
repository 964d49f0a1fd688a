"""What happens to files on their way, and lines that another program wrote into them, changes no conversation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from weaklink.inspector.errors import UnreadableFileError
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.model import Trace, Turn

_CASES = Path(__file__).parents[1] / "cases" / "importers"
_STRICT = frozenset({"trace-file"})  # weaklink's own file: a foreign line in it is damage
_ODD = frozenset({"odd_rows.jsonl"})  # has a byte order mark within its lines and bytes that are no text
_LOGS = sorted(
    path
    for path in _CASES.rglob("*.jsonl")
    if path.parent.name not in _STRICT and path.name not in _ODD and len(path.read_bytes().splitlines()) > 1
)


def _amid(line: bytes) -> Callable[[bytes], bytes]:
    def varied(content: bytes) -> bytes:
        lines = content.split(b"\n")
        middle = len(lines) // 2
        return b"\n".join([*lines[:middle], line, *lines[middle:]])

    return varied


_VARIATIONS: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda content: b"\xef\xbb\xbf" + content.removeprefix(b"\xef\xbb\xbf"),
    "carriage returns": lambda content: content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "blank lines": lambda content: content.replace(b"\n", b"\n\n"),
    "no line feed at the end": lambda content: content.rstrip(b"\n"),
    "a warning first": lambda content: b"npm warn old lockfile\n" + content,
    "a warning amid": _amid(b"npm warn old lockfile"),
    "null amid": _amid(b"null"),
    "half a line at the end": lambda content: content.rstrip(b"\n") + b'\n{"type": "mess',
}


def _conversations(path: Path) -> list[tuple[Turn, ...]]:
    return [tuple(record.turns) for record in read_source(path).records if isinstance(record, Trace)]


@pytest.mark.parametrize("variation", _VARIATIONS)
@pytest.mark.parametrize("path", _LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_conversations_are_the_same(path: Path, variation: str, tmp_path: Path) -> None:
    varied = tmp_path / path.parent.name / path.name
    varied.parent.mkdir()
    varied.write_bytes(_VARIATIONS[variation](path.read_bytes()))
    assert _conversations(varied) == _conversations(path)


@pytest.mark.parametrize("log", ["message_a_line", "two_sessions"])
def test_a_foreign_row_first_does_not_hide_the_messages_that_are_rows(log: str, tmp_path: Path) -> None:
    path = _CASES / "openai-messages" / f"{log}.jsonl"
    varied = tmp_path / path.name
    varied.write_bytes(b'{"level": "info", "msg": "started"}\n' + path.read_bytes())
    assert _conversations(varied) == _conversations(path)


@pytest.mark.parametrize("path", sorted(_CASES.rglob("*.json")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_document_that_ends_in_the_middle_is_reported(path: Path, tmp_path: Path) -> None:
    cut = tmp_path / path.name
    cut.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    try:
        reading = read_source(cut)
    except UnreadableFileError:
        return
    records = list(reading.records)
    is_answer = reading.source in ("api-captures", "chat-completions")  # that a stream ended early is told in its trace
    assert is_answer or any(isinstance(record, Skipped) and not record.is_irrelevant for record in records)
