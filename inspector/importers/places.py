"""Where agents keep their logs on this machine, so that nobody types a path: `weaklink import` without one.

A place is a folder of the user, a pattern below it, and the environment variable that moves the folder. Aider and
Crush write into the project that they work in: their logs are looked for where the command runs, in the folders above
it up to its repository's, and in the projects that Crush has listed (`projects.json` beside its data). Sources:
docs/sources.md; Crush's `internal/projects`.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import decode

_HEAD_BYTES = 65_536
_FOLDER = lazy_pattern(r'"(?:cwd|workspaceDirectory|directory)"\s*:\s*"((?:[^"\\]|\\.){1,4000})"')


PROJECT = "."
"""The root of a place in a project's folder."""


class LogPlace(Struct, frozen=True):
    """The logs of one agent: `pattern` below `root`, which the environment variable `variable` replaces.

    `root` is a folder in the user's, or `PROJECT`. `mac_root` is the folder on macOS, if it is another one. `without`
    are patterns of file names that `pattern` matches and that are no logs, or tell what another file tells.
    """

    source: str
    root: str
    pattern: str
    variable: str = ""
    mac_root: str = ""
    without: tuple[str, ...] = ()

    @property
    def is_in_project(self) -> bool:
        """Whether the folder is not the user's, but that of the project in which the agent works."""
        return self.root == PROJECT

    def folder(self, environ: Mapping[str, str], home: Path, platform: str) -> Path:
        """The folder on this machine; it need not exist."""
        named = environ.get(self.variable, "") if self.variable else ""
        root = self.mac_root if platform == "darwin" and self.mac_root else self.root
        return Path(named) if named else home / root


_CODE, _MAC_CODE = ".config/Code/User", "Library/Application Support/Code/User"
_TASKS = "globalStorage/{}/tasks/*/api_conversation_history.json"

PLACES = (
    LogPlace("claude-code", ".claude", "projects/**/*.jsonl", "CLAUDE_CONFIG_DIR"),
    LogPlace("codex", ".codex", "sessions/**/*.jsonl", "CODEX_HOME"),
    LogPlace("pi", ".pi/agent", "sessions/**/*.jsonl", "PI_CODING_AGENT_DIR"),
    LogPlace("pi", ".omp/agent", "sessions/**/*.jsonl"),
    LogPlace(*("pi", ".openclaw", "agents/*/sessions/*.jsonl", "OPENCLAW_STATE_DIR"), without=("*.trajectory.jsonl",)),
    LogPlace("openclaw", ".openclaw", "agents/*/agent/openclaw-agent.sqlite", "OPENCLAW_STATE_DIR"),
    LogPlace("gemini-cli", ".gemini", "tmp/*/chats/**/*.json"),
    LogPlace("gemini-cli", ".gemini", "tmp/*/chats/**/*.jsonl"),
    LogPlace("opencode", ".local/share", "opencode/opencode*.db", "XDG_DATA_HOME"),
    LogPlace("copilot-cli", ".copilot", "session-state/*/events.jsonl"),
    LogPlace("copilot-cli", ".copilot", "session-state/*.jsonl"),
    LogPlace("copilot-chat", _CODE, "workspaceStorage/*/chatSessions/*.json*", "", _MAC_CODE),
    LogPlace("copilot-chat", _CODE, "globalStorage/emptyWindowChatSessions/*.json*", "", _MAC_CODE),
    LogPlace("cline", ".cline", "data/sessions/*/*.messages.json"),
    LogPlace("cline", _CODE, _TASKS.format("saoudrizwan.claude-dev"), "", _MAC_CODE),
    LogPlace("cline", _CODE, _TASKS.format("rooveterinaryinc.roo-cline"), "", _MAC_CODE),
    LogPlace(
        *("cursor", ".config/Cursor/User/globalStorage", "state.vscdb"),
        mac_root="Library/Application Support/Cursor/User/globalStorage",
    ),
    LogPlace("cursor-cli", ".cursor", "chats/*/*/store.db"),
    LogPlace("cursor-cli", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"),
    LogPlace("zed", ".local/share/zed", "threads/threads.db", "", "Library/Application Support/Zed"),
    LogPlace("qwen-code", ".qwen", "projects/*/chats/*.jsonl"),
    LogPlace("continue", ".continue", "sessions/*.json", "CONTINUE_GLOBAL_DIR", without=("sessions.json",)),
    LogPlace("goose", ".local/share", "goose/sessions/sessions.db", "XDG_DATA_HOME"),
    LogPlace("goose", ".local/share", "goose/sessions/*.jsonl", "XDG_DATA_HOME"),
    LogPlace("hermes-sessions", ".hermes", "state.db", "HERMES_HOME"),
    LogPlace("hermes-sessions", ".hermes", "profiles/*/state.db", "HERMES_HOME"),
    LogPlace(
        *("mini-swe-agent", ".config/mini-swe-agent", "*.traj.json", "MSWEA_GLOBAL_CONFIG_DIR"),
        mac_root="Library/Application Support/mini-swe-agent",
    ),
    LogPlace("openhands-sdk", ".openhands", "conversations/*/base_state.json"),
    LogPlace("kimi", ".kimi", "sessions/*/*/wire.jsonl", "KIMI_SHARE_DIR"),
    LogPlace("crush", PROJECT, ".crush/crush.db"),
    LogPlace("aider", PROJECT, ".aider.chat.history.md"),
    LogPlace("droid", ".factory", "sessions/**/*.jsonl"),
    LogPlace("amp", ".local/share", "amp/threads/T-*.json", "XDG_DATA_HOME"),
    LogPlace("lm-studio", ".lmstudio", "conversations/**/*.conversation.json"),
    LogPlace(
        *("llm-database", ".config/io.datasette.llm", "logs.db", "LLM_USER_PATH"),
        mac_root="Library/Application Support/io.datasette.llm",
    ),
)
"""The places of every source that has one."""

READ_VERSIONS = {
    "claude-code": "1.0 and 2.1.197",
    "codex": "0.169 and 0.171",
    "pi": "0.73, 0.74 and 1.6; sessions of version 1 on",
    "openclaw": "2026.9.6 (schema 23)",
    "gemini-cli": "0.61",
    "opencode": "1.18 and 1.19",
    "copilot-cli": "1.0.102",
    "copilot-chat": "VS Code's code, and files of other readers' tests",
    "cline": "3.0 and 4.1; Roo Code 3.52",
    "cursor": "files of other readers' tests",
    "cursor-cli": "files of other readers' tests",
    "zed": "threads 0.1 to 0.3",
    "qwen-code": "0.15 and 0.24",
    "continue": "1.5.47",
    "goose": "before 1.10 (JSON lines); schema 15",
    "hermes-sessions": "0.19",
    "mini-swe-agent": "trajectories 1 and 2; 2.4.6",
    "openhands-sdk": "1.16 and 1.21",
    "kimi": "1.49",
    "crush": "its code of 2026",
    "aider": "0.86.2",
    "droid": "files of other readers' tests",
    "amp": "files of other readers' tests",
    "lm-studio": "files of other readers' tests",
    "llm-database": "before 0.36 and 0.36",
}
"""For each of them the versions whose logs, or whose code that writes them, its reader was made and tested with."""


_IN_PROJECT = frozenset(place.pattern.rpartition("/")[2] for place in PLACES if place.is_in_project)


class FoundLog(Struct, frozen=True):
    """A log of an agent: its path, the folder that the agent worked in (`""` if the beginning does not say), its size.

    `modified_s` is in seconds since 1970-01-01 UTC.
    """

    source: str
    path: str
    project: str
    size_bytes: int
    modified_s: float


def sources_with_places() -> tuple[str, ...]:
    """The sources whose logs can be found, in the order of the table."""
    return tuple(dict.fromkeys(place.source for place in PLACES))


def log_paths(
    sources: Iterable[str] = (), environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Iterator[str]:
    """The paths of the logs of these sources (of all without any) on this machine; they may be empty or unreadable."""
    return (str(path) for _, path in _places(sources, environ, platform))


def found_logs(
    sources: Iterable[str] = (), environ: Mapping[str, str] | None = None, platform: str = sys.platform
) -> Iterator[FoundLog]:
    """The logs of these sources (of all without any) on this machine, by source and path; what is empty is left out.

    Files that cannot be read are left out as well: another user's folder is no error.
    """
    for source, path in _places(sources, environ, platform):
        try:
            state = path.stat()
            if not path.is_file() or not state.st_size:
                continue
            project = _project(path)
        except OSError:
            continue
        yield FoundLog(source, str(path), project, state.st_size, state.st_mtime)


def _places(sources: Iterable[str], environ: Mapping[str, str] | None, platform: str) -> Iterator[tuple[str, Path]]:
    environ = os.environ if environ is None else environ
    wanted = set(sources) or {place.source for place in PLACES}
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    for place in PLACES:
        if place.source in wanted and not place.is_in_project:
            for path in sorted(place.folder(environ, home, platform).glob(place.pattern)):
                if not any(fnmatchcase(path.name, name) for name in place.without):
                    yield place.source, path
        elif place.source in wanted:
            paths = [folder / place.pattern for folder in _project_folders()]
            listed = _crush_databases(environ, home) if place.source == "crush" else ()
            yield from ((place.source, path) for path in dict.fromkeys((*paths, *listed)) if path.exists())


def _project_folders() -> list[Path]:
    """The folder where this process runs, and those above it up to the one of its repository."""
    folders = [Path.cwd(), *Path.cwd().parents]
    repository = next((index for index, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[: repository + 1]


def _crush_databases(environ: Mapping[str, str], home: Path) -> list[Path]:
    """The databases of the projects in Crush's list."""
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share", "crush")
    listed = Path(environ.get("CRUSH_GLOBAL_DATA") or data, "projects.json")
    try:
        projects = objects_of(object_of(json.loads(listed.read_bytes())).get("projects"))
    except (OSError, ValueError, RecursionError):
        return []
    return [
        Path(text_of(project, "path"), text_of(project, "data_dir"), "crush.db")
        for project in projects
        if text_of(project, "path") and text_of(project, "data_dir")
    ]


def _project(path: Path) -> str:
    """The last part of the folder of an agent's project, or of the first folder that the beginning of a log names."""
    if path.name in _IN_PROJECT:
        folder = path.parent
        return folder.parent.name if folder.name == ".crush" else folder.name
    with path.open("rb") as stream:
        head = decode(stream.read(_HEAD_BYTES))
    match = None if head.startswith("SQLite") else _FOLDER.search(head)
    return match[1].replace("\\\\", "/").rstrip("/").rpartition("/")[2] if match else ""
