"""What agents write around an output: whatever the output is, it and its exit code are what was put into the frame."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.building import chain_of
from weaklink.inspector.chain.shell_frames import Framed, unframed


def _quoted(output: str) -> str:
    return f"```stdout\n{output}\n```" if "\n" in output else f"`{output}`"


FRAMES: dict[str, Callable[[str, int], str]] = {
    "Codex, exec_command": lambda output, code: (
        f"Chunk ID: 3f9a1c\nWall time: 0.4120 seconds\nProcess exited with code {code}\n"
        f"Original token count: 31\nOutput:\n{output}"
    ),
    "Codex, shell": lambda output, code: json.dumps(
        {"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.3}}
    ),
    "Codex, shell_command": lambda output, code: f"Exit code: {code}\nWall time: 0.3 seconds\nOutput:\n{output}",
    "Claude Code": lambda output, code: f"Exit code {code}\n{output}",
    "Claude Code, with a heading": lambda output, code: f"Error: Exit code {code}\n{output}",
    "Claude Code, BashOutput": lambda output, code: (
        f"<status>completed</status>\n\n<exit_code>{code}</exit_code>\n\n<stdout>\n{output}\n</stdout>\n\n"
        "<timestamp>2026-03-04T09:20:11.120Z</timestamp>"
    ),
    "mini-swe-agent": lambda output, code: f"<returncode>{code}</returncode>\n<output>\n{output}</output>",
    "OpenHands": lambda output, code: (
        f"{output}\n[The command completed with exit code {code}.]\n[Current working directory: /workspace]\n"
        f"[Python interpreter: /usr/bin/python3]\n[Command finished with exit code {code}]"
    ),
    "SWE-agent": lambda output, code: f"Exit code: {code}\n{output}\n(Open file: n/a)\n(Current directory: /a)\nbash-$",
    "Gemini CLI": lambda output, code: f"Output: {output}\nExit Code: {code}\nProcess Group PGID: 4021",
    "Qwen Code": lambda output, code: (
        f"Command: make\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: 0\n"
        "Process Group PGID: 4021"
    ),
    "Roo Code": lambda output, code: (
        f"Command executed in terminal within working directory '/srv/app'. Exit code: {code}\nOutput:\n{output}"
    ),
    "Cursor": lambda output, code: (
        f"Exit code: {code}\n\nCommand output:\n\n```\n{output}\n```\n\nCommand completed in 412 ms."
    ),
    "Copilot CLI": lambda output, code: f"{output}\n<exited with exit code {code}>",
    "Copilot CLI, bash": lambda output, code: f"{output}\n<shellId: 0 completed with exit code {code}>",
    "Kimi CLI": lambda output, code: f"<system>ERROR: Command failed with exit code: {code}.</system>{output}",
    "Crush": lambda output, code: f"{output}\nExit code {code}\n\n<cwd>/srv/app</cwd>",
    "Amazon Q": lambda output, code: json.dumps({"exit_status": str(code), "stdout": "", "stderr": output}),
    "Pi": lambda output, code: f"{output}\n\nCommand exited with code {code}",
    "gptme": lambda output, code: (
        f"Ran allowlisted command: `make`\n\n{_quoted(output)}\n\n{f'Return code: {code}' if code else ''}\n"
    ),
    "an object": lambda output, code: json.dumps({"stdout": output, "stderr": "", "exitCode": code}),
}
_LINES = st.lists(st.text("abc xyz.:0123456789", min_size=1, max_size=20).filter(str.strip), min_size=1, max_size=6)


@given(_LINES.map("\n".join), st.integers(0, 255), st.sampled_from(sorted(FRAMES)))
def test_an_output_and_its_code_are_found_in_each_frame(output: str, code: int, name: str) -> None:
    framed = unframed(FRAMES[name](output, code))
    assert (framed.output.strip(), framed.exit_code) == (output.strip(), code)


@given(_LINES.map("\n".join))
def test_a_text_without_a_frame_is_its_output(text: str) -> None:
    assert unframed(text).output.rstrip() == text.rstrip()
    assert unframed(text).exit_code is None


@pytest.mark.parametrize(
    "text",
    [
        "step 1\nexit code 4 is no error\nstep 3",
        '{"exit_code": 3}',
        '{"output": "x", "exit_code": 3, "job": 7}',
        '{"output": ["x"], "exit_code": 3}',
        '{"output": "x", "exit_code": "three"}',
        "Output: 7 files",
        "```\nmake\n```",
        "<output>",
    ],
)
def test_what_only_looks_like_a_frame_states_no_code(text: str) -> None:
    assert unframed(text).exit_code is None


_RED = "tests/test_a.py .F.\n\nFAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed, 2 passed in 0.4s"
_SAID = {
    "honest": "test_x still fails: it gets 1 where 2 is due.",
    "claims": "All tests pass.",
    "silent": "I renamed the function.",
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("words", _SAID)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_no_frame_changes_a_verdict(name: str, words: str, line_end: str) -> None:
    def judged(result: str) -> tuple[object, ...]:
        call = 'call a: Bash {"command": "pytest -q"}'
        chain = chain_of("user: Rename it and test.", call, f"result a: {result}", f"say: {_SAID[words]}")
        return chain.status, *((step.result_kind, step.said, step.error) for step in chain.steps)

    assert judged(FRAMES[name](_RED.replace("\n", line_end), 1)) == judged(f"Exit code 1\n{_RED}")


def test_gptmes_frame_of_several_streams_or_none_is_taken_off() -> None:
    assert unframed("Ran command: `make`\n\n```stdout\na\nb\n```\n\n`oops`\n\nReturn code: 2\n") == Framed(
        "a\nb\n\noops", 2
    )
    assert unframed("Ran command:\n```bash\nfalse\n```\n\nNo output\nReturn code: 1\n") == Framed("", 1)
    assert unframed("Ran allowlisted command: `ls`\n\n`tides.py`\n\n") == Framed("tides.py", 0)
