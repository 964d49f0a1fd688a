"""Every command that prints JSON has a schema, and what it prints has exactly the keys of that schema."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import jsonschema  # type: ignore[import-untyped]  # no stubs installed
import pytest
from click.testing import CliRunner
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]  # the same
from msgspec.structs import replace
from tokenizers import Tokenizer, models

from tests.capture.upstream import Answer, Drop, Framing, running_upstream
from tests.ui.experiments import asking
from tests.ui.experiments.test_doctor import recorded
from weaklink.inspector.capture.replay_server import ReplayServer
from weaklink.inspector.chain.steps import Status
from weaklink.inspector.importers.reading import read_source
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.inspector.model.exchange import RecordedExchange
from weaklink.inspector.probe.judging import Owner, ProbeFinding
from weaklink.inspector.probe.measures import compare_endpoints, measure, paired_json, summary_json
from weaklink.inspector.probe.results import ProbeMode, ProbeRecord
from weaklink.inspector.redaction.redactor import Redactor
from weaklink.inspector.replay.matching import Recording, ReplayDivergence, Replayer
from weaklink.storage.access_tokens import TokenRole
from weaklink.storage.store import open_store
from weaklink.ui.cli.group import COMMANDS, LazyGroup, weaklink
from weaklink.ui.cli.reference import OUTPUTS, schema_of
from weaklink.ui.cli.replaying import KeptDivergence, report_json
from weaklink.ui.cli.tail import TailReader, put_object
from weaklink.ui.experiments.doctor import CommandRun, compare_runs, comparison_json
from weaklink.ui.json_types.runs import InjectionJson

ROOT = Path(__file__).parents[3]
SAMPLES = sorted(map(str, (ROOT / "sample_traces").glob("*.jsonl")))
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
ROWS = [
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}], "tools": TOOLS}
    for text in ('<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>', "Hello.")
]

Json = Any


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[Json]]:
    """What each command prints over the sample traces, as values."""
    folder = tmp_path_factory.mktemp("schemas")
    db, rows = str(folder / "t.db"), folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    bad = folder / "bad.txt"
    bad.write_text("no log", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder))
        patched.setenv("HOME", str(folder))
        return {
            "import": _printed("import", *SAMPLES, str(rows), str(bad), "--db", db),
            "list": _printed("list", "--db", db),
            "search": _printed("search", "weather", "--db", db),
            "show": [
                document for id_ in range(1, len(SAMPLES) + 2) for document in _printed("show", str(id_), "--db", db)
            ],
            "stats": [*_printed("stats", "--db", db), *_printed("stats", "--db", db, "--by", "model")],
            "diff": [*_printed("diff", "1", "2", "3", "--db", db), *_printed("diff", "4", "9", "--db", db)],
            "diff task": _printed("diff", "--filter", "model:*", "--db", db),
            "rule": [*_printed("rules", "J104"), *_printed("rules", "D701")],
            "rules": _printed("rules"),
            "formats": _printed("formats"),
            "formats detect": _printed("formats", "--detect", stdin="<tool_call>{}</tool_call>"),
            "import discover": _discovered(folder),
            "segment": [
                *_printed("segment", stdin='a<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>'),
                *_printed("segment", stdin="<think>hm</think>hello <tool_call>"),
            ],
            "db stats": _printed("db", "stats", "--db", db),
            "db check": _printed("db", "check", "--db", db),
            "db token list": _listed_tokens(folder),
            "db copy": _printed("db", "copy", db, str(folder / "copy.db")),
            "check": _printed("check", *SAMPLES, str(bad), json_option=("--output", "json")),
            "tail": _tailed(folder),
            "ask": _asked(folder),
            "doctor": _compared(),
            "probe": _probed(),
            "replay": _replayed(),
            "serve": _replayed(),
            "replay inject": _injected(),
            "replay inject all": [
                [*_injected(), {"kind": "wrong-format", "status": "not possible", "reason": "it has no place"}]
            ],
            "data score": _printed("data", "score", str(rows)),
            "data report": [*_printed("data", "report", str(rows)), *_grouped_reports(folder)],
            "data fix": _printed("data", "fix", str(rows)),
            "data verify": _printed("data", "verify", str(rows)),
            "data lint": _printed("data", "lint", str(rows), json_option=("--output", "json")),
        }


def _grouped_reports(folder: Path) -> list[Json]:
    """Reports by group, with a budget of tokens, goals and a second set, and that on a set without rows."""
    arguments = '{"a": {"b": [1]}}'
    called = {"id": "c1", "type": "function", "function": {"name": "g", "arguments": arguments}}
    rows = [
        {**ROWS[1], "source": "x"},
        {
            "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "tool_calls": [called]}],
            "type": "single_tool_call",
            "tools": [],
        },
    ]
    path, goals, tokenizer = folder / "grouped.jsonl", folder / "goals.json", folder / "tokenizer.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "empty.jsonl").write_text("", encoding="utf-8")
    goals.write_text('{"steps": {"1": 0.5}, "should_call": {"yes": 0.4}, "languages": {"en": 1.0}}', encoding="utf-8")
    Tokenizer(models.WordLevel({"?": 0}, unk_token="?")).save(str(tokenizer))
    options = ("--by", "source", "--goals", str(goals), "--tokenizer", str(tokenizer), "--max-tokens", "9")
    return [
        *_printed("data", "report", str(path), *options, "--against", str(folder / "rows.jsonl")),
        *_printed("data", "report", str(folder / "empty.jsonl")),
    ]


def _discovered(folder: Path) -> list[Json]:
    log = folder / ".claude" / "projects" / "shop" / "1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"type": "user"}\n', encoding="utf-8")
    return _printed("import", "--discover", "--db", str(folder / "discovered.db"))


def _listed_tokens(folder: Path) -> list[Json]:
    where = str(folder / "tokens.db")
    with open_store(where) as store:
        store.tokens.create("ann", TokenRole.WRITE)
        store.tokens.create("bob", TokenRole.READ)
        store.tokens.revoke("bob")
    return _printed("db", "token", "list", "--db", where)


def _printed(*words: str, stdin: str = "", json_option: Sequence[str] = ("--json",)) -> list[Json]:
    done = CliRunner().invoke(weaklink, [*words, *json_option], input=stdin)
    assert done.stdout, (words, done.output, done.exception)
    try:
        return [json.loads(done.stdout)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in done.stdout.splitlines()]


def _asked(folder: Path) -> list[Json]:
    """What `ask` prints of a comparison, and of the original alone; half of the answers break off."""
    (folder / "asked").mkdir()
    location, broken = asking.database(folder / "asked"), asking.said("openai", broken=True)
    cut = Answer((broken.body[:40], Drop()), headers=broken.headers, framing=Framing.CHUNKED)
    with running_upstream(broken, cut, broken, cut, broken) as upstream:
        words = ("ask", "1", "--upstream", upstream.url, "--yes", "-n", "3", "--parallel", "1", "--db", location)
        return [*_printed(*words), *_printed(*words, "--set", "temperature=0", "--max-requests", "3")]


def _compared() -> list[Json]:
    """What `doctor` prints of equal runs, of runs that part within a text, and of one that ends early."""

    def runs(*planted: tuple[str, int], kept: int = 2) -> list[CommandRun]:
        result = enumerate((recorded(kind, "openai", number) for kind, number in planted), 1)
        traces = ((1, Status.OK),)
        return [
            CommandRun(run_number, "r", 0, traces, made[:kept] if run_number > 1 else made)
            for run_number, made in result
        ]

    compared = (
        runs(("none", 1), ("none", 2)),
        runs(("clock", 1), ("clock", 2)),
        runs(("tools", 1), ("tools", 2)),
        runs(("none", 1), ("none", 1), kept=1),
        [*runs(("none", 1), ("none", 1), kept=1)[::-1]],
    )
    return [json.loads(write_json(comparison_json(compare_runs(pair)))) for pair in compared]


def _replayed() -> list[Json]:
    """What `replay` and `serve` print of a run that is like the recorded one, and of one that is not."""
    recorded, later = (_said(f"It is 2026-01-0{day} 10:00.") for day in (1, 2))
    exchanges = [RecordedExchange("POST", "/v1/chat/completions", request=json.dumps(recorded).encode())] * 3
    collected: list[Json] = []
    for said, kept in ((later, None), ({**_said("Be brief."), "seed": 1}, KeptDivergence(1, 2, 3, 2))):
        server = ReplayServer(Replayer(Recording(tuple(exchanges), (None,) * 3)), Redactor())
        for path in ("/v1/chat/completions", "/v1/messages"):
            position = server.replayer.find("POST", path, json.dumps({**said, "user": "u"}).encode())
            server.divergences += [position] if isinstance(position, ReplayDivergence) else []
        collected.append(report_json(server, server.replayer.never_made(), 3, kept))
    return [json.loads(json.dumps(document)) for document in collected]


def _said(system: str) -> dict[str, Json]:
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": "Hi"}]}


def _probed() -> list[Json]:
    """What `probe --json` prints of one endpoint, and of two."""
    finding = ProbeFinding("id-missing", Owner.SERVER, "The answer has no `id`.", "An answer has an `id`.")
    record = ProbeRecord(1, "one-call-1", "one call", ProbeMode.STREAMED, "h", "m", True, "tool_calls", True)
    records = [
        replace(record, wants_call=True, right=True, has_tools=True, first_token_ms=2.5, findings=(finding,)),
        replace(record, number=2, hash="i", finish_reason="length", tool_calls_valid=None),
    ]
    summary = summary_json(records, measure(records), url="http://a", model="m", suite=["built-in"])
    none = summary_json([], measure([]), url="http://b", model="", suite=[])
    paired = paired_json(compare_endpoints(records, records))
    collected = [{"endpoints": [summary], "paired": []}, {"endpoints": [summary, none], "paired": paired}]
    return [json.loads(json.dumps(value)) for value in collected]


def _injected() -> list[Json]:
    """What `replay --inject` prints of a fault that was found, and of one that was never sent."""
    sent: InjectionJson = {
        "kind": "malformed-json",
        "turn": 3,
        "rules": ["J103"],
        "found": ["J103"],
        "status": "recovered",
        "exit_code": 0,
        "was_sent": True,
    }
    result: list[Json] = json.loads(json.dumps([sent, {**sent, "rules": [], "found": [], "was_sent": False}]))
    return result


def _tailed(folder: Path) -> list[Json]:
    """What `tail --json` prints of traces that come."""
    traces = [record for path in SAMPLES for record in read_source(Path(path)).records if isinstance(record, Trace)]
    with open_store(folder / "tail.db") as store:
        following = store.follow("", from_start=True)
        following.poll()
        store.save((trace, inspect_trace(trace)) for trace in traces)
        runner = CliRunner()
        with runner.isolation() as streams:
            reader = TailReader(store, put_object)
            while events := following.poll():
                reader.consume(events)
            printed = streams[0].getvalue().decode()
    return [json.loads(line) for line in printed.splitlines()]


def test_what_commands_print_has_exactly_the_keys_of_their_schemas(outputs: Mapping[str, Sequence[Json]]) -> None:
    for name, values in outputs.items():
        assert values, name
        schema = schema_of(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(_closed(schema))
        for value in values:
            error = best_match(validator.iter_errors(value))
            assert error is None, f"{name}: {error.json_path}: {error.message[:500]}"


def test_every_command_with_json_has_a_schema_and_every_schema_is_tried(
    outputs: Mapping[str, Sequence[Json]],
) -> None:
    assert set(OUTPUTS) == set(outputs)
    without = {"sql"}  # whose members are the columns of the query
    assert {name for name in _with_json(weaklink, ()) if name not in outputs} == without


def _with_json(group: LazyGroup, above: tuple[str, ...]) -> Iterator[str]:
    table = COMMANDS if group is weaklink else None
    context = click.Context(group)
    for name in table or group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _with_json(command, (*above, name))  # type: ignore[arg-type]  # a group of either kind
        elif command is not None and any(
            "--json" in option.opts and option.name == "as_json" for option in command.params
        ):
            yield " ".join((*above, name))


def test_the_command_prints_and_lists_schemas() -> None:
    runner = CliRunner()
    assert "db stats\n" in runner.invoke(weaklink, ["schema"]).stdout
    printed = json.loads(runner.invoke(weaklink, ["schema", "db", "stats"]).stdout)
    assert "size_bytes" in printed["$defs"]["DatabaseStatsJson"]["properties"]
    wrong = runner.invoke(weaklink, ["schema", "nothing"])
    assert wrong.exit_code == 2
    assert "there is no schema for `nothing`" in wrong.stderr


def _closed(schema: Json) -> Json:
    """The schema with no further keys in any object that has known ones."""
    if isinstance(schema, list):
        return [_closed(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) for key, value in schema.items()}
    return inner | ({"additionalProperties": False} if isinstance(schema.get("properties"), dict) else {})
