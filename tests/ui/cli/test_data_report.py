"""`weaklink data report` with groups, goals of one's own, and a limit of tokens."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.ui.conftest import Run

TOOL = {"name": "f", "description": "It", "parameters": {"type": "object", "properties": {}}}
CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def row(source: str | None, *answers: str) -> dict[str, Any]:
    talk = [{"role": "user", "content": "Do it."}, *({"role": "assistant", "content": text} for text in answers)]
    return {"messages": talk, "tools": [TOOL], **({"source": source} if source is not None else {})}


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(data_row) + "\n" for data_row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write(
        tmp_path / "a.jsonl",
        row("web", CALL),
        row("web", "No."),
        row("web", CALL),
        row("human", "No."),
        row(None, CALL),
    )


@pytest.mark.parametrize("options", [(), ("--jobs", "2")])
def test_the_rows_of_each_source_are_measured(weaklink: Run, rows: str, options: tuple[str, ...]) -> None:
    done = weaklink("data", "report", rows, "--by", "source", "--json", *options)
    assert done.returncode == 0, done.stderr
    by = json.loads(done.stdout)["by"]
    assert by["column"] == "source"
    assert {name: group["samples"] for name, group in by["groups"].items()} == {"web": 3, "(none)": 1, "human": 1}
    assert by["groups"]["web"]["shares"]["should_call"] == pytest.approx({"yes": 2 / 3, "no": 1 / 3})
    alone = weaklink("data", "report", rows, "--json")
    assert {**json.loads(done.stdout), "by": None} == {**json.loads(alone.stdout), "by": None}


def test_the_table_and_the_page_have_a_line_for_each_source(weaklink: Run, rows: str, tmp_path: Path) -> None:
    lines = weaklink("data", "report", rows, "--by", "source").stdout.decode().splitlines()
    web = next(line for line in lines if line.startswith("web")).split()
    assert web[1:5] == ["3", "2", "100%", "33%"]
    weaklink("data", "report", rows, "--by", "source", "--html", str(tmp_path / "a.html"))
    assert "<h2>By source</h2>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_goals_of_a_file_replace_the_recommended_ones(weaklink: Run, rows: str, tmp_path: Path) -> None:
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"should_call": {"yes": 0.6}, "languages": {"en": 0.5}, "error_recovery": 0.1}))
    value = json.loads(weaklink("data", "report", rows, "--goals", str(goals), "--json").stdout)
    assert value["recommended"] == {"should_call": {"yes": 0.6}, "languages": {"en": 0.5}, "error_recovery": 0.1}
    assert value["deviations"]["should_call"] == {"yes": 0.0}
    assert value["deviations"]["error_recovery"] == -0.1
    text = weaklink("data", "report", rows, "--goals", str(goals)).stdout.decode()
    assert "at least 10%" in text
    assert "--list steps=" not in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", "expected an object"),
        ('{"step": {}}', "`step` is none of `tools`"),
        ('{"steps": {"4": 0.5}}', "not `4`"),
        ('{"steps": {"1": 50}}', "`steps.1` must be a share from 0 to 1"),
        ('{"error_recovery": true}', "`error_recovery` must be a share"),
        ("{", "cannot read the goals"),
    ],
)
def test_goals_that_cannot_be_read_are_refused(
    weaklink: Run, rows: str, tmp_path: Path, content: str, says: str
) -> None:
    goals = tmp_path / "goals.json"
    goals.write_text(content)
    done = weaklink("data", "report", rows, "--goals", str(goals))
    assert done.returncode == 2
    assert says in done.stderr.decode()


def test_a_limit_of_tokens_counts_what_it_cuts_and_packs(weaklink: Run, tmp_path: Path) -> None:
    words = tmp_path / "tokenizer.json"
    tokenizer = Tokenizer(models.WordLevel({"x": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(words))
    bare = [
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "x " * n}]} for n in (1, 6)
    ]
    path = write(tmp_path / "a.jsonl", *bare)
    done = weaklink("data", "report", path, "--tokenizer", str(words), "--max-tokens", "12", "--json")
    budget = json.loads(done.stdout)["budget"]
    assert (budget["samples_cut"], budget["tokens"], budget["tokens_cut"], budget["packed_sequences"]) == (1, 25, 3, 2)
    text = weaklink("data", "report", path, "--tokenizer", str(words), "--max-tokens", "12").stdout.decode()
    assert "limit of 12 tokens: cuts 1 sample and 3 of 25 tokens; packed, the set is 2 sequences, 91.7% full" in text
    refused = weaklink("data", "report", path, "--max-tokens", "12")
    assert refused.returncode == 2
    assert b"--tokenizer" in refused.stderr


@pytest.mark.parametrize("options", [(), ("--jobs", "2")])
def test_a_chat_template_gives_the_lengths_of_its_own_text(
    weaklink: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    template = tmp_path / "chat.jinja"
    template.write_text(
        "{% for tool in tools or [] %}tool {{ tool.function.name }} {% endfor %}"
        "{% for message in messages %}{% if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "begin {{ message.role }} : {{ message.content }} end {% endfor %}"
    )
    chat = [{"role": "user", "content": "a b c"}, {"role": "assistant", "content": "d"}]
    path = write(
        tmp_path / "a.jsonl",
        {"messages": chat},
        {
            "messages": chat,
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        },
        {"messages": [{"role": "system", "content": "x"}, *chat]},
    )
    words = ("--tokenizer", str(tmp_path / "tokenizer.json"), "--chat-template", str(template), *options)
    done = weaklink("data", "report", path, *words, "--max-tokens", "13", "--json")
    assert done.returncode == 0, done.stderr
    payload = json.loads(done.stdout)
    rendered = weaklink("data", "render", path, *words)
    lengths = [json.loads(line)["tokens"] for line in rendered.stdout.splitlines()]
    assert lengths == [12, 14]
    assert payload["lengths"]["tokens"] == {"median": 12, "p95": 12, "max": 14}
    assert (payload["samples"], payload["budget"]["tokens"], payload["budget"]["samples_cut"]) == (3, 26, 1)
    assert b"1 row without a length: the chat template refuses them; the first: " in done.stderr
    assert b"no system" in done.stderr
    refused = weaklink("data", "report", path, "--chat-template", str(template))
    assert refused.returncode == 2
    assert b"--tokenizer" in refused.stderr
