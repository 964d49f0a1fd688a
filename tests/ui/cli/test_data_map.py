"""`--map`: rows whose members have other names, in every command that reads rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.ui.conftest import Run
from weaklink.inspector.dataset.rows import open_row_file
from weaklink.inspector.model import Json

TOOL: Json = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALL = {"name": "get_weather", "arguments": {"city": "Oslo"}}
ANSWER = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
DIALOG: list[Json] = [
    {"role": "user", "content": "Weather in Oslo?"},
    {"role": "assistant", "content": ANSWER},
    {"role": "tool", "content": '{"celsius": 18}'},
    {"role": "assistant", "content": "It is 18 degrees."},
]


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


ALL = {"inject": ("--only-injected", "--jobs", "2"), "negatives": ("--only-negatives",)}
COMMANDS = ("lint", "score", "report", "verify", "inject", "negatives", "render")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("command", "options"), [*((name, ALL.get(name, ())) for name in COMMANDS), ("lint", ("--jobs", "2"))]
)
def test_every_command_reads_members_by_other_names(
    weaklink: Run, tmp_path: Path, command: str, options: tuple[str, ...]
) -> None:
    path = write(tmp_path / "a.jsonl", {"talk": DIALOG, "apis": [TOOL]})
    mapped = weaklink("data", command, path, "--map", "talk=messages,apis=tools", *options)
    (tmp_path / "other").mkdir()
    renamed = write(tmp_path / "other" / "a.jsonl", {"messages": DIALOG, "tools": [TOOL]})  # a seed depends on the name
    plain = weaklink("data", command, renamed, *options)
    assert mapped.returncode == plain.returncode == 0
    assert mapped.stdout == plain.stdout.replace(b"/other/", b"/")
    refused = weaklink("data", command, path, *options)
    assert b"no conversation" in refused.stderr + refused.stdout
    assert refused.returncode != 0 or command in ("inject", "negatives")  # these copy every row


def test_a_refusal_s_mapping_reads_the_row(weaklink: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"user_query": "Weather in Oslo?", "calls": [CALL], "functions": [TOOL]})
    refused = weaklink("data", "verify", path)
    assert refused.returncode == 2
    mapping = refused.stderr.decode().partition("--map ")[2].partition("`")[0]
    assert mapping == "user_query=query,calls=answers,functions=tools"
    done = weaklink("data", "verify", path, "--map", mapping)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"1 of 1 candidate passed" in done.stderr


BROKEN = ANSWER.replace('"Oslo"}', '"Oslo",}')


@pytest.mark.parametrize("layout", ["jsonl", "json"])
def test_fix_repairs_a_member_of_another_name_and_changes_nothing_else(
    weaklink: Run, tmp_path: Path, layout: str
) -> None:
    rows = [
        {"id": 1, "messages": "a note", "talk": [DIALOG[0], {"role": "assistant", "content": BROKEN}], "apis": [TOOL]},
        {"id": 2, "talk": DIALOG, "apis": [TOOL]},
    ]
    path = tmp_path / f"a.{layout}"
    text = "".join(json.dumps(row) + "\n" for row in rows) if layout == "jsonl" else json.dumps(rows, indent=1)
    path.write_text(text, encoding="utf-8")
    done = weaklink("data", "fix", str(path), "--map", "talk=messages,apis=tools", "--output", str(tmp_path / "fixed"))
    assert done.returncode == 0, done.stderr
    assert b"1 repair" in done.stderr
    assert (tmp_path / "fixed").read_text(encoding="utf-8") == text.replace(json.dumps(BROKEN), json.dumps(ANSWER))


@pytest.mark.parametrize(
    "row",
    [
        {"instruction": "Weather in Oslo?", "input": "", "output": BROKEN},
        {"prompt": [DIALOG[0]], "completion": [{"role": "assistant", "content": BROKEN}], "tools": [TOOL]},
        {"prompt": [DIALOG[0]], "chosen": [{"role": "assistant", "content": BROKEN}], "rejected": [DIALOG[3]]},
    ],
    ids=["instruction", "completion", "chosen"],
)
def test_fix_repairs_rows_of_other_shapes(weaklink: Run, tmp_path: Path, row: dict[str, Any]) -> None:
    path = write(tmp_path / "a.jsonl", row)
    done = weaklink("data", "fix", path, "--output", str(tmp_path / "fixed"))
    assert done.returncode == 0, done.stderr
    before = Path(path).read_text(encoding="utf-8")
    assert (tmp_path / "fixed").read_text(encoding="utf-8") == before.replace(json.dumps(BROKEN), json.dumps(ANSWER))


def test_fix_repairs_a_table_under_its_own_names(weaklink: Run, tmp_path: Path) -> None:
    path, copy = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    with open_row_file(path) as writer:
        writer.write({"talk": DIALOG, "apis": [TOOL], "type": 1})
        writer.write({"talk": [DIALOG[0], {"role": "assistant", "content": BROKEN}, *DIALOG[2:]], "apis": [TOOL]})
    done = weaklink("data", "fix", path, "--map", "talk=messages,apis=tools", "--output", copy)
    assert done.returncode == 0, done.stderr
    before, after = parquet.read_table(path), parquet.read_table(copy)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.slice(0, 1) == before.slice(0, 1)
    assert after["talk"][1].as_py()[1]["content"] == ANSWER


@pytest.mark.parametrize("layout", ["jsonl", "json"])
def test_convert_reads_members_by_other_names(weaklink: Run, tmp_path: Path, layout: str) -> None:
    path = tmp_path / f"a.{layout}"
    row = {"talk": DIALOG, "apis": [TOOL]}
    path.write_text(json.dumps(row if layout == "jsonl" else [row]) + "\n", encoding="utf-8")
    done = weaklink("data", "convert", str(path), "--to", "llama3", "--map", "talk=messages,apis=tools")
    assert done.returncode == 0, done.stderr
    assert "get_weather" in json.loads(done.stdout)["messages"][-3]["content"]


@pytest.mark.parametrize("options", [(), ("--jobs", "2")])
def test_annotate_reads_members_by_other_names(weaklink: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    path = write(tmp_path / "a.jsonl", {"talk": DIALOG, "apis": [TOOL]}, {"other": 1})
    done = weaklink("data", "annotate", path, "--map", "talk=messages,apis=tools", *options)
    assert done.returncode == 1
    (line,) = done.stdout.decode().splitlines()
    assert [step["tool"] for step in json.loads(line)["steps"]] == ["get_weather"]
    assert b"no conversation among `other`" in done.stderr


@pytest.mark.parametrize("text", ["query", "=prompt", "query="])
def test_a_mapping_needs_both_names(weaklink: Run, tmp_path: Path, text: str) -> None:
    done = weaklink("data", "score", write(tmp_path / "a.jsonl", {"messages": DIALOG}), "--map", text)
    assert done.returncode == 2
    assert b"NAME=MEMBER" in done.stderr


@pytest.mark.parametrize("command", ["lint", "score", "verify"])
def test_a_set_without_a_call_that_could_be_read_ends_with_a_warning(
    weaklink: Run, tmp_path: Path, command: str
) -> None:
    talk = [DIALOG[0], {"role": "assistant", "content": "CALL get_weather WITH Oslo"}]
    without = weaklink("data", command, write(tmp_path / "a.jsonl", {"messages": talk, "tools": [TOOL]}))
    assert b"no call could be read in any row" in without.stderr
    done = weaklink("data", command, write(tmp_path / "b.jsonl", {"messages": DIALOG, "tools": [TOOL]}))
    assert b"no call could be read" not in done.stderr


@pytest.mark.parametrize("command", ["lint", "verify"])
@pytest.mark.parametrize("tools", [[], "[]"])
def test_calls_of_no_offered_tool_are_reported_once(weaklink: Run, tmp_path: Path, command: str, tools: object) -> None:
    rows = [{"id": number, "messages": DIALOG, "tools": tools} for number in range(3)]
    done = weaklink("data", command, write(tmp_path / "a.jsonl", *rows))
    assert done.returncode == 1
    assert done.stderr.count(b"3 of 3") == 1
    assert b"calls without any tool on offer in" in done.stderr


QUESTION = "Which of the two ferries from Moss to Horten leaves first on a Sunday morning in March"
LEAKS = {
    "the message": ([QUESTION], True),
    "one of several messages": (["Hi.", QUESTION], True),
    "a run of words": (
        ["Please: which of the two ferries from Moss to Horten leaves first on a Sunday?"],
        True,
    ),
    "a short message": (["Hi."], False),
    "other words": (["Which of the three buses from Moss to Oslo leaves first on a Monday evening in May"], False),
}


@pytest.mark.parametrize("case", LEAKS)
@pytest.mark.parametrize(
    "evaluation",
    [
        {
            "question": [[{"role": "user", "content": QUESTION}], [{"role": "user", "content": "Hi."}]],
            "function": [TOOL],
        },
        {"query": f"Hi. {QUESTION}?", "answers": [], "tools": [TOOL]},
        {"messages": [{"role": "user", "content": "Hi."}, DIALOG[3], {"role": "user", "content": QUESTION}]},
    ],
    ids=["bfcl", "xlam", "messages"],
)
def test_every_user_message_is_compared_with_the_evaluation_set(
    weaklink: Run, tmp_path: Path, case: str, evaluation: dict[str, Any]
) -> None:
    texts, leaks = LEAKS[case]
    talk = [message for text in texts for message in ({"role": "user", "content": text}, DIALOG[3])]
    path = write(tmp_path / "a.jsonl", {"messages": talk})
    done = weaklink("data", "lint", path, "--eval", write(tmp_path / "eval.jsonl", evaluation), "--select", "D716")
    assert (b"D716" in done.stdout) is leaks
    assert b"--eval: 1 row read" in done.stderr


def test_an_evaluation_set_that_cannot_be_read_is_refused(weaklink: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"messages": DIALOG, "tools": [TOOL]})
    done = weaklink("data", "lint", path, "--eval", write(tmp_path / "eval.jsonl", {"x": 1}))
    assert done.returncode == 2
    assert b"no conversation among `x`" in done.stderr
    mixed = write(tmp_path / "mixed.jsonl", {"x": 1}, {"messages": DIALOG})
    done = weaklink("data", "lint", path, "--eval", mixed)
    assert b"--eval: 1 row read, 1 could not be read" in done.stderr
