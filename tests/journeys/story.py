"""What every story has: a model, an SDK, a way to record it, and what its user expects to find afterwards.

    SDK                     run   record   weaklink.record(client)      weaklink.record(client, "x.jsonl"), import
    openai, sync and async  yes   yes      the client                   the same
    openai, Responses       yes   yes      the client                   the same
    anthropic, ollama       yes   yes      the client                   the same
    google-genai            yes   yes      its `httpx_client`           the same
    LangChain               yes   yes      its model's `root_client`    the same
    pydantic-ai             yes   yes      the client of its provider   the same
    openai-agents           yes   yes      the client of its model      the same

No combination is impossible. A malformed call cannot be sent on Ollama's and Gemini's wires, whose arguments are
objects: Ollama's server leaves it in the text, and Gemini's returns MALFORMED_FUNCTION_CALL instead.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[2]
WEAKLINK = str(Path(sys.executable).with_name("weaklink"))
PYTHON = str(ROOT / "build" / "clients" / "bin" / "python")
AGENTS = Path(__file__).with_name("agents")
NOBODY = "http://127.0.0.1:9"
"""Where no server listens."""
TIMEOUT_S = 120
Trace: TypeAlias = dict[str, Any]
"""A trace as `list --json` prints it."""

SDKS = (
    "openai_chat",
    "openai_async",
    "openai_responses",
    "anthropic_messages",
    "google_genai",
    "ollama_chat",
    "langchain_openai_chat",
    "pydantic_ai_agent",
    "openai_agents_run",
)
WAYS = ("run", "record", "in-process", "trace-file")
QUESTION = "How warm is it in the north?"
SECOND_QUESTION = "And is it raining there?"


@dataclass(frozen=True)
class Expected:
    """What a user expects to find: the status of each trace, why, and how many calls."""

    status: str
    calls: int
    code: str = ""
    reason: str = ""
    traces: int = 1
    is_answered: bool = False


STORIES = {
    "answered": Expected("ok", 1, is_answered=True),
    "two-calls": Expected("ok", 2, is_answered=True),
    "odd-arguments": Expected("ok", 3, is_answered=True),
    "malformed": Expected("broken", 1, "J104", "trailing-comma"),
    "unanswered": Expected("broken", 1, "T404", "never got a result"),
    "refused": Expected("aborted", 0, "C505", "--enable-auto-tool-choice"),
    "slow-down": Expected("ok", 1, is_answered=True),
    "unreachable": Expected("aborted", 0, "C505", "onnection"),
    "cut": Expected("aborted", 1, "C504"),
    "two-agents": Expected("ok", 1, traces=2, is_answered=True),
}

_REFUSED_BY_GEMINI = Expected("broken", 1, "J101", "MALFORMED_FUNCTION_CALL")


@dataclass
class Recorded:
    """A story that was recorded: the agent's output, and the traces that `list --json` prints, the newest first."""

    home: Path
    database: Path
    model_url: str
    sdk: str
    story: str
    way: str
    agent: "subprocess.CompletedProcess[str]"
    traces: list[Trace] = field(default_factory=list)

    @property
    def expected(self) -> Expected:
        """What its user expects to find."""
        refused = self.sdk == "google_genai" and self.story == "malformed"
        return _REFUSED_BY_GEMINI if refused else STORIES[self.story]

    @property
    def ids(self) -> list[str]:
        """The numbers of the traces."""
        return [str(trace["id"]) for trace in self.traces]

    @property
    def upstream(self) -> str:
        """Where the agent's server is, or would be."""
        return NOBODY if self.story == "unreachable" else self.model_url

    def weaklink(self, *words: str, status: int = 0) -> str:
        """What the command prints, on this story's database; it must end with this status."""
        done = weaklink(self.home, *words, "--db", str(self.database))
        assert done.returncode == status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout


def variables(home: Path, url: str = "") -> dict[str, str]:
    """The environment of a user whose home is `home`, and whose clients go to the server at `url`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEAKLINK", "XDG", "PYTHON"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM"):
        kept.pop(name, None)
    given = {"HOME": str(home), "PYTHONUTF8": "1"}
    given |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none")
    if url:
        given |= {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url, "OLLAMA_HOST": url}
        given["GOOGLE_GEMINI_BASE_URL"] = url
    return kept | given


def weaklink(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The installed command, run to its end."""
    return _run([WEAKLINK, *words], home, variables(home))


def agent_command(sdk: str, story: str, *words: str) -> list[str]:
    """The command of an agent, with one question or, for two agents at once, with two."""
    questions = [QUESTION, SECOND_QUESTION] if story == "two-agents" else [QUESTION]
    model = "answered" if story == "unreachable" else story
    return [PYTHON, str(AGENTS / f"{sdk}.py"), model, *questions, *words]


def _run(command: list[str], home: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def record_story(home: Path, database: Path, model_url: str, *, sdk: str, story: str, way: str) -> Recorded:
    """Let the agent run while it is recorded in this way, and list what is in the database then."""
    upstream = NOBODY if story == "unreachable" else model_url
    before = _listed(home, database)
    match way:
        case "run":
            words = ["run", "--check", "--db", str(database), "--upstream", upstream, "--"]
            agent = weaklink(home, *words, *agent_command(sdk, story))
        case "record":
            with recording_proxy(home, database, upstream) as address:
                agent = _run(agent_command(sdk, story), home, variables(home, address))
        case "in-process":
            command = agent_command(sdk, story, "--record", str(database))
            agent = _run(command, home, variables(home, upstream))
        case _:
            file = home / "recorded.jsonl"
            command = agent_command(sdk, story, "--record", str(file))
            agent = _run(command, home, variables(home, upstream))
            done = weaklink(home, "import", str(file), "--db", str(database))
            assert done.returncode == 0, (done.stderr, agent.stderr)
    known = {trace["id"] for trace in before}
    recorded = Recorded(home, database, model_url, sdk, story, way, agent)
    recorded.traces = [trace for trace in _listed(home, database) if trace["id"] not in known]
    return recorded


def _listed(home: Path, database: Path) -> list[Trace]:
    if not database.exists():
        return []
    done = weaklink(home, "list", "--json", "--db", str(database))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def recording_proxy(home: Path, database: Path, upstream: str) -> Iterator[str]:
    """The address of `weaklink record`, which is ended with Ctrl-C afterwards."""
    command = [WEAKLINK, "record", "--port", "0", "--upstream", upstream, "--db", str(database)]
    with started(command, home, r"records at (http://\S+)") as (process, address):
        yield address
        process.send_signal(2)
        assert process.wait(TIMEOUT_S) == 0


@contextmanager
def started(command: list[str], home: Path, said: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A process that runs until the end of the block, as soon as it printed what the pattern `said` finds."""
    process = subprocess.Popen(
        command,
        cwd=home,
        env=variables(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if match := re.search(said, line):
                break
        else:
            raise AssertionError(f"{command} ended: {''.join(lines)}")
        reader = Thread(target=process.stdout.read)
        reader.start()
        yield process, match[1]
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(TIMEOUT_S)
        process.stdin.close()
        if "reader" in locals():
            reader.join(TIMEOUT_S)
        process.stdout.close()
