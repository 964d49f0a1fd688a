"""What agents write around the output of a command: its exit code, headings, tags, the folder; and the output itself.

A program's words mean the same whatever the agent writes around them, so each result is taken apart once, before
anything else reads it:

    Exit code: 1                   {"output": "1 failed", "metadata": {"exit_code": 1}}
    Wall time: 0.3 seconds
    Output:                        <returncode>1</returncode>
    1 failed                       <output>
                                   1 failed
    1 failed                       </output>
    [The command completed with exit code 1.]

A frame is whole lines at the beginning and at the end. These are the forms of Codex, Claude Code, Gemini CLI, Qwen
Code, OpenHands, SWE-agent, mini-swe-agent, Cline, Roo Code, Cursor, Copilot CLI, Crush, Kimi CLI, Amazon Q, Terminus,
Pi, gptme and R2E-Gym.
"""

import re
from functools import lru_cache
from typing import cast

import msgspec
from msgspec import Struct

from weaklink.inspector.json_text import Json, count_of
from weaklink.inspector.memoized import memoized
from weaklink.inspector.scanning import lazy_pattern

_ENDS_READ, _HEAD_LINES, _TAIL_LINES, _LONGEST_LINE = 2_000, 12, 12, 800

EXIT_KEYS = ("exit_code", "exitCode", "exit_status", "returncode", "return_code", "rc")
"""The members of a JSON object that state an exit code."""
METADATA = "metadata"
"""The member of a JSON object in which some agents state it."""
_OUTPUT_KEYS = ("output", "stdout", "stderr")
_FRAME_KEYS = frozenset(
    (*EXIT_KEYS, *_OUTPUT_KEYS, METADATA, "success", "command", "cwd", "signal", "pid", "duration", "duration_ms")
)

_EXIT_LINE = lazy_pattern(
    r"""
    (?:error:[ ](?=exit[ ]code))?[\[(<]?(?:the[ ])?(?:
        # whose code it is
        (?:command|process|program|script)[ ](?:`[^\n]{1,300}`[ ])? | shellid:[ ]\d{1,6}[ ]
    )?(?:executed[ ]in[ ]terminal[ ][^\n]{0,300}?\.[ ])?(?:
        # what it is called
        (?:
            failed | exited | finished | completed | ended | terminated | executed
        )[ ]with[ ](?:(?:non-?zero[ ])?exit[ ])?(?:code|status)
        | exit(?:ed)?[ _]?(?:code|status)? | return[ _-]?code
    )(?:[:=]|[ ]is|>)?\s{0,4}(-?\d{1,10})\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CLOSING_TAG = lazy_pattern(r"</\w{1,20}>$")
_BARE_EXIT_LINE = lazy_pattern(
    r"(?:the )?(?:process|program|script)\b|exit(?:ed)? (?!code)|(?:failed|finished) with", re.IGNORECASE
)
_SANDBOX = lazy_pattern(
    r"(?:failed in sandbox|exec(?:_command)? (?:error|failed)|sandbox error).{0,200}?exit code: (\d{1,6})",
    re.IGNORECASE | re.DOTALL,
)
_TAGS = r"(?:(?:command|bash|tool)_)?(?:output|stdout|stderr|result)"
_TAG_AT_END = "</output>"
_SYSTEM_TAG = lazy_pattern(r"<system>(?:ERROR: )?([^<\n]{1,200})</system>")  # Kimi CLI
_FENCE = "```"
_OPENER = lazy_pattern(
    r"Output:|Execution output of \[[^\]]{1,200}\]:$|"
    rf"(?:#{{1,4}} (?:result|output)|command output:|\[(?:stdout|stderr)\]|<{_TAGS}>)$",
    re.IGNORECASE,
)
_FACT = lazy_pattern(
    r"(?:chunk id|wall time|original token count|total output lines): |<status>\w{1,20}</status>$", re.IGNORECASE
)
_END = lazy_pattern(
    rf"</{_TAGS}>|<timestamp>[^\n]*</timestamp>|<cwd>[^\n]*</cwd>|```|command completed in \d+ ms\.?|bash-\$|"
    r"\[(?:current working directory|python interpreter): [^\n]*\]|"
    r"\[(?:stdout|stderr)\]|\((?:open file|current directory): [^\n]*\)?",
    re.IGNORECASE,
)
# How every line of a frame begins: most texts begin and end with another line, which this one look shows.
_MAY_FRAME = lazy_pattern(
    r"""
    \s*+(?:
        # a bracket or sign before it
        [\[(<`#]
        # words of an exit line
        | (?:error:[ ]|the[ ])?(?:
            command | process | program | script | shellid | executed | failed | exit | finished | completed
            | ended | terminated | return
        )
        # Codex's heads
        | output: | chunk[ ]id:[ ] | wall[ ]time:[ ] | original[ ]token[ ]count:[ ] | total[ ]output[ ]lines:[ ]
        # a prompt
        | bash-\$
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What Gemini CLI and Qwen Code write around a command's output (`packages/core/src/tools/shell.ts` of both); later
# versions of Gemini CLI leave out the command and its folder.
_LABELLED_HEAD = lazy_pattern(r"(?:Command: [\s\S]{0,4000}?\n(?:Directory: [^\n]{0,1000}\n)?)?(?:Output|Stdout): ")
_LABELLED_END = lazy_pattern(r"(?:Error|Exit Code|Signal|Background PIDs|Process Group PGID): ")
_SYSTEM = lazy_pattern(  # Kimi CLI
    r"<system>(?:ERROR: Command failed with exit code: (?P<code>\d{1,6})|Command executed successfully)\.</system>\n?"
)
# gptme (`gptme/tools/shell.py`): the command, then each stream that is not empty, as one line in backticks or fenced. A
# return code of 0 is not stated.
_RAN = lazy_pattern(r"Ran (?:allowlisted )?command:(?: `[^\n]{0,1000}`|\n```bash\n[\s\S]{0,4000}?\n```)\n\n")
_RAN_CODE = lazy_pattern(r"\n{1,2}Return code: (-?\d{1,6})\s*\Z")
_STREAM = lazy_pattern(r"(?:\A|(?<=\n\n))(?:`(.*)`|```std(?:out|err)\n([\s\S]*?)\n```)(?=\n\n|\s*\Z)")
_NO_OUTPUT = ("(empty)", "(none)", "(no output)", "No output")
_TERMINAL = ("New Terminal Output:", "Current Terminal Screen:")  # Terminus 2
_PROMPT = lazy_pattern(r"^\S{1,60}@\S{1,60}:[^\n]{0,200}?[#$][^\n]*(?:\n|\Z)", re.MULTILINE)
_decode = msgspec.json.Decoder().decode


class Framed(Struct, frozen=True):
    """What a result's frame states, and the output within it.

    `field` names the member of JSON with the exit code; `is_bare` is true if only the last line states it, without the
    brackets that agents write around it: it may be the end of a log that the output shows.
    """

    output: str
    exit_code: int | None = None
    field: str = ""
    is_bare: bool = False


@memoized
@lru_cache(128)  # what an output is, its words and its exit code are asked one after the other
def unframed(text: str) -> Framed:
    """The output of a command, and its exit code as far as the text states one in a form of its own.

    Without a frame the output is the text itself. Only the first and the last 2,000 code points are read.
    """
    if text.startswith("{"):
        return _in_object(text) or Framed(text)
    if (labelled := _labelled(text)) is not None:
        return labelled
    if (ran := _RAN.match(text)) is not None:
        return _ran(text, ran.end())
    if (system := _SYSTEM.match(text)) is not None:
        return Framed(_output(text[system.end() :]), int(system["code"] or 0))
    if text.startswith(_TERMINAL):
        text = _PROMPT.sub("", text.partition("\n")[2])
    text = _SYSTEM_TAG.sub(r"\1\n", text, count=1) if text.startswith("<system>") else text
    start, code, is_fenced = _head_of(text)
    end, last = _end_of(text, start, is_fenced=is_fenced, is_stated=code is not None)
    if code is None and last is None and (sandboxed := _SANDBOX.match(text, 0, _ENDS_READ)) is not None:
        code = int(sandboxed[1])
    is_bare = code is None and last is not None and _BARE_EXIT_LINE.match(last.string) is not None
    output = text[start:end]
    if start and output.endswith(_TAG_AT_END):  # mini-swe-agent's, after a line without an end
        output = output[: -len(_TAG_AT_END)]
    return Framed(_output(output), int(last[1]) if code is None and last is not None else code, "", is_bare)


def _output(text: str) -> str:
    return "" if text.strip() in _NO_OUTPUT else text


def _head_of(text: str) -> tuple[int, int | None, bool]:
    """Where the output begins, the exit code that is stated before it, and whether the output is in a fence."""
    start = position = 0
    code: int | None = None
    if _MAY_FRAME.match(text) is None:
        return start, code, False
    for line in text[:_ENDS_READ].splitlines(keepends=True)[:_HEAD_LINES]:
        is_first = not text[:position].strip()
        position += len(line)
        stripped = line.strip()[:_LONGEST_LINE]
        stating = _CLOSING_TAG.sub("", stripped) if stripped.endswith(">") else stripped
        match = _EXIT_LINE.match(stating) if code is None else None
        is_whole = _is_whole(match, stating)
        if match is not None and (is_first or is_whole):
            code = int(match[1])
            if not is_whole:
                break
        elif start and stripped == _FENCE:
            return position, code, True
        elif stripped and not (_OPENER.match(stripped) or _FACT.match(stripped)):
            break
        start = position if stripped else start
    return start, code, False


def _end_of(text: str, start: int, *, is_fenced: bool, is_stated: bool) -> tuple[int, re.Match[str] | None]:
    """Where the output ends, and the line after it that states an exit code: the last, or one in brackets before it."""
    end, stating = len(text), None
    last = text[max(start, text.rfind("\n", 0, -1) + 1, end - _ENDS_READ) :]
    if not last.isspace() and _MAY_FRAME.match(last) is None and len(last.splitlines()) == 1:
        return end, stating
    for line in reversed(text[max(start, len(text) - _ENDS_READ) :].splitlines(keepends=True)[-_TAIL_LINES:]):
        stripped = line.strip()[:_LONGEST_LINE]
        may_state = stripped.startswith(("[", "<")) or not (is_stated or stating is not None)
        match = _EXIT_LINE.match(stripped) if may_state else None
        stating = match or stating
        is_end = _END.fullmatch(stripped) is not None and (is_fenced or stripped != _FENCE)
        if stripped and not _is_whole(match, stripped) and not is_end:
            break
        end -= len(line)
    return end, stating


def _is_whole(match: re.Match[str] | None, line: str) -> bool:
    """Whether a line states an exit code and nothing else."""
    return match is not None and match.end() >= len(line) - 3


def _labelled(text: str) -> Framed | None:
    """The output between the labels of Gemini CLI and Qwen Code, and the code labelled after it; None without them."""
    head = _LABELLED_HEAD.match(text) if text.startswith(("Command: ", "Output: ")) else None
    if head is None:
        return None
    end, code, is_labelled = len(text), None, False
    while end > head.end():
        start = text.rfind("\n", head.end(), end) + 1
        line = text[start : min(end, start + _ENDS_READ)]
        if start <= head.end() or not _LABELLED_END.match(line):
            break
        label, _, value = line.partition(": ")
        code = int(value) if label == "Exit Code" and value.lstrip("-").isdecimal() and len(value) < 12 else code
        end, is_labelled = start - 1, True
    if not is_labelled and text.startswith("Output: "):
        return None  # a program's own word
    return Framed(_output(text[head.end() : end]), code)


def _ran(text: str, start: int) -> Framed:
    """The output and the return code that gptme writes after the head that ends at `start`."""
    stated = _RAN_CODE.search(text, max(start - 2, len(text) - _LONGEST_LINE))
    body = text[start : stated.start() if stated is not None else len(text)].strip("\n")
    output = _STREAM.sub(lambda stream: stream[2] if stream[1] is None else stream[1], body)
    return Framed(_output(output), int(stated[1]) if stated is not None else 0)


def _in_object(text: str) -> Framed | None:
    """The output and the exit code in an object of which both are members; None for any other object."""
    fields = _decoded(text)
    if not isinstance(fields, dict) or not _FRAME_KEYS.issuperset(fields) or fields.get("success") is False:
        return None
    nested = fields.get(METADATA)
    facts = {**nested, **fields} if isinstance(nested, dict) else fields
    field = next((key for key in EXIT_KEYS if key in facts), "")
    code = exit_code_of(facts.get(field))
    outputs = [value for key in _OUTPUT_KEYS if isinstance(value := fields.get(key), str)]
    if code is None or len(outputs) != len(fields.keys() & frozenset(_OUTPUT_KEYS)) or not outputs:
        return None
    return Framed("\n".join(output.rstrip("\n") for output in outputs if output.strip()), code, field)


def exit_code_of(value: Json) -> int | None:
    """An exit code, which some agents write as text; None if it is none."""
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdecimal() and len(value) < 12 else None
    return count_of(value)


def _decoded(text: str) -> Json:
    try:
        return cast(Json, _decode(text.encode("utf-8", "replace")))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
