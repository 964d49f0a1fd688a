"""The blocks that say what they need are run, by a reader who has it."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.commands import Block, blocks
from tests.docs.reader import (
    OTHERS,
    Reader,
    command_lines,
    is_serving,
    reason_not_to_run,
    running_model,
)
from tests.docs.site import ROOT
from tests.docs.test_commands import PAGES
from tests.journeys.story import PYTHON
from tests.journeys.story import started as started_server
from tests.ui.conftest import run_text


def marked(page: Path) -> list[Block]:
    return [
        block
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.is_shell and not block.title and not block.is_session
    ]


def is_of_an_api(page: Path) -> bool:
    """Whether the programs on a page speak other APIs than OpenAI's chat completions."""
    return page.parent.name == "sdks" or page.stem == "coding-agents"


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


SLOW = {
    *("examples/README.md", "docs/scaling.md", "docs/replay.md", "docs/experiments-walkthrough.md"),
    *("docs/cases/two-runs.md", "docs/cases/which-provider.md", "docs/ci.md", "docs/coding-agents.md"),
    *("docs/experiments.md", "docs/team.md"),
    *(
        f"docs/sdks/{sdk}.md"
        for sdk in ("anthropic", "google-genai", "langchain", "ollama", "openai", "openai-agents", "pydantic-ai")
    ),
    *(f"docs/servers/{server}.md" for server in ("llama-cpp", "ollama", "openrouter", "sglang", "vllm")),
}
"""Pages on which an agent runs a dozen times, its SDK takes seconds to import, or Ray starts; the pages on SDKs
and servers, whose programs the journeys run."""

FRESH = {"docs/experiments-walkthrough.md"}
"""Pages whose reader has no database yet."""

RECORDED = {"docs/cases/two-runs.md", "docs/experiments.md"}
"""Pages whose reader has recorded an agent before."""

EXIT_CODES = {
    r"weaklink check logs/": {0, 1},
    r"AGENT_PROMPT=\"Answer in one word\.\" weaklink replay": {3},
    r"weaklink replay latest -- python3 agent\.py": {0, 3},
}
"""What else a command may end with: a fault in the logs, an agent that asked for something else."""


MARKED = [page for page in PAGES if marked(page)]


@pytest.fixture(scope="module")
def story_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The model of the journeys, which speaks the API of each SDK."""
    assert Path(PYTHON).exists(), "the SDKs are not installed; `make build/clients/installed` installs them"
    command = [sys.executable, str(ROOT / "tests" / "journeys" / "model_server.py")]
    with started_server(command, tmp_path_factory.mktemp("model"), r"(http://\S+)") as (_, address):
        yield address


@pytest.fixture
def weather_url() -> Iterator[str]:
    with running_model() as address:
        yield address


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs, training data, and a database of them, made by weaklink."""
    home = tmp_path_factory.mktemp("prepared")
    shutil.copytree(ROOT / "sample_traces", home / "logs", ignore=shutil.ignore_patterns("*.py", "*.md", "py.typed"))
    shutil.copytree(home / "logs", home / "bucket" / "runs")
    assert run_text(home, "import", "logs").returncode == 0
    for name, cities in (("train", ("Oslo", "Rome", "Bodø")), ("test", ("Lima",)), ("training", ("Quito", "Turin"))):
        (home / f"{name}.jsonl").write_text("".join(training_row(city) for city in cities), encoding="utf-8")
    return home


def training_row(city: str) -> str:
    function = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    messages = [
        {"role": "user", "content": f"How warm is it in {city} today, and does it rain there?"},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"celsius": 12, "sky": "rain"}'},
        {"role": "assistant", "content": f"It is 12 degrees in {city}, and it rains."},
    ]
    return json.dumps({"messages": messages, "tools": [{"type": "function", "function": tool}]}) + "\n"


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if name(page) in SLOW else ()) for page in MARKED],
    ids=name,
)
def test_marked_blocks_do_what_they_say(
    page: Path, tmp_path: Path, prepared: Path, weather_url: str, story_url: str
) -> None:
    if name(page) in FRESH:
        (tmp_path / "project").mkdir()
    else:
        shutil.copytree(prepared, tmp_path / "project")
    reader = Reader(tmp_path / "project", story_url if is_of_an_api(page) else weather_url, page)
    if name(page) in RECORDED:
        assert reader.run("weaklink run -- python agent.py").returncode == 0
    failures = []
    for block in marked(page):
        with ExitStack() as beside:
            for line in command_lines(block):
                if reason_not_to_run(line):
                    continue
                if line == "weaklink show latest --db runs.db":  # as the program above it on the page records
                    assert reader.run("python agent.py --record runs.db").returncode == 0
                if "weaklink tui" in line:
                    reader.look_at(line)
                elif is_serving(line):
                    beside.enter_context(reader.beside(line))
                else:
                    done = reader.run(line)
                    codes = next((codes for start, codes in EXIT_CODES.items() if re.match(start, line)), {0})
                    if done.returncode not in codes:
                        failures.append(
                            f"{line}: exit code {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}"
                        )
    assert not failures, "\n".join(failures)


def test_each_reason_not_to_run_a_line_has_a_line() -> None:
    lines = [line for page in MARKED for block in marked(page) for line in command_lines(block)]
    reasons = {reason_not_to_run(line) for line in lines}
    assert set(OTHERS.values()) - reasons == set()


def test_no_command_of_weaklink_is_left_out() -> None:
    left = [
        line
        for page in MARKED
        for block in marked(page)
        for line in command_lines(block)
        if reason_not_to_run(line) and re.search(r"(^|[;&|] |/)weaklink [a-z]", line)
    ]
    assert left == []
