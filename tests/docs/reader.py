"""A reader with an agent, a model and logs, who runs the blocks of the pages that say what they need.

Nothing of a page's `weaklink` is replaced but addresses: each server that a page names is one on loopback that plays a
model, `agent.py` is a real agent on a real SDK, and `logs/`, `train.jsonl` and the database hold the sample traces. A
command that serves until it is ended runs beside the lines behind it, and is interrupted at the end of the block.
`claude`, `gemini` and `qwen` are agents that speak the same API by the vendor's own SDK.
Lines that install or start somebody else's product are not run: `OTHERS` says which, and why. None of them is a
command of weaklink.
"""

import json
import os
import re
import runpy
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.docs.commands import Block
from tests.docs.site import ROOT
from tests.journeys.story import AGENTS, PYTHON
from tests.ui.cli.test_discovery import CASES, put_logs
from tests.ui.conftest import environment, started
from tests.ui.tui.terminals import terminal

TIMEOUT_S = 120
AGENT_OF_PAGE = {
    "anthropic": "anthropic_messages",
    "google-genai": "google_genai",
    "langchain": "langchain_openai_chat",
    "ollama": "ollama_chat",
    "openai": "openai_chat",
    "openai-agents": "openai_agents_run",
    "pydantic-ai": "pydantic_ai_agent",
}
"""The agent in tests/journeys that is on the SDK of each page in docs/sdks."""

CODING_AGENTS = {"claude": "anthropic_messages", "gemini": "google_genai", "qwen": "openai_chat"}
"""The agent in tests/journeys that speaks the API of each coding agent which `weaklink run` starts on a page."""

_CODING_AGENTS = "a coding agent: `make test-agents` runs it against a scripted model, recorded"
OTHERS = {
    r"(pip|pipx|uv tool) install ": "an installation: tests/test_wheel.py installs the wheel",
    r"pytest examples/": "a test: tests/replay/test_example.py runs it",
    r"(VLLM_LOGGING_LEVEL=DEBUG )?vllm serve ": "vLLM needs a GPU",
    r"python -m sglang": "SGLang needs a GPU",
    r"llama-server ": "llama.cpp: `make test-llama` runs it",
    r"podman build |WEAKLINK_TOKEN=word WEAKLINK_UPSTREAM=": "an image: tests/test_image.py reads what makes it",
    r"curl --data-binary": "Phoenix: `make test-phoenix` sends it the same export",
    r"LLM_\S+ .*openhands": "a coding agent of half a gigabyte: no test runs it",
    r"codex ": "a coding agent that needs an account: no test runs it",
    r"(pi|opencode|cline|cn|openclaw|hermes|OPENAI_\S+ .*mini|COPILOT_\S+ .*copilot) ": _CODING_AGENTS,
}
"""What begins a line that is not run, and why."""

_SERVES = re.compile(
    r"(weaklink (record|web|tail)\b|podman run |python examples/unreliable_model\.py|weaklink replay .*--serve)"
)
_SERVER = re.compile(
    r"https?://(127\.0\.0\.1|localhost):(8000|8080|8123|11434|30000)\b"
    r"|https://(api\.openai\.com|openrouter\.ai|harbour\.example|lagoon\.example)"
)


def reason_not_to_run(line: str) -> str:
    """Why a line is left out, or ""."""
    return next((reason for start, reason in OTHERS.items() if re.match(start, line)), "")


def command_lines(block: Block) -> list[str]:
    """The commands of a block, without its comments and without what they print."""
    lines = block.body.splitlines()
    if any(line.startswith("$ ") for line in lines):
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ") and line != "$ echo $?"]
    return [line for line in lines if line and not line.startswith("#")]


class Model(BaseHTTPRequestHandler):
    """The model of the examples, with what a server publishes about itself; its weather is always asked in JSON."""

    def do_GET(self) -> None:
        """The template and the models."""
        models = {"object": "list", "data": [{"id": "model", "object": "model"}]}
        raw = json.dumps({"chat_template": _CHAT_TEMPLATE} if self.path == "/props" else models).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@contextmanager
def running_model() -> Iterator[str]:
    """The address of a server that plays the model of the examples."""
    examples = runpy.run_path(str(ROOT / "examples" / "unreliable_model.py"))
    handler = type("Handler", (examples["_Handler"], Model), {"model": examples["UnreliableModel"](1)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Reader:
    """A folder with what the pages take for granted, and a shell in it."""

    def __init__(self, folder: Path, model_url: str, page: Path) -> None:
        self._folder, self._model_url, self._port = folder, model_url, _free_port()
        self._exports: dict[str, str] = {}
        programs = folder / "bin"
        program = f'exec {shlex.quote(sys.executable)} -c "from weaklink.command import main; main()" "$@"'
        write_program(programs / "weaklink", program)
        write_program(programs / "python", f'exec {shlex.quote(PYTHON)} "$@"')
        write_program(programs / "python3", f'exec {shlex.quote(PYTHON)} "$@"')
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / "agent.py").write_text(_agent(page), encoding="utf-8")
        (folder / "chat_template.jinja").write_text(_CHAT_TEMPLATE, encoding="utf-8")
        (folder / "answer.txt").write_text('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>', "utf-8")
        put_logs(folder)
        shutil.copy(CASES / "vllm" / "details.log", folder / "vllm.log")
        openclaw = folder / ".openclaw/agents/main/agent"
        openclaw.mkdir(parents=True)
        shutil.copy(CASES / "openclaw" / "agent.sqlite", openclaw / "openclaw-agent.sqlite")
        for agent, journey in CODING_AGENTS.items():
            script = folder / f"{agent}.py"
            script.write_text(_on_sdk(journey), encoding="utf-8")
            write_program(programs / agent, f"exec {shlex.quote(PYTHON)} {shlex.quote(str(script))}")
        addresses = {
            "OPENAI_BASE_URL": f"{model_url}/v1",
            "ANTHROPIC_BASE_URL": model_url,
            "GOOGLE_GEMINI_BASE_URL": model_url,
            "OLLAMA_HOST": model_url,
        }
        keys = {f"{name}_API_KEY": "none" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
        path = f"{programs}:{os.environ['PATH']}"
        terminal = {"COLUMNS": "84", "TERM": "xterm", "NO_COLOR": "1", "TZ": "UTC", "PATH": path}
        self._variables = environment(folder, **addresses, **keys, **terminal)

    def run(self, line: str) -> "subprocess.CompletedProcess[str]":
        """Run one line to its end: its exit code and what it wrote."""
        command = self.as_run(line)
        variables = self._variables | self._exports
        words = shlex.split(command, comments=True)
        if words[0] == "export":
            self._exports |= dict(word.split("=", 1) for word in words[1:])
            return subprocess.CompletedProcess(words, 0, "", "")
        if words[0] == "weaklink" and not re.search(r"[|&;<>$`]", command.replace("'$", "")):
            done = started().run(words[1:], stdin=b"", folder=self._folder, variables=variables, timeout_s=TIMEOUT_S)
            return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())
        return subprocess.run(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self._folder,
            env=variables,
            check=False,
            timeout=TIMEOUT_S,
        )

    @contextmanager
    def beside(self, line: str) -> Iterator[None]:
        """Run a line that serves until it is interrupted; it ends without an error."""
        command = self.as_run(line).partition(" #")[0].removesuffix("&")
        log = self._folder / f"beside-{self._port}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=self._variables | self._exports,
            )
            try:
                if "weaklink tail" not in line:
                    _wait_for(process, self._port, log)
                yield
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    raise
        expected = {0, 130, 3} if "--serve" in line else {0, 130, -signal.SIGINT}  # 3: nobody asked what was recorded
        assert process.returncode in expected, (line, process.returncode, log.read_text("utf-8"))

    def look_at(self, line: str) -> None:
        """Run a line that is a screen, in a terminal, and leave it."""
        command = ["bash", "-c", f"exec {self.as_run(line)}"]
        with terminal(self._folder, command, self._variables | self._exports) as screen:
            screen.shows("broken")
            screen.press("q")
            screen.ends()

    def as_run(self, line: str) -> str:
        """The line with the addresses of this reader."""
        command = _SERVER.sub(self._model_url, line).replace("8788", str(self._port)).replace("s3://bucket", "bucket")
        command = re.sub(r"^uvx --from \S+( @ \S+)? ", "", command)  # what is installed is here
        command = command.replace("make demo", "weaklink demo").removeprefix(".venv/bin/")
        command = re.sub(r"^podman run .* -e (\S+) weaklink ", r"env \1 weaklink ", command)  # the image's own program
        command = command.replace("http://host.containers.internal:8000", self._model_url)
        command = command.replace("@turn2", "@turn3")  # its agent has a system prompt
        command = command.replace("ask 12", "ask latest")  # the one that this reader has recorded
        if "unreliable_model.py" in command:
            command = f"python examples/unreliable_model.py --port {self._port}"
        served = re.sub(r"weaklink (record|web)\b", rf"weaklink \1 --port {self._port}", command)
        served = re.sub(r"(weaklink replay .*--serve)\b", rf"\1 --port {self._port}", served)
        served = served.replace("--host 0.0.0.0", "--host 127.0.0.1")
        return re.sub(r"weaklink (probe|ask)\b", r"weaklink \1 --yes", served)


def write_program(path: Path, line: str) -> None:
    """A program of one line of shell."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def is_serving(line: str) -> bool:
    """Whether a line runs until it is interrupted."""
    return bool(_SERVES.match(line))


_CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}"
    '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _agent(page: Path) -> str:
    """The agent of a page: on the SDK that the page is about, or the one of the examples."""
    if page.parent.name != "sdks":
        text = (ROOT / "examples" / "agent_loop.py").read_text(encoding="utf-8")
        return text.replace("Use the tools.", "Write valid JSON.") if page.stem == "replay" else text
    return _on_sdk(AGENT_OF_PAGE[page.stem])


def _on_sdk(journey: str) -> str:
    """An agent of the journeys as a program that needs no argument."""
    words = ["agent.py", "answered", "How warm is it in the north?"]
    return (
        f"import runpy, sys\nsys.path.insert(0, {str(AGENTS)!r})\nsys.argv = {words!r} + sys.argv[1:]\n"
        f"runpy.run_path({str(AGENTS / f'{journey}.py')!r}, run_name='__main__')\n"
    )


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(process: "subprocess.Popen[Any]", port: int, log: Path) -> None:
    """Wait until a process listens."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(log.read_text(encoding="utf-8"))
