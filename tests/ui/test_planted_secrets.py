"""Secrets of every shape, planted in every place of every source, are in nothing that is written.

What is looked through: the database with its write-ahead log, packed columns unpacked, every export, what `show`,
`list`, `search` and `report` print, what `check` reports and keeps as a baseline, and what import and record say.
"""

import json
import random
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.capture.logger import TraceLogger
from inspector.capture.recorder import Recorder
from inspector.sessions.exchange import ExchangeEnd
from storage import StoreSink
from tests.capture.recordings import Call, ToldWatch, delta_event
from tests.redaction.planted import ALL, KEY_SHAPES, Planted
from tests.ui.conftest import Run

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CASES = Path("tests/cases/importers")
_MAGIC = b"\x28\xb5\x2f\xfd"
_TEXTS = tuple(one for one in ALL if len(one.secret) >= 12)  # a shorter one may be somewhere by chance
_WORDS = tuple(one for one in KEY_SHAPES if one.secret.isascii())


def _left(planted: Sequence[Planted], *written: bytes) -> list[str]:
    """The secrets of which twelve characters in a row are somewhere in what was written."""
    whole = b"\n".join(written)
    return [one.name for one in planted if _middle(one).encode() in whole]


def _middle(planted: Planted) -> str:
    return planted.secret.strip("\n")[-12:] if "END" not in planted.after else planted.secret[20:32]


def _written(folder: Path) -> Iterator[bytes]:
    """Every byte of the files of a folder, and of the columns of its databases, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_relative_to(folder / "given"):
            yield path.read_bytes()
            if path.suffix == ".db":
                yield from _columns(path)


def _columns(path: Path) -> Iterator[bytes]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    if isinstance(value, str):
                        yield value.encode("utf-8", "surrogatepass")
                    elif isinstance(value, bytes):
                        yield value
                        if _MAGIC in value[:8]:
                            yield zstd.decompress(value[value.index(_MAGIC) :])
    database.close()


def _asserted(weaklink: Run, folder: Path, planted: Sequence[Planted]) -> None:
    """Nothing that the database gives out holds a secret."""
    ids = [json.loads(line)["id"] for line in weaklink("list", "--json", "--limit", "1000").stdout.splitlines()]
    assert ids
    numbers = [str(one) for one in ids]
    given = [weaklink("list").stdout, weaklink("list", "--json").stdout, weaklink("report", *numbers).stdout]
    given += [weaklink("export", *numbers, "--as", kind).stdout for kind in ("trace", "json", "markdown", "html")]
    given += [weaklink("export", *numbers, "--to", kind).stdout for kind in ("otlp", "messages")]
    given += [weaklink("show", number, "--full").stdout for number in numbers[:3]]
    given.append(weaklink("search", "secret").stdout)
    assert _left(planted, *given, *_written(folder)) == []


def test_nothing_of_a_recording_is_written(tmp_path: Path, weaklink: Run) -> None:
    texts = [one.text for one in _TEXTS]
    tool = {
        "type": "function",
        "function": {
            "name": "save",
            "description": f"Save it. {' '.join(one.text for one in _WORDS)}",
            "parameters": {"type": "object", "properties": {"x": {"type": "string", "default": _WORDS[3].text}}},
        },
    }
    key = _WORDS[0].text
    watch = ToldWatch()
    place = tmp_path / ".local" / "share" / "weaklink" / "weaklink.db"
    place.parent.mkdir(parents=True)
    sink = StoreSink(place)
    recorder = Recorder(sink, watch=watch)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"Use {_WORDS[1].text}"},
        {"role": "user", "content": "\n".join(texts)},
        {"role": "tool", "tool_call_id": _WORDS[5].text, "content": json.dumps({"stdout": "\n".join(texts)})},
    ]
    headers = (("Authorization", f"Bearer {key}"), ("X-Session-Id", _WORDS[2].text), ("Cookie", f"sid={key}"))
    more = {"tools": [tool], "user": _WORDS[6].text, "metadata": {"note": _WORDS[7].text}, "stop": [_WORDS[8].text]}
    path = f"/v1/chat/completions?key={_WORDS[9].text}&sig={_WORDS[10].secret}"
    call = Call(recorder, messages, headers=headers, more=more, path=path).answered()
    source = random.Random(5)
    for text in texts:
        call.sent(*_pieces(text + "\n", source, "content"), *_pieces(text + "\n", source, "reasoning_content"))
    arguments = json.dumps({"note": "\n".join(texts)})
    start = {"index": 0, "id": _WORDS[11].text, "type": "function", "function": {"name": "save", "arguments": ""}}
    call.sent(delta_event({"tool_calls": [start]}))
    for at in range(0, len(arguments), 7):
        delta = {"index": 0, "function": {"arguments": arguments[at : at + 7]}}
        call.sent(delta_event({"tool_calls": [delta]}))
    call.done("tool_calls")
    failed = Call(recorder, [{"role": "user", "content": _WORDS[12].text}], client="other").answered(
        401, kind="application/json"
    )
    message = f"Incorrect API key provided: {_WORDS[13].text}"
    failed.sent(json.dumps({"error": {"message": message, "code": _WORDS[14].text}}).encode())
    failed.ended(ExchangeEnd.COMPLETE)
    unknown = Call(recorder, [], client="third", path=f"/v1/models?key={_WORDS[15].text}").answered()
    unknown.ended(ExchangeEnd.COMPLETE)
    sink.flush()
    assert _left(_TEXTS, *_written(tmp_path)) == []
    recorder.close()
    sink.close()
    assert _left(_TEXTS, repr(watch).encode()) == []
    _asserted(weaklink, tmp_path, _TEXTS)


def _pieces(text: str, source: random.Random, name: str) -> list[bytes]:
    pieces, at = [], 0
    while at < len(text):
        size = source.randint(1, 9)
        pieces.append(delta_event({name: text[at : at + size]}))
        at += size
    return pieces


def test_nothing_of_a_logged_run_is_written(tmp_path: Path, weaklink: Run) -> None:
    place = tmp_path / ".local" / "share" / "weaklink" / "weaklink.db"
    place.parent.mkdir(parents=True)
    with TraceLogger(str(place), name=_WORDS[0].text, model="m") as logger:
        logger.system(_WORDS[1].text)
        for one in _TEXTS:
            logger.user(one.text)
            with logger.assistant(parameters={"user": _WORDS[2].text}) as turn:
                for sign in one.text:
                    turn.feed(sign)
                turn.feed(one.text, part="reasoning")
                turn.call("save", {"note": one.text})
            logger.tool({"stdout": f"total 1\n{one.text}"}, name=_WORDS[3].text)
        with logger.assistant() as turn:
            turn.abort(f"The key {_WORDS[4].text} is wrong")
    _asserted(weaklink, tmp_path, _TEXTS)


def _planted_in(value: Any, source: Iterator[Planted]) -> Any:
    """The JSON value with a secret behind every text that has words, also within JSON in its texts."""
    if isinstance(value, Mapping):
        return {name: _planted_in(one, source) for name, one in value.items()}
    if isinstance(value, list):
        return [_planted_in(one, source) for one in value]
    if not isinstance(value, str) or " " not in value:
        return value
    if value.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(_planted_in(json.loads(value), source))
        except ValueError:
            return value
    return f"{value}\n{next(source).text}"


def _round(seed: int) -> Iterator[Planted]:
    order = list(_TEXTS)
    random.Random(seed).shuffle(order)
    while True:
        yield from order


def _planted_file(path: Path, source: Iterator[Planted]) -> str | None:
    """A JSON or JSON lines file with secrets in it; None for another."""
    try:
        text = path.read_text("utf-8")
        lines = text.splitlines()
        if path.suffix == ".jsonl":
            return "".join(json.dumps(_planted_in(json.loads(line), source)) + "\n" for line in lines if line.strip())
        return json.dumps(_planted_in(json.loads(text), source))
    except ValueError:
        return None


def _plant_all(folder: Path, seed: int) -> int:
    """Every JSON case of every importer, with secrets in it, into a folder; how many."""
    source, count = _round(seed), 0
    for path in sorted(_CASES.rglob("*.json*")):
        planted = _planted_file(path, source) if path.suffix in {".json", ".jsonl"} else None
        if planted is not None:
            target = folder / path.relative_to(_CASES)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(planted, "utf-8")
            count += 1
    return count


def _import_and_check(tmp_path: Path, weaklink: Run, seed: int) -> None:
    given = tmp_path / "given"
    given.mkdir()
    assert _plant_all(given, seed) > 50
    said = weaklink("import", "given", "--jobs", "1", "--json")
    assert said.returncode == 0, said.stderr
    read = [str(one["path"]) for one in json.loads(said.stdout)["files"] if one.get("refused") is None]
    reports = [weaklink("check", "given", "--output", kind) for kind in ("text", "json", "sarif", "junit", "github")]
    weaklink("check", *read, "--write-baseline", str(tmp_path / "baseline.json"))
    assert (tmp_path / "baseline.json").exists()
    written = [*(one.stdout + one.stderr for one in (said, *reports)), weaklink("stats", "given").stdout]
    assert _left(_TEXTS, *written) == []
    _asserted(weaklink, tmp_path, _TEXTS)


def test_nothing_of_an_import_is_written_nor_of_a_check(tmp_path: Path, weaklink: Run) -> None:
    _import_and_check(tmp_path, weaklink, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_nothing_of_many_imports_is_written(tmp_path: Path, weaklink: Run, seed: int) -> None:
    _import_and_check(tmp_path, weaklink, seed)
