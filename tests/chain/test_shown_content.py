"""What a call only shows is content, whatever it says; what the reader says of its own work is a failure.

Readers, targets, contents, failures and record formats are combined, so that no pair of them is a special case.
"""

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from weaklink.inspector.chain.outcomes import judged_result
from weaklink.inspector.chain.pairing import LocatedCall
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.facade import make_call
from weaklink.inspector.model import Json, ToolResult
from weaklink.inspector.text import Range

CONTENTS = (
    "fatal: unable to access 'https://git.example/a.git/': Could not resolve host: git.example",
    "Error: connect ECONNREFUSED 10.0.0.5:5432",
    "ERROR: disk full",
    "error: could not compile `worker` due to 2 previous errors",
    'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in <module>\n    main()\nValueError: no rows',
    "KeyError: 'user'",
    "Failed to connect to database at 10.0.0.5",
    "E: Unable to locate package libfoo",
    "curl: (6) Could not resolve host: api.example",
    "Permission denied (publickey).",
    "Cannot connect to the queue at 10.0.0.7",
    "panic: runtime error: index out of range [3] with length 3",
    "404 Not Found",
    "bash: rg: command not found",
    "12:00:01 started\n12:00:02 ERROR: the disk is full\n12:00:03 Failed to open /dev/sdb",
    "worker started\nworker: cannot allocate memory\nfatal: worker stopped",
    "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1",
    "psql: error: connection to server failed",
    "ssh: connect to host nas port 22: Connection refused",
    "Fehler: Verbindung abgelehnt",
    "エラー: 接続できません",
    "3 failed, 4 passed in 0.2s",
    "Exception in thread main: no memory\nat java.lang.Thread",
)
TARGETS = ("run.log", "logs/worker.txt", "/var/log/deploy/last.log")
SHELL_READERS = (
    "cat {0}",
    "cat {0} | head",
    "cat {0} | tail -n 5",
    "cat {0} | grep -i err",
    "cat a.log {0}",
    "grep -n -i -h '.' {0}",
    "grep -v debug {0} | tail -20",
    "sed -n 1,20p {0}",
    "tail -n 50 {0}",
    "tail -50 {0} | sort | uniq",
    "head -5 {0}",
    "less {0}",
    "bat --plain {0}",
    "cd /srv && cat {0}",
    "ls -la; cat {0}",
    "cat {0} 2>/dev/null | head -40",
    "awk 'NR<20' {0}",
    "zcat {0}.gz | head",
    "strings {0}",
    "journalctl -u worker -n 20",
    "docker logs worker",
    "docker logs worker --tail 20 2>&1 | tail",
    "docker compose logs worker",
    "kubectl logs pod/worker -n prod",
    "kubectl logs deploy/worker | grep -i err",
    "gh run view 812 --log",
    "gh run view 812 --log-failed | head -40",
    "git show HEAD:{0}",
    "ssh nas cat {0}",
    "bash -lc 'cat {0}'",
    "Get-Content {0}",
)
TOOL_READERS = (
    ("Read", "file_path"),
    ("read_file", "path"),
    ("view", "path"),
    ("get_file_contents", "path"),
    ("get_logs", "service"),
    ("read_logs", "source"),
    ("fetch_page", "url"),
    ("fetch", "url"),
    ("mcp__ci__get_job_log", "job"),
    ("view_file", "path"),
    ("show_log", "name"),
)


def _plain(text: str) -> str:
    return text


def _codex(text: str) -> str:
    return f"Chunk ID: ab12\nWall time: 0.1 seconds\nOutput:\n{text}"


def _swe_agent(text: str) -> str:
    return f"{text}\n(Open file: n/a)\n(Current directory: /srv)\nbash-$"


def _gemini(text: str) -> str:
    return f"Command: as given\nDirectory: (root)\nOutput: {text}\nError: (none)\nSignal: (none)"


def _terminus(text: str) -> str:
    return f"New Terminal Output:\n\nroot@box:/srv# as given\n{text}\nroot@box:/srv#"


def _cline(text: str) -> str:
    return f"[stdout]\n{text}\n[stderr]\n"


FRAMES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("bash", _plain),
    ("exec_command", _codex),
    ("execute_bash", _swe_agent),
    ("run_shell_command", _gemini),
    ("keystrokes", _terminus),
    ("execute_command", _cline),
)


def kind(tool: str, arguments: dict[str, Json], content: str) -> str | None:
    result = ToolResult(content, Range(0, len(content)))
    judgement = judged_result(LocatedCall(make_call(tool, arguments), Location(1, "call:0", Range(0, 1))), result)
    return judgement.kind.value if judgement else None


# What a reader would say of its own work in the same words.
_ALSO_OWN = (("ssh", "Permission denied ("), ("ssh", "ssh: "), ("git", "fatal: "))


def _may_be_own(reader: str, content: str, *, is_tool: bool = False) -> bool:
    is_told = any(reader.startswith(name) and content.startswith(begin) for name, begin in _ALSO_OWN)
    return is_told or (is_tool and content.startswith(("404 ", "Permission denied")))


def in_frames(command: str, content: str) -> Iterator[tuple[str, str | None]]:
    for tool, frame in FRAMES:
        yield tool, kind(tool, {"command": command}, frame(content))


ENDS_OF_LOGS = (
    "build started\nstep 3 failed\nProcess exited with code 1",
    "started\nexit status 2",
    "worker 3\nscript failed with exit code 7",
)
OBJECTS = (
    '{"error": "disk full"}',
    '{"status": "failed", "message": "no rows"}',
    '{"success": false, "reason": "no rows"}',
    '{"exit_code": 1, "step": "build"}',
    '{"ts": 1, "level": "error", "error": "boom"}',
)


@pytest.mark.parametrize("reader", [reader for reader in SHELL_READERS if not reader.startswith("ls")])
@pytest.mark.parametrize("content", [*ENDS_OF_LOGS, *OBJECTS])
def test_a_log_that_ends_with_an_exit_code_and_a_file_of_objects_are_content(reader: str, content: str) -> None:
    assert [tool for tool, judged in in_frames(reader.format("out/last.json"), content) if judged is not None] == []


@pytest.mark.parametrize(("tool", "key"), TOOL_READERS[:4])
@pytest.mark.parametrize("content", [*ENDS_OF_LOGS, *OBJECTS])
def test_a_file_of_objects_that_a_tool_reads_is_content(tool: str, key: str, content: str) -> None:
    assert kind(tool, {key: "out/last.json"}, content) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "content"),
    [
        ("read_file", {"path": "a.py"}, '{"error": "a.py does not exist"}'),
        ("get_logs", {"service": "db"}, '{"error": "unknown service", "code": 404}'),
        ("shell", {"command": "cat a.log"}, '{"output": "cat: a.log: No such file", "metadata": {"exit_code": 1}}'),
        ("bash", {"command": "cat a.log"}, "cat: a.log: Permission denied\n[The command completed with exit code 1.]"),
        ("bash", {"command": "curl -s https://a.example/x"}, '{"error": "unknown id"}'),
        ("bash", {"command": "cat a.log b.log"}, "all well\ncat: b.log: Permission denied\nexit status 1"),
    ],
)
def test_what_states_a_failure_beside_the_content_counts(tool: str, arguments: dict[str, Json], content: str) -> None:
    assert kind(tool, arguments, content) is not None


@pytest.mark.parametrize("reader", SHELL_READERS)
def test_what_a_command_shows_is_content(reader: str) -> None:
    wrong = [
        (target, content[:40], tool, judged)
        for target, content in product(TARGETS, CONTENTS)
        for tool, judged in in_frames(reader.format(target), content)
        if judged is not None and not _may_be_own(reader, content)
    ]
    assert wrong == []


@pytest.mark.parametrize(("tool", "key"), TOOL_READERS)
def test_what_a_tool_reads_is_content(tool: str, key: str) -> None:
    wrong = [
        (target, content[:40])
        for target, content in product(TARGETS, CONTENTS)
        if not _may_be_own(tool, content, is_tool=True)
        and kind(tool, {key: f"https://ci.example/{target}" if key == "url" else target}, content) is not None
    ]
    assert wrong == []


OWN_FAILURES = (
    ("cat {0}", "cat: {0}: No such file or directory"),
    ("cat {0} | head", "cat: {0}: Permission denied"),
    ("cat a.log {0}", "cat: {0}: No such file or directory"),
    ("cat {0} | grep -i err", "cat: {0}: No such file or directory"),
    ("sed -n 1,20p {0}", "sed: can't read {0}: No such file or directory"),
    ("tail -n 50 {0}", "tail: cannot open '{0}' for reading: No such file or directory"),
    ("head -5 {0}", "head: cannot open '{0}' for reading: Permission denied"),
    ("less {0}", "{0}: No such file or directory"),
    ("bat --plain {0}", "[bat error]: '{0}': No such file or directory (os error 2)"),
    ("awk 'NR<20' {0}", "awk: cannot open {0} (No such file or directory)"),
    ("awk 'NR<20' {0}", 'awk: fatal: cannot open file "{0}" for reading: No such file or directory'),
    ("zcat {0}.gz | head", "gzip: {0}.gz: No such file or directory"),
    ("strings {0}", "strings: '{0}': No such file"),
    ("cat {0}", "bash: {0}: No such file or directory"),
    ("git show HEAD:{0}", "fatal: path '{0}' does not exist in 'HEAD'"),
    ("git show HEAD:{0}", "fatal: not a git repository (or any of the parent directories): .git"),
    ("docker logs worker", "Error response from daemon: No such container: worker"),
    ("docker logs worker | tail", "Error: No such container: worker"),
    ("docker logs worker", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
    ("kubectl logs pod/worker", 'Error from server (NotFound): pods "worker" not found'),
    ("kubectl logs worker | head", 'Error from server (NotFound): pods "worker" not found'),
    ("kubectl logs worker", "error: You must be logged in to the server (Unauthorized)"),
    ("journalctl -u worker", "Failed to get journal access: Permission denied"),
    ("gh run view 812 --log", "failed to get run: HTTP 404: Not Found (https://api.github.com/runs/812)"),
    ("gh run view 812 --log", "run 812 is still in progress; logs will be available when it is complete"),
    ("bat {0}", "bash: bat: command not found"),
    ("ssh nas cat {0}", "ssh: connect to host nas port 22: Connection refused"),
    ("ssh nas cat {0}", "cat: {0}: No such file or directory"),
)
TOOL_FAILURES = (
    ("Read", "file_path", "Error: file not found: {0}"),
    ("Read", "file_path", "File does not exist."),
    ("Read", "file_path", "<tool_use_error>File does not exist.</tool_use_error>"),
    ("Read", "file_path", "Error reading {0}: permission denied"),
    ("read_file", "path", "Error: ENOENT: no such file or directory, open '{0}'"),
    ("read_file", "path", "File not found: {0}"),
    ("read_file", "path", "FileNotFoundError: [Errno 2] No such file or directory: '{0}'"),
    ("read_file", "path", "Error: {0} is outside of the workspace"),
    ("view", "path", "The path {0} does not exist. Please provide a valid path."),
    ("get_logs", "service", "Error: service {0} not found"),
    ("get_logs", "service", "Error: unknown service"),
    ("fetch_page", "url", "Error: 404 Not Found for {0}"),
    ("fetch_page", "url", "Error: Failed to fetch {0}: net::ERR_NAME_NOT_RESOLVED"),
    ("fetch", "url", "HTTP error 503"),
    ("fetch", "url", "Error: request timed out"),
)


@pytest.mark.parametrize(("command", "message"), OWN_FAILURES)
def test_what_a_reader_says_of_its_own_work_is_no_content(command: str, message: str) -> None:
    missed = [
        (target, tool)
        for target in TARGETS
        for tool, judged in in_frames(command.format(target), message.format(target))
        if judged not in ("failure", "probe")
    ]
    assert missed == []


@pytest.mark.parametrize(("tool", "key", "message"), TOOL_FAILURES)
def test_what_a_tool_says_of_its_own_work_is_no_content(tool: str, key: str, message: str) -> None:
    targets = [f"https://ci.example/{target}" if key == "url" else target for target in TARGETS]
    assert [target for target in targets if kind(tool, {key: target}, message.format(target)) is None] == []


STAND_INS = (
    "Just a moment...",
    "Please enable JavaScript and cookies to continue",
    "Shop\n\nYou need to enable JavaScript to run this app.",
    "You must be logged in to view this page.",
    "The last mile\nThis article is only available to subscribers.",
    "Verifying you are human. This may take a few seconds.",
    "Sorry, the page you're looking for can't be found.",
    "Dieser Artikel ist nur für Abonnenten.",
    "Article réservé aux abonnés",
)
ON_STAND_INS = (
    "The post explains how captchas work and why a captcha keeps bots out.",
    "FAQ\n\nWhy is it blank? Please enable JavaScript to run this app.\nHow do I log in? Use SSO.",
    "Users must be logged in to post comments.",
    "Replace the captcha on the login page",
    "Release notes\nThe list for subscribers is sorted. Lists only to subscribers are hidden.",
    "# 404 Not Found\n\nThis status says that the server cannot find the requested resource.",
    "Q4 changes: checking your browser version is gone; verify you are human is new",
)
PAGE_READERS = (("WebFetch", "url"), ("fetch", "url"), ("fetch_page", "url"), ("read_webpage", "url"))


@pytest.mark.parametrize(("tool", "key"), PAGE_READERS)
def test_only_what_a_site_shows_in_place_of_a_page_is_a_failure(tool: str, key: str) -> None:
    address: dict[str, Json] = {key: "https://paper.example/last-mile"}
    assert [text for text in STAND_INS if kind(tool, address, text) is None] == []
    assert [text for text in ON_STAND_INS if kind(tool, address, text) is not None] == []


@pytest.mark.parametrize("tool", ["read_file", "view_file", "Read"])
def test_a_file_that_begins_like_a_message_of_its_reader_is_content(tool: str) -> None:
    notes = (
        "This tool cannot read files over 1 MB.\nUse the CLI instead.",
        "File too large: what to do\nSplit it.",
        "Datei nicht gefunden: wenn der Pfad falsch ist",
        "Fichier introuvable : si le chemin est faux",
        "File not found: the path is wrong",
    )
    assert [text for text in (*STAND_INS, *ON_STAND_INS, *notes) if kind(tool, {"path": "notes.md"}, text)] == []
    own = ("File content (31337 tokens) exceeds maximum allowed tokens (25000).", "File not found: notes.md")
    assert [text for text in own if kind(tool, {"path": "notes.md"}, text) is None] == []


FILMS = ("500 Days of Summer", "500 greatest songs", "404 Inklings", "503 ways to cook", "502 Bad Gateway explained")
ERROR_PAGES = ("502 Bad Gateway", "504 Gateway Time-out", "503 Service Temporarily Unavailable")


@pytest.mark.parametrize("tool", ["fetch", "WebFetch", "Bash"])
def test_the_title_of_a_page_is_an_error_only_with_the_phrase_of_its_status(tool: str) -> None:
    address = "https://films.example/a"
    arguments: dict[str, Json] = {"command": f"curl -s {address}"} if tool == "Bash" else {"url": address}
    page = "<html>\n<head><title>{}</title></head><body>text</body></html>"
    assert [title for title in FILMS if kind(tool, arguments, page.format(title)) is not None] == []
    assert [title for title in ERROR_PAGES if kind(tool, arguments, page.format(title)) is None] == []
