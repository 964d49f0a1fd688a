"""`check` does not pass what it did not read: records and files that could not be read fail it, wherever reported."""

import gzip
import io
import json
import os
import socket
import sqlite3
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.examples import one_in
from tests.importers.flow_files import flow, tnetstring
from tests.redaction.introductions import one_of_each_container
from tests.redaction.secrets_in_the_wild import FORMS
from tests.ui.conftest import START, Run, environment
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.storage.store import open_store
from weaklink.ui.cli.check_files import AdjoiningTexts

GOOD = '{"messages": [{"role": "user", "content": "Hé."}, {"role": "assistant", "content": "Hello."}]}'
CUT = GOOD[:60]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a good row and one that is cut off."""
    path = tmp_path / "log.jsonl"
    path.write_text(f"{GOOD}\n{CUT}\n", encoding="utf-8")
    return path


def listed_faults(run: Run, *words: str, code: int) -> list[tuple[str, str, int | None, int | None]]:
    done = run("check", "--output", "json", *words)
    assert done.returncode == code, done.stderr
    return [
        (diagnostic["code"], diagnostic["path"], diagnostic["line"], diagnostic["column"])
        for diagnostic in json.loads(done.stdout)["diagnostics"]
    ]


def broken_at(line: str) -> int:
    """The column that Python's own reader names."""
    with pytest.raises(json.JSONDecodeError) as error:
        json.loads(line)
    return error.value.colno


def test_a_row_that_is_cut_off_fails_at_its_line_and_column(weaklink: Run, log: Path) -> None:
    assert listed_faults(weaklink, "log.jsonl", code=1) == [("C511", "log.jsonl", 2, broken_at(CUT))]
    done = weaklink("check", "log.jsonl")
    assert done.returncode == 1
    assert f"log.jsonl:2:{broken_at(CUT)}" in done.stdout.decode()
    assert "1 trace in 1 file: 1 error" in done.stdout.decode()


def test_every_output_has_it_as_a_failure(weaklink: Run, log: Path) -> None:
    column = broken_at(CUT)
    sarif: dict[str, Any] = json.loads(weaklink("check", "log.jsonl", "--output", "sarif").stdout)
    (result,) = sarif["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (result["ruleId"], result["level"]) == ("C511", "error")
    assert (region["startLine"], region["startColumn"]) == (2, column)
    root = ET.fromstring(weaklink("check", "log.jsonl", "--output", "junit").stdout)
    assert (root.get("failures"), [failure.get("type") for failure in root.iter("failure")]) == (
        "1",
        ["C511 unreadable-record"],
    )
    (line,) = weaklink("check", "log.jsonl", "--output", "github").stdout.decode().splitlines()
    assert line.startswith(f"::error file=log.jsonl,line=2,endLine=2,col={column},")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--select", "J"), 1),
        (("--select", "C511"), 1),
        (("--fail-on", "info"), 1),
        (("--ignore", "C511"), 0),
        (("--ignore", "C"), 0),
        (("--allow-skipped",), 0),
        (("--fail-on", "never"), 0),
    ],
)
def test_only_what_names_it_lets_it_pass(weaklink: Run, log: Path, options: tuple[str, ...], code: int) -> None:
    assert weaklink("check", "log.jsonl", *options).returncode == code


def test_what_is_allowed_is_noted(weaklink: Run, log: Path) -> None:
    done = weaklink("check", "log.jsonl", "gone.jsonl", "--allow-skipped")
    assert done.returncode == 0
    assert [line.split(": ")[1] for line in done.stderr.decode().splitlines()] == ["log.jsonl:2", "gone.jsonl"]
    assert weaklink("check", "log.jsonl", "--allow-skipped", "--strict").returncode == 2
    log.with_name("weaklink.toml").write_text("allow-skipped = true\n")
    assert weaklink("check", "log.jsonl").returncode == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name", ["gone.jsonl", "notes.md", "empty.jsonl", "blank.jsonl", "closed.jsonl", "pipe", "socket"]
)
def test_a_named_file_that_could_not_be_read_fails(weaklink: Run, log: Path, name: str) -> None:
    path = log.with_name(name)
    match name:
        case "notes.md" | "empty.jsonl" | "blank.jsonl":
            path.write_text({"notes.md": "Only words.\n", "blank.jsonl": " \n\t\n"}.get(name, ""))
        case "closed.jsonl":
            path.symlink_to(path)  # a loop, which not even root can open
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
    log.write_text(f"{GOOD}\n")
    assert listed_faults(weaklink, "log.jsonl", name, code=1) == [("C513", name, 1, 1)]
    assert weaklink("check", "log.jsonl", name, "--allow-skipped").returncode == 0
    assert weaklink("check", name).returncode == 2


def test_a_file_of_no_source_in_a_folder_fails_only_with_strict(weaklink: Run, log: Path) -> None:
    folder = log.parent / "logs"
    folder.mkdir()
    (folder / "log.jsonl").write_text(f"{GOOD}\n")
    (folder / "notes.md").write_text("Only words.\n")
    os.mkfifo(folder / "pipe")
    for path in ("logs", "log*"):
        log.write_text(f"{GOOD}\n")
        assert listed_faults(weaklink, path, code=0) == []
        assert [code for code, *_ in listed_faults(weaklink, path, "--strict", code=1)] == ["C513", "C513"]
    assert listed_faults(weaklink, "logs/*", "--allow-skipped", code=0) == []
    assert [path for _, path, *_ in listed_faults(weaklink, "logs/*", code=1)] == ["logs/notes.md", "logs/pipe"]
    (folder / "log.jsonl").write_text(f"{GOOD}\n{CUT}\n")
    assert [code for code, *_ in listed_faults(weaklink, "logs", code=1)] == ["C511"]


def test_what_holds_no_request_to_a_model_is_no_failure(weaklink: Run, tmp_path: Path) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
    answered = {"choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]}

    def entry(path: str, body: str, answer: object) -> dict[str, Any]:
        request = {"method": "POST", "url": f"http://x{path}", "headers": [], "postData": {"text": body}}
        content = {"text": json.dumps(answer), "mimeType": "application/json"}
        return {"request": request, "response": {"status": 200, "headers": [], "content": content}}

    entries = [entry("/v1/chat/completions", json.dumps(asked), answered), entry("/telemetry", "{}", {})]
    har = tmp_path / "log.har"
    har.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    assert listed_faults(weaklink, "log.har", "--strict", code=0) == []
    entries.append(entry("/v1/chat/completions", json.dumps(asked)[:30], answered))
    har.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    assert [code for code, *_ in listed_faults(weaklink, "log.har", code=1)] == ["C511"]


def test_a_baseline_knows_it_wherever_it_moves_to(weaklink: Run, log: Path) -> None:
    assert weaklink("check", "log.jsonl", "--write-baseline", "known.json").returncode == 0
    log.write_text(f"{GOOD}\n{GOOD}\n{CUT}\n", encoding="utf-8")
    assert listed_faults(weaklink, "log.jsonl", "--baseline", "known.json", code=0) == []
    log.write_text(f"{CUT}\n{GOOD}\n{CUT}\n", encoding="utf-8")
    assert len(listed_faults(weaklink, "log.jsonl", "--baseline", "known.json", code=1)) == 1
    log.write_text(f"{GOOD}\n", encoding="utf-8")
    assert (
        b"1 fault of the baseline no longer occurs" in weaklink("check", "log.jsonl", "--baseline", "known.json").stderr
    )
    assert CUT[:30] not in log.with_name("known.json").read_text(), "a record may hold secrets"


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_and_the_shells_pipes_are_read(weaklink: Run, tmp_path: Path, log: Path, packed: bool) -> None:
    raw = gzip.compress(log.read_bytes()) if packed else log.read_bytes()

    command = ("check", "--output", "json")
    done = weaklink(*command, "-", stdin=raw)
    (payload,) = json.loads(done.stdout)["diagnostics"]
    assert (done.returncode, payload["path"], payload["line"]) == (1, "-", 2)
    reads, writes = os.pipe()
    os.write(writes, raw)
    os.close(writes)
    done = subprocess.run(
        [*START, *command, f"/dev/fd/{reads}"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        timeout=60,
        check=False,
        pass_fds=(reads,),
    )
    os.close(reads)
    (payload,) = json.loads(done.stdout)["diagnostics"]
    assert (done.returncode, payload["line"], payload["column"]) == (1, 2, broken_at(CUT))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("index", [1, 2, 3])
def test_entries_of_an_array_have_their_line_and_column(
    weaklink: Run, log: Path, indent: int | None, index: int
) -> None:
    entries = [json.dumps(json.loads(GOOD), indent=indent, ensure_ascii=False)] * 3
    entries[index - 1] = '"é no row"'
    text = "[" + ", ".join(entries) + "]\n"
    log.write_text(text, encoding="utf-8")
    before = text[: text.index('"é no row"')]
    location = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert listed_faults(weaklink, "log.jsonl", code=1) == [("C511", "log.jsonl", *location)]


@pytest.mark.parametrize("ending", ["", "\n"])
def test_an_array_that_is_not_closed_fails_at_the_end_of_the_file(weaklink: Run, log: Path, ending: str) -> None:
    log.write_text(f"[\n{GOOD},\n{GOOD}{ending}", encoding="utf-8")
    assert listed_faults(weaklink, "log.jsonl", code=1) == [("C511", "log.jsonl", 3, len(GOOD))]


@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github", "gitlab", "markdown"])
def test_a_secret_in_lines_that_are_no_records_is_not_shown(weaklink: Run, tmp_path: Path, output: str) -> None:
    body = ["".join(f"{(7 * line + offset) % 36:x}Q"[-2:] for offset in range(32)) for line in range(200)]
    lines = ["{bad", "-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----", "<parameter=password>"]
    lines += ["Tr0ub4dor&3xtra", "</parameter>", GOOD, '"api_key":', '  "hunter2hunter2"', "plain words"]
    (tmp_path / "log.jsonl").write_text("\n".join([GOOD, *lines]), encoding="utf-8")
    done = weaklink("check", "log.jsonl", "--output", output)
    assert done.returncode == 1
    said = (done.stdout + done.stderr).decode()
    assert not [secret for secret in (*body, "Tr0ub4dor", "hunter2") if secret in said]
    assert output != "text" or "plain words" in said


_INTRODUCED = ('{"password":\n', "<arg_key>password</arg_key>\n<arg_value>", "curl --password ", "api_key=")


@pytest.mark.parametrize("introduction", _INTRODUCED)
def test_a_secret_whose_name_stands_before_what_is_shown_is_not_shown(
    weaklink: Run, tmp_path: Path, introduction: str
) -> None:
    secret = '"Tr0ub4dorW3xtra"' if introduction.startswith("{") else "Tr0ub4dorW3xtra"
    entry = json.dumps(
        json.loads(Path("tests/cases/importers/har/browser.har").read_text("utf-8"))["log"]["entries"][0]
    )
    (tmp_path / "cut.har").write_text(
        f'{{"log": {{"version": "1.2", "creator": {{"name": "x"}}, "entries": [{entry},\n{introduction}{secret}'
    )
    (tmp_path / "document.json").write_text(f"[{GOOD},\n{introduction}{secret}")
    filler = "<i>" * 700
    for shown_from in (2_000, 2_003, 2_040):  # the piece that is shown begins before, at, and in the secret
        before = f'{{"a": "{filler}{introduction}'.replace("\n", " ").replace('{"password":', "password: ")
        rest = f"{secret} {'<b>' * 700}"[: shown_from + len(secret)].ljust(shown_from + len(secret), "-")
        (tmp_path / f"long{shown_from}.jsonl").write_text(f'{GOOD}\n{before}{rest}" nope}}\n')
    for output in ("text", "json", "sarif"):
        done = weaklink("check", ".", "--strict", "--output", output)
        assert b"C511" in done.stdout
        assert not [piece for piece in ("Tr0ub", "W3xtra") if piece in (done.stdout + done.stderr).decode()]


def _zipped(raw: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr("trace.har", raw)
    return packed.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zlib.compress, _zipped], ids=["plain", "gzip", "zlib", "zip"])
def test_a_broken_entry_of_a_har_document_is_told_with_its_line_and_column(
    weaklink: Run, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    good, *_ = json.loads(Path("tests/cases/importers/har/browser.har").read_text("utf-8"))["log"]["entries"]
    filler = json.dumps({"request": {"url": "http://x/" + "é" * 70_000}}, ensure_ascii=False)
    entries = [json.dumps(good), '   {"request": {"url": tru}}', '{"a": 1}', filler, '  {"b": nope}']
    text = '{"log": {"version": "1.2",\n "creator": {"name": "é"},\n "entries": [\n' + ",\n".join(entries) + "]}}"
    (tmp_path / "t.har").write_bytes(pack(text.encode()))
    lines = text.split("\n")
    columns = {number: lines[number - 1].find(word) + 1 for number, word in ((5, "tru}"), (6, "{"), (8, "nope"))}
    unread = [record for record in listed_faults(weaklink, "t.har", "--select", "C511", code=1) if record[0] == "C511"]
    assert unread == [("C511", "t.har", line, column) for line, column in columns.items()]


def test_a_damaged_flow_is_told_with_its_byte(weaklink: Run, tmp_path: Path) -> None:
    damaged = tnetstring({**flow(), "request": None})
    first = tnetstring(flow())
    (tmp_path / "t.mitm").write_bytes(first + damaged + b"no flow")
    done = weaklink("check", "t.mitm", "--select", "C511", "--output", "json")
    said = [(diagnostic["record"], diagnostic["message"]) for diagnostic in json.loads(done.stdout)["diagnostics"]]
    second = len(first) + len(damaged)
    assert [record for record, _ in said] == ["flow 2", "flow 3"]
    assert f"it begins at byte {len(first):,} of the content" in said[0][1]
    assert f"it begins at byte {second:,} of the content" in said[1][1]


def test_a_database_of_weaklink_points_to_the_list(weaklink: Run, tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db"):
        pass
    done = weaklink("check", "runs.db")
    assert done.returncode == 2
    assert b"a database of weaklink: `weaklink list --db FILE`" in b" ".join(done.stdout.split())
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE a (b)")
    assert b"weaklink list" not in weaklink("check", "other.db", "none.db").stderr


@pytest.mark.campaign
def test_a_line_with_a_secret_that_an_earlier_line_introduces_is_not_quoted() -> None:
    """The gate takes one form in five."""
    adjoining, number = AdjoiningTexts(), 0
    for form in one_in(5, (*FORMS, *one_of_each_container())):
        is_quoted = False
        for line in form.text.splitlines():
            number += 1
            is_quoted |= adjoining.is_clean(f"line {number}", line, "") and form.secret in line
        so_far = form.before + form.secret + form.after.partition("\n")[0]
        assert form.secret in Redactor().text(so_far) or not is_quoted, form
