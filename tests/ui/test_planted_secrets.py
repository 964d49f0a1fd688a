"""Secrets of every shape, planted in every place of every source, are in nothing that is written.

What is looked through: the database with its write-ahead log, packed columns unpacked, every export, the pages of the
dashboard, what `show`, `list`, `search`, `tail` and `report` print, what `check` reports and keeps as a baseline, and
what import and record say. Many secrets go in at once, and all that was written is looked through once.
"""

import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import psycopg.sql
import pytest

from benchmarks.postgresql_server import NOT_INSTALLED, new_database, programs, running_server
from tests.capture.recordings import Call, ToldWatch, delta_event
from tests.examples import one_in
from tests.redaction.introductions import one_of_each_container
from tests.redaction.planted import ALL, KEY_SHAPES, Planted
from tests.redaction.planting import Needles, plant_file, rounds, values_unpacked, written_in
from tests.redaction.rounds import planted
from tests.redaction.secrets_in_the_wild import FORMS, PEM_BLOCKS, PEM_LINES
from tests.ui.cli.test_import_watch import turns, until, watching
from tests.ui.conftest import Run
from tests.ui.web.apps import page
from weaklink.inspector import BaseParser, ToolCall, ToolCallParser
from weaklink.inspector.capture.logger import TraceLogger
from weaklink.inspector.capture.recorder import Recorder
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.sessions.exchange import ExchangeEnd
from weaklink.inspector.text import Range
from weaklink.storage.live import StoreSink

_CASES = Path("tests/cases/importers")


def _in_block(name: str, block: str, line: str) -> Planted:
    before, _, after = block.partition(line)
    return Planted(f"PEM, {name}", before, line, after)


_BLOCKS = tuple(_in_block(name, block, line) for name, block in PEM_BLOCKS.items() for line in PEM_LINES[:2])
_WILD = (
    *(form for form in (*FORMS, *one_of_each_container()) if len(form.secret) >= 12),
    *(form for form in planted() if len(form.secret) >= 10),
)
_TEXTS = (
    *(form for form in ALL if len(form.secret) >= 12),  # a shorter one may be somewhere by chance
    *_WILD,
    *_BLOCKS,
)
_WORDS = tuple(shape for shape in KEY_SHAPES if shape.secret.isascii())
_NEEDLES = Needles(_TEXTS)
_MARKER = re.compile(r"<\||<escape>|minimax")
_WHOLE_CALL = '<tool_call>\n{"name": "save", "arguments": {}}\n</tool_call>'  # a span that ends, whatever follows
_FEW = ("sharegpt", "claude-code", "openai-messages", "llm-database", "otlp")


def _given_out(weaklink: Run, folder: Path, *, most: int = 12) -> list[bytes]:
    """What every command gives of the traces of the database."""
    ids = [str(json.loads(line)["id"]) for line in weaklink("list", "--json", "--limit", "1000").stdout.splitlines()]
    assert ids
    some = ids[:most]
    given = [weaklink("list").stdout, weaklink("list", "--json").stdout, weaklink("search", "secret").stdout]
    given += [weaklink("export", *some, "--as", kind).stdout for kind in ("trace", "json", "markdown", "html")]
    given += [weaklink("export", *some, "--to", kind).stdout for kind in ("otlp", "messages")]
    given += [weaklink("show", number, "--full").stdout for number in some[:3]]
    assert all(given)
    report = weaklink("report", "--out", "report", "--worst", "3")
    assert report.returncode == 0, report.stderr
    assert (folder / "report" / "index.html").exists()
    return given


def _assert_clean(weaklink: Run, folder: Path, *more: bytes, most: int = 12) -> None:
    """Nothing that was written, or that the database gives out, holds a secret."""
    assert (
        _NEEDLES.left(*more, *_given_out(weaklink, folder, most=most), *written_in(folder, without=folder / "given"))
        == []
    )


def _place(folder: Path) -> Path:
    """Where commands look for the database."""
    location = folder / ".local" / "share" / "weaklink" / "weaklink.db"
    location.parent.mkdir(parents=True)
    return location


@pytest.mark.campaign
def test_what_is_looked_for_would_be_found() -> None:
    assert _NEEDLES.left(*(text.text.encode() for text in _TEXTS))
    for form in one_in(25, _TEXTS):
        assert _NEEDLES.left(b"x" + form.text.encode() + b"y"), form.name


def test_what_is_looked_for_is_in_no_other_text() -> None:
    redactor = Redactor()
    assert _NEEDLES.left(*(redactor.text(text.text).encode() for text in _TEXTS)) == []


_SHARES = 12


def _shares(own: int) -> list[Any]:
    """The parameter for each share of the texts; in the gate a test has its own."""
    return [pytest.param(share, marks=() if share == own else pytest.mark.slow) for share in range(_SHARES)]


def _recorded(recorder: Recorder, share: int) -> Call:
    """A request and an answer with every secret of a share of them in every place, which has not ended yet."""
    texts = [text.text for text in _TEXTS[share::_SHARES]]
    tool = {
        "type": "function",
        "function": {
            "name": "save",
            "description": f"Save it. {' '.join(word.text for word in _WORDS)}",
            "parameters": {"type": "object", "properties": {"x": {"type": "string", "default": _WORDS[3].text}}},
        },
    }
    key = _WORDS[0].text
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
    for text in (_WHOLE_CALL, *texts):
        call.sent(*_pieces(text + "\n", source, "content", 9), *_pieces(text + "\n", source, "reasoning_content", 60))
    arguments = json.dumps({"note": "\n".join(texts)})
    start = {"index": 0, "id": _WORDS[11].text, "type": "function", "function": {"name": "save", "arguments": ""}}
    call.sent(delta_event({"tool_calls": [start]}))
    for index in range(0, len(arguments), 7):
        delta = {"index": 0, "function": {"arguments": arguments[index : index + 7]}}
        call.sent(delta_event({"tool_calls": [delta]}))
    return call


def _failed(recorder: Recorder, share: int) -> None:
    """Requests that failed, with secrets in the errors, and one to no model."""
    failed = Call(recorder, [{"role": "user", "content": _WORDS[12].text}], client="other").answered(
        401, kind="application/json"
    )
    texts = "\n".join(text.text for text in _TEXTS[share::_SHARES])
    message = f"Incorrect API key provided: {_WORDS[13].text}\n{texts}"
    failed.sent(json.dumps({"error": {"message": message, "code": _WORDS[14].text}}).encode())
    failed.ended(ExchangeEnd.COMPLETE)
    unknown = Call(recorder, [], client="third", path=f"/v1/models?key={_WORDS[15].text}").answered()
    unknown.ended(ExchangeEnd.COMPLETE)


def _pieces(text: str, source: random.Random, name: str, most: int) -> list[bytes]:
    return [delta_event({name: piece}) for piece in _cut(text, source, most)]


def _cut(text: str, source: random.Random, most: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        size = source.randint(1, most)
        yield text[start : start + size]
        start += size


@pytest.fixture
def _main_as_it_was() -> Iterator[None]:
    """The module that Python began with; Streamlit puts the page's script in its place."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.mark.usefixtures("_main_as_it_was")
@pytest.mark.parametrize("share", _shares(0))
def test_nothing_of_a_recording_is_written_nor_shown_live(tmp_path: Path, weaklink: Run, share: int) -> None:
    watch, location = ToldWatch(), _place(tmp_path)
    sink = StoreSink(location)
    recorder = Recorder(sink, watch=watch)
    call = _recorded(recorder, share)
    until(lambda: len(watch.spans) > 0)
    sink.flush()
    live = [_drawn("traces", location), _drawn("trace", location, trace="1")]
    live.append(weaklink("show", "1", "--full").stdout)
    assert all(live)
    # By another process: where this one closes a file, SQLite's locks on it are gone.
    subprocess.run(["cp", "-r", str(location.parent), str(tmp_path / "copy")], check=True)
    assert list((tmp_path / "copy").glob("*-wal"))
    assert _NEEDLES.left(*live, *(path.read_bytes() for path in (tmp_path / "copy").iterdir())) == []
    call.done("tool_calls")
    _failed(recorder, share)
    recorder.close()
    sink.close()
    _assert_clean(weaklink, tmp_path, repr(watch).encode())


def _drawn(name: str, database: Path, **state: str) -> bytes:
    """All that a page of the dashboard sends to the browser."""
    app = page(name, database, **state)
    return b"".join(_sent(app.main)) + b"".join(_sent(app.sidebar))


def _sent(node: Any) -> Iterator[bytes]:
    yield node.proto.SerializeToString() if getattr(node, "proto", None) is not None else b""
    for child in getattr(node, "children", {}).values():
        yield from _sent(child)


@pytest.mark.parametrize("share", _shares(4))
def test_nothing_of_a_recording_is_written_to_postgresql(postgresql_url: str, share: int) -> None:
    sink = StoreSink(postgresql_url)
    recorder = Recorder(sink, watch=ToldWatch())
    _recorded(recorder, share).done("tool_calls")
    _failed(recorder, share)
    recorder.close()
    sink.close()
    assert _NEEDLES.left(*_rows_of(postgresql_url)) == []


@pytest.fixture(scope="module")
def postgresql_url() -> Iterator[str]:
    """An empty database on a real PostgreSQL server."""
    folder = programs()
    if folder is None:
        pytest.skip(NOT_INSTALLED)
    with running_server(folder) as server, new_database(server) as url:
        yield url


def _rows_of(url: str) -> Iterator[bytes]:
    """Every value of every table of a PostgreSQL database, unpacked."""
    with psycopg.connect(url) as database:
        tables = database.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        names = [str(name) for (name,) in tables]
        assert names
        for name in names:
            for row in database.execute(psycopg.sql.SQL("SELECT * FROM {}").format(psycopg.sql.Identifier(name))):
                yield from values_unpacked(map(_text_of, row))


def _text_of(value: object) -> object:
    return value if isinstance(value, bytes | memoryview | str) else str(value)


@pytest.mark.parametrize("share", _shares(8))
def test_nothing_of_a_logged_run_is_written(tmp_path: Path, weaklink: Run, share: int) -> None:
    source, texts = random.Random(7), [part.text for part in _TEXTS[share::_SHARES]]
    with TraceLogger(str(_place(tmp_path)), name=_WORDS[0].text, model="m") as logger:
        logger.system(_WORDS[1].text)
        for index in range(0, len(texts), 20):
            text = "\n".join(texts[index : index + 20])
            logger.user(text)
            with logger.assistant(parameters={"user": _WORDS[2].text}) as turn:
                for piece in _cut(text, source, 9):
                    turn.feed(piece)
                turn.feed(text, part="reasoning")
                turn.call("save", {"note": text})
            logger.tool({"stdout": f"total 1\n{text}"}, name=_WORDS[3].text)
        with logger.assistant() as turn:
            turn.abort(f"The key {_WORDS[4].text} is wrong")
    _assert_clean(weaklink, tmp_path)


def _call(parser: BaseParser, source: Iterator[Planted], number: int) -> str:
    """A call with up to so many secrets in its argument: those that its format can write."""
    texts = [next(source).text for _ in range(number)]
    return parser.format(_saving(_note(parser, "Note:", [text for text in texts if not _MARKER.search(text)])))


def _note(parser: BaseParser, note: str, texts: Sequence[str]) -> str:
    """The note with those of the texts that the format can write after it; halves where it cannot write all."""
    longer = "\n".join((note, *texts))
    if _can_write(parser, longer):
        return longer
    if len(texts) == 1:
        return note
    middle = len(texts) // 2
    return _note(parser, _note(parser, note, texts[:middle]), texts[middle:])


def _saving(note: str) -> ToolCall:
    return ToolCall("save", {"note": note}, "", valid=True, range=Range(0, 0))


def _can_write(parser: BaseParser, note: str) -> bool:
    try:
        parser.format(_saving(note))
    except ValueError:
        return False
    return True


def _plant_formats(target: Path, seed: int, number: int) -> None:
    """A call in each format with so many secrets in its arguments, as completions."""
    source = rounds(_TEXTS, seed)
    with target.open("w", encoding="utf-8") as file:
        for form in formats():
            call = _call(ToolCallParser.create(form.name), source, number)
            said = f"{next(source).text}\n{call}"
            file.write(
                json.dumps({"prompt": f"Save {next(source).text}", "completion": said, "format": form.name}) + "\n"
            )


def _plant_all(folder: Path, seed: int) -> int:
    """Every case of every importer, with secrets in it, into a folder; how many."""
    source, count = rounds(_TEXTS, seed), 0
    for path in sorted(_CASES.rglob("*")):
        if path.is_file() and path.suffix != ".expected":
            count += plant_file(path, folder / path.relative_to(_CASES), source)
    return count


def _import_and_check(tmp_path: Path, weaklink: Run, seed: int, *, most: int, names: Sequence[str]) -> None:
    given = tmp_path / "given"
    given.mkdir()
    assert _plant_all(given, seed) > 120
    (given / "formats").mkdir()
    _plant_formats(given / "formats" / "calls.jsonl", seed, most * 5)
    said = weaklink("import", "given", "--jobs", "1", "--json")
    assert said.returncode == 0, said.stderr
    files = [str(file["path"]) for file in json.loads(said.stdout)["files"] if file.get("refused") is None]
    read = {Path(path).parts[1] for path in files}
    assert read >= {path.name for path in _CASES.iterdir() if path.is_dir()}
    folders = [f"given/{name}" for name in (names or sorted(read))]
    kinds = ("text", "sarif") if names else ("text", "json", "sarif", "junit", "github")
    reports = [weaklink("check", *folders, "--output", kind) for kind in kinds]
    known = [path for path in files if not names or Path(path).parts[1] in names]
    weaklink("check", *known, "--write-baseline", str(tmp_path / "baseline.json"))
    assert (tmp_path / "baseline.json").exists()
    piped = (given / "formats" / "calls.jsonl").read_bytes()
    reports += [
        weaklink("stats", *folders),
        weaklink("data", "annotate", *folders),
        weaklink("import", "-", stdin=piped),
    ]
    _assert_clean(weaklink, tmp_path, *(command.stdout + command.stderr for command in (said, *reports)), most=most)


def test_nothing_of_an_import_is_written_nor_of_a_check(tmp_path: Path, weaklink: Run) -> None:
    _import_and_check(tmp_path, weaklink, 1, most=4, names=_FEW)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_nothing_of_many_imports_is_written(tmp_path: Path, weaklink: Run, seed: int) -> None:
    _import_and_check(tmp_path, weaklink, seed, most=120, names=())


@pytest.mark.slow
def test_nothing_of_an_import_is_written_to_postgresql(tmp_path: Path, weaklink: Run, postgresql_url: str) -> None:
    given = tmp_path / "given"
    given.mkdir()
    assert _plant_all(given, 12) > 120
    (given / "formats").mkdir()
    _plant_formats(given / "formats" / "calls.jsonl", 12, 600)
    said = weaklink("import", "given", "--jobs", "1", "--json", "--db", postgresql_url)
    assert said.returncode == 0, said.stderr
    read = {Path(file["path"]).parts[1] for file in json.loads(said.stdout)["files"] if file.get("refused") is None}
    assert read >= {path.name for path in _CASES.iterdir() if path.is_dir()}
    assert _NEEDLES.left(said.stdout, said.stderr, *_rows_of(postgresql_url)) == []


def _has_turns(database: Path, count: int) -> bool:
    return turns(database) == [count]


def test_nothing_of_what_is_watched_is_written(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    source = rounds(_TEXTS, 3)
    rows = [
        {"role": role, "content": "\n".join(next(source).text for _ in range(40))} for role in ("user", "assistant") * 8
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with watching(tmp_path, "given") as process:
        for end in (len(lines) // 3, 2 * len(lines) // 3, len(lines)):
            (given / "chat.jsonl").write_bytes(lines[:end])  # cut within a secret
            until(partial(_has_turns, tmp_path / "t.db", lines[:end].count(b"\n")))
            assert _NEEDLES.left(*written_in(tmp_path, without=given)) == []
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert _NEEDLES.left(out, err, *written_in(tmp_path, without=given)) == []


_NINTHS = [
    pytest.param(format.name, ninth, marks=() if ninth == number % 9 else pytest.mark.slow)
    for number, format in enumerate(formats())
    for ninth in range(9)
]
"""Each format with each ninth of the texts; in the gate one of the nine, by turns: each text in seven formats."""


@pytest.mark.parametrize(("name", "ninth"), _NINTHS)
def test_every_secret_goes_in_the_calls_of_every_format(name: str, ninth: int) -> None:
    """By itself the redactor, so that all can be tried."""
    texts = _TEXTS[ninth::9]
    text = _call(ToolCallParser.create(name), iter(texts), len(texts))
    redacted = Redactor().text(text)
    assert _NEEDLES.left(redacted.encode()) == []
    assert len(redacted) == len(text)
