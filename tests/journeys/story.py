"""What every story has: a model, an SDK, a way to record it, and what its user expects to find afterwards.

    SDK                     run   record   weaklink.record(client)      weaklink.record(client, "x.jsonl"), import
    openai, sync and async  yes   yes      the client                   the same
    openai, Responses       yes   yes      the client                   the same
    anthropic, ollama       yes   yes      the client                   the same
    google-genai            yes   yes      its `httpx_client`           the same
    LangChain               yes   yes      its model's `root_client`    the same
    pydantic-ai             yes   yes      the client of its provider   the same
    openai-agents           yes   yes      the client of its model      the same

An agent on openai that writes everything down itself, with a `weaklink.TraceLogger`, is recorded into a database and
into a trace file. What its SDK reports is not a server's answer, but an error that the agent met (C504).

In the gate, an agent runs in a process that begins with its SDK loaded (`agents/forking.py`), but for those that
`weaklink run` starts, and a command that ends by itself in one that begins with its modules loaded. `make test-slow`
starts each anew.

No combination is impossible. A malformed call cannot be sent on Ollama's and Gemini's wires, whose arguments are
objects: Ollama's server leaves it in the text, and Gemini's returns MALFORMED_FUNCTION_CALL instead.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, TypeAlias

from hypothesis import settings

from tests.ui.conftest import started as started_command

ROOT = Path(__file__).parents[2]
WEAKLINK = str(Path(sys.executable).with_name("weaklink"))
PYTHON = str(ROOT / "build" / "clients" / "bin" / "python")
AGENTS = Path(__file__).with_name("agents")
NOBODY = "http://127.0.0.1:9"
"""Where no server listens."""
TIMEOUT_S = 120
_IS_GATE = settings().derandomize
_STARTED_ANEW = ("run", "replay", "doctor")
"""Commands that start agents and wait for them."""
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
LOGGER = "openai_logger"
"""The agent that writes down what happens itself; no proxy records it."""
WAYS = ("run", "record", "in-process", "trace-file")


def questions(story: str) -> tuple[str, ...]:
    """What the agent of a story is asked; each question is the name of its trace."""
    first = f"{story}: how warm is it in the north?"
    return (first, f"{story}: and is it raining there?") if story == "two-agents" else (first,)


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

_EXCEPTIONS = {
    ("google_genai", "malformed"): Expected("broken", 1, "J101", "MALFORMED_FUNCTION_CALL"),
    (LOGGER, "refused"): Expected("aborted", 0, "C504", "--enable-auto-tool-choice"),
    (LOGGER, "unreachable"): Expected("aborted", 0, "C504", "onnection"),
}


@dataclass
class Recorded:
    """A story that was recorded: the agent's output, and the traces that `list --json` prints, the newest first.

    `agent` is the process that told this story and perhaps others; `said` is what this story printed, and `all_said`
    what each printed. `stories` are those of the process.
    """

    home: Path
    database: Path
    model_url: str
    sdk: str
    story: str
    way: str
    stories: tuple[str, ...]
    agent: "subprocess.CompletedProcess[str]"
    traces: list[Trace] = field(default_factory=list)

    @property
    def said(self) -> str:
        """What the agent printed in this story."""
        return sections(self.agent.stdout)[self.story]

    @property
    def expected(self) -> Expected:
        """What its user expects to find."""
        return expected_of(self.sdk, self.story)

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


def expected_of(sdk: str, story: str) -> Expected:
    """What the user of an SDK expects to find after a story."""
    return _EXCEPTIONS.get((sdk, story), STORIES[story])


def sections(output: str) -> dict[str, str]:
    """What an agent printed in each story; see `agents/several_stories.py`."""
    _, *parts = re.split(r"(?m)^# ([\w-]+): .*\n", output)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def variables(home: Path, url: str = "") -> dict[str, str]:
    """The environment of a user whose home is `home`, and whose clients go to the server at `url`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEAKLINK", "XDG", "PYTHON"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM"):
        kept.pop(name, None)
    given = {"HOME": str(home), "PYTHONUTF8": "1"}
    given |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "none")
    return kept | given | (_addresses(url) if url else {})


def _addresses(url: str) -> dict[str, str]:
    """The variables that lead clients to the server at `url`."""
    names = ("ANTHROPIC_BASE_URL", "OLLAMA_HOST", "GOOGLE_GEMINI_BASE_URL")
    return {"OPENAI_BASE_URL": f"{url}/v1", **dict.fromkeys(names, url)}


def weaklink(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The installed command, run to its end."""
    if not _IS_GATE or words[0] in _STARTED_ANEW:
        return _run([WEAKLINK, *words], home, variables(home))
    done = started_command().run(words, stdin=b"", folder=home, variables=variables(home), timeout_s=TIMEOUT_S)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def agent_command(sdk: str, *stories: str, nobody: str = "", is_anew: bool = False) -> list[str]:
    """The command of an agent for some stories, one after the other; two agents at once have two questions.

    The story of a server that cannot be reached looks for it at `nobody`, if that is not where the others have theirs.
    With `is_anew`, and outside of the gate, its process imports the SDK.
    """
    words: list[str] = []
    for story in stories:
        is_unreachable = story == "unreachable"
        words += ["+", *(f"{name}={value}" for name, value in _addresses(nobody).items() if nobody and is_unreachable)]
        words += ["answered" if is_unreachable else story, *questions(story)]
    return [*start_of_agent(sdk, is_anew=is_anew), *words[1:]]


def start_of_agent(sdk: str, *, is_anew: bool = False) -> list[str]:
    """The command of an agent, before its stories."""
    return [*start_of_script(sdk, AGENTS / "several_stories.py", is_anew=is_anew), f"{sdk}.py"]


def start_of_script(sdk: str, script: Path, *, is_anew: bool = False) -> list[str]:
    """The command of a program that imports the SDK."""
    if is_anew or not _IS_GATE:
        return [PYTHON, str(script)]
    return [sys.executable, "-I", "-S", str(AGENTS / "forking.py"), _loaded(sdk), "--", str(script)]


loaded_sdk = ExitStack()
"""Ends the process that has an SDK loaded."""


@lru_cache(maxsize=1)
def _loaded(sdk: str) -> str:
    """Where the process listens that has this SDK loaded; it ends when another SDK is wanted."""
    loaded_sdk.close()
    home = Path(loaded_sdk.enter_context(TemporaryDirectory()))
    path = str(home / "agents")
    command = [PYTHON, str(AGENTS / "forking.py"), path, f"{sdk}.py"]
    loaded_sdk.enter_context(started(command, home, "(listening)"))
    return path


def _run(command: list[str], home: Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def record_stories(
    home: Path, database: Path, model_url: str, *, sdk: str, stories: Iterable[str], way: str, last_id: int = 0
) -> dict[str, Recorded]:
    """Let an agent run while it is recorded in this way; `run` has one server, so that it runs once for each.

    `last_id` is the largest number of a trace in the database so far.
    """
    different = tuple(dict.fromkeys(stories))
    alone = tuple(story for story in different if story == "unreachable" and way == "run")
    recorded: dict[str, Recorded] = {}
    for together in (alone, tuple(story for story in different if story not in alone)):
        if not together:
            continue
        agent = _recorded_agent(home, database, model_url, sdk, together, way=way)
        for story in together:
            recorded[story] = Recorded(home, database, model_url, sdk, story, way, together, agent)
    listed = listed_traces(home, database)
    for story, recording in recorded.items():
        recording.traces = [trace for trace in listed if trace["id"] > last_id and trace["title"] in questions(story)]
    return recorded


def _recorded_agent(
    home: Path, database: Path, model_url: str, sdk: str, stories: tuple[str, ...], *, way: str
) -> "subprocess.CompletedProcess[str]":
    match way:
        case "run":
            upstream = NOBODY if stories == ("unreachable",) else model_url
            command = agent_command(sdk, *stories, is_anew=True)
            return weaklink(home, "run", "--check", "--db", str(database), "--upstream", upstream, "--", *command)
        case "record":
            with (
                recording_proxy(home, database, model_url) as address,
                recording_proxy(home, database, NOBODY) if "unreachable" in stories else nullcontext("") as nobody,
            ):
                return _run(agent_command(sdk, *stories, nobody=nobody), home, variables(home, address))
        case "in-process":
            command = [*agent_command(sdk, *stories, nobody=NOBODY), "--record", str(database)]
            return _run(command, home, variables(home, model_url))
        case _:
            file = home / "recorded.jsonl"
            command = [*agent_command(sdk, *stories, nobody=NOBODY), "--record", str(file)]
            agent = _run(command, home, variables(home, model_url))
            done = weaklink(home, "import", str(file), "--db", str(database))
            assert done.returncode == 0, (done.stderr, agent.stderr)
            return agent


def listed_traces(home: Path, database: Path) -> list[Trace]:
    """What `list --json` prints."""
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
