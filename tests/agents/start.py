"""`python start.py AGENT STORY`: configure an agent for the server of `OPENAI_BASE_URL`, and become it.

Run below `weaklink run`, that server is weaklink's proxy: agents that read their server's address from a file are
recorded as well. The home is `HOME`, and the agents are those of `build/agents`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

PROGRAMS = Path(__file__).parents[2] / "build" / "agents" / "node_modules" / ".bin"
AIDER = PROGRAMS.parents[1] / "aider" / "bin"
OPENCLAW = PROGRAMS.parents[1] / "openclaw" / "node_modules"
HERMES, LLM, MINI = (PROGRAMS.parents[1] / name / "bin" for name in ("hermes", "llm", "mini"))
PROMPT = "Look at the harbour."


def _write(path: str, value: object) -> Path:
    place = Path(os.environ["HOME"], path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(value), encoding="utf-8")
    return place


def _pi(story: str, url: str) -> Sequence[str]:
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [{"id": story}]}
    _write(".pi/agent/models.json", {"providers": {"local": provider}})
    return ["pi", "-p", "--provider", "local", "--model", story, PROMPT]


def _opencode(story: str, url: str) -> Sequence[str]:
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url}, "models": {story: {}}}
    settings = {"provider": {"local": provider}, "autoupdate": False, "share": "disabled", "permission": "allow"}
    _write(".config/opencode/opencode.json", settings)
    return ["opencode", "run", "-m", f"local/{story}", PROMPT]


def _qwen_code(story: str, _url: str) -> Sequence[str]:
    return ["qwen", "--auth-type", "openai", "--model", story, "--yolo", "-p", PROMPT]


def _cline(story: str, url: str) -> Sequence[str]:
    settings = ["-p", "openai", "-k", "none", "-m", story, "-b", url]
    subprocess.run([str(PROGRAMS / "cline"), "auth", *settings], check=True, stdin=subprocess.DEVNULL)
    return ["cline", "--auto-approve", "true", "-P", "openai", "-m", story, PROMPT]


def _continue(story: str, url: str) -> Sequence[str]:
    model = {"name": story, "provider": "openai", "model": story, "apiBase": url, "apiKey": "none", "roles": ["chat"]}
    model["capabilities"] = ["tool_use"]
    file = _write("continue.yaml", {"name": "local", "version": "1.0.0", "schema": "v1", "models": [model]})
    return ["cn", "--config", str(file), "--auto", "-p", PROMPT]


def _copilot_cli(story: str, url: str) -> Sequence[str]:
    os.environ.update(COPILOT_PROVIDER_BASE_URL=url, COPILOT_PROVIDER_API_KEY="none", COPILOT_MODEL=story)
    return ["copilot", "--allow-all-tools", "-p", PROMPT]


def _gemini_cli(story: str, _url: str) -> Sequence[str]:
    os.environ.update(GEMINI_API_KEY="none", GEMINI_CLI_TRUST_WORKSPACE="true")
    authentication = {"auth": {"selectedType": "gemini-api-key"}}
    privacy = {"usageStatisticsEnabled": False}
    _write(".gemini/settings.json", {"security": authentication, "privacy": privacy, "telemetry": {"enabled": False}})
    return ["gemini", "-m", story, "--yolo", "-p", PROMPT]


def _claude_code(story: str, _url: str) -> Sequence[str]:
    os.environ.update(ANTHROPIC_API_KEY="none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1")
    return ["claude", "--model", story, "--allowedTools", "Bash", "-p", PROMPT]


def _codex(story: str, url: str) -> Sequence[str]:
    provider = (
        f'model_providers.local={{name="local", base_url="{url}", env_key="OPENAI_API_KEY", wire_api="responses"}}'
    )
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return ["codex", "exec", *options, "-m", story, "-c", 'model_provider="local"', "-c", provider, PROMPT]


def _openclaw(story: str, url: str) -> Sequence[str]:
    model = {"id": story, "name": story, "contextWindow": 100_000, "maxTokens": 4_000, "input": ["text"]}
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [model]}
    settings = {
        "models": {"providers": {"local": provider}},
        "agents": {"defaults": {"model": {"primary": f"local/{story}"}, "skipBootstrap": True}},
        "memory": {"search": {"enabled": False}},
        "tools": {"toolSearch": {"enabled": False}, "allow": ["exec"]},
    }
    _write(".openclaw/openclaw.json", settings)
    os.environ["PATH"] = f"{OPENCLAW / 'node' / 'bin'}:{os.environ['PATH']}"  # it asks for a newer Node than Debian's
    return ["openclaw", "agent", "--local", "--session-id", "harbour", "--message", PROMPT]


def _aider(story: str, url: str) -> Sequence[str]:
    Path("tides.py").write_text("OFFSET_HOURS = 3\n", encoding="utf-8")
    model = [
        "--model",
        f"openai/{story}",
        "--openai-api-base",
        url,
        "--openai-api-key",
        "none",
        "--edit-format",
        "diff",
    ]
    quiet = ["--no-check-update", "--no-show-model-warnings", "--no-show-release-notes", "--analytics-disable"]
    log = ["--llm-history-file", "requests.history"]
    return ["aider", *model, *quiet, *log, "--no-git", "--yes-always", "--message", PROMPT, "tides.py"]


def _hermes(story: str, url: str) -> Sequence[str]:
    model = {"default": story, "provider": "custom", "base_url": url, "api_key": "none", "context_length": 100_000}
    _write(".hermes/config.yaml", {"model": model})
    return ["hermes", "chat", "-Q", "--yolo", "-t", "terminal", "-q", PROMPT]


_LLM_TOOL = """
import subprocess

def bash(command: str) -> str:
    "Run a command."
    return subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
"""


def _llm(story: str, url: str) -> Sequence[str]:
    model = {"model_id": story, "model_name": story, "api_base": url, "supports_tools": True}
    _write(".config/io.datasette.llm/extra-openai-models.yaml", [model])
    return ["llm", "-m", story, "--functions", _LLM_TOOL, PROMPT]


def _mini(story: str, url: str) -> Sequence[str]:
    os.environ.update(OPENAI_API_BASE=url, LITELLM_LOCAL_MODEL_COST_MAP="True")
    os.environ.update(MSWEA_CONFIGURED="true", MSWEA_COST_TRACKING="ignore_errors", MSWEA_SILENT_STARTUP="1")
    return ["mini", "-m", f"openai/{story}", "-y", "--exit-immediately", "-t", PROMPT]


AGENTS: dict[str, tuple[str, Callable[[str, str], Sequence[str]]]] = {
    "pi": ("pi", _pi),
    "opencode": ("opencode", _opencode),
    "qwen-code": ("qwen", _qwen_code),
    "cline": ("cline", _cline),
    "continue": ("cn", _continue),
    "copilot-cli": ("copilot", _copilot_cli),
    "gemini-cli": ("gemini", _gemini_cli),
    "openclaw": ("openclaw", _openclaw),
    "claude-code": ("claude", _claude_code),
    "codex": ("codex", _codex),
    "hermes-sessions": ("hermes", _hermes),
    "llm-database": ("llm", _llm),
}
"""The agents by the name of their source: their program, and what configures it and returns its command."""


OTHERS = {"aider": ("aider", _aider), "mini-swe-agent": ("mini", _mini)}
"""The same for agents that end in another way: Aider has no structured calls, mini-swe-agent refuses plain answers."""


def is_installed(agent: str) -> bool:
    """Whether `make test-agents` installed the program of an agent."""
    return _path((AGENTS | OTHERS)[agent][0]).exists()


def _path(program: str) -> Path:
    folders = {"aider": AIDER, "openclaw": OPENCLAW / ".bin", "hermes": HERMES, "llm": LLM, "mini": MINI}
    return folders.get(program, PROGRAMS) / program


def main() -> None:
    """Become the agent."""
    agent, story = sys.argv[1:]
    os.environ["OPENAI_API_KEY"] = "none"
    program, *words = (AGENTS | OTHERS)[agent][1](story, os.environ["OPENAI_BASE_URL"])
    path = str(_path(program))
    os.execv(path, [path, *words])


if __name__ == "__main__":
    main()
