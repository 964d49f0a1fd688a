"""`code_action`: the action of a reply is code that the agent runs, a program in Python or a command of a shell.

`<code>PROGRAM</code>` is the action of smolagents' `CodeAgent`, a call of `python_interpreter`, as it is called in the
agent's memory, or of the tool that the program only calls; several blocks of a reply are one program to it. The agent
stops the generation at `</code>`, which servers leave out then, so nothing is missing without it. Sources: smolagents
1.26: agents.py (`_step_stream`), utils.py (`extract_code_from_text`), memory.py (what is sent back),
prompts/code_agent.yaml.

A fence of `mswea_bash_command`, or a tag of that name, is the action of mini-swe-agent with a model of text, a call of
`bash`. It refuses a reply with two. Sources: mini-swe-agent 2.4: models/utils/actions_text.py,
config/mini_textbased.yaml, config/benchmarks/swebench_xml.yaml.

Both look for the first closing marker, also within a string of the code, and so does this module: everything up to it
is code. Results come back as the user's words, `Observation:` and an error, or `<returncode>`.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weaklink.inspector.diagnostics import Edit, Fault
from weaklink.inspector.formats.chat_turns import ROLE_HOMES, TURN_TRANSITIONS
from weaklink.inspector.formats.dialect import (
    Enclosed,
    Transitions,
    call_state,
    closing,
    dialect_format,
    opener_again,
    opening,
    text_state,
)
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.python import messages
from weaklink.inspector.formats.python.calls import read_calls
from weaklink.inspector.formats.python.writing import is_python_call, is_python_code, write_call
from weaklink.inspector.formats.span_readers import ReasoningReader, empty_call
from weaklink.inspector.model import SpanKind, ToolCall, ToolResult
from weaklink.inspector.rules.json_syntax import NOT_A_CALL
from weaklink.inspector.rules.markers import MALFORMED_HEADER
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import Lookahead, MarkerSplit, Repeat, State, Transition, unmarked
from weaklink.inspector.text import Range

_PROGRAM = Enclosed("<code>", "</code>")
_FENCED = Enclosed("```mswea_bash_command", "\n```")
_TAGGED = Enclosed("<mswea_bash_command>", "</mswea_bash_command>")
_COMMANDS = {"fenced command": _FENCED, "tagged command": _TAGGED}
_LINE_ENDS = Lookahead(Repeat(r"[ \t\r]"), "\n")
_ENDS = re.compile("|".join(re.escape(end) for end in (_PROGRAM.closer, *(turn.marker for turn in TURN_TRANSITIONS))))
_INTERPRETER, _SHELL = "python_interpreter", "bash"
_CALL_BEGINS = re.compile(r"[^\W\d][\w.]{0,100}\(\s{0,40}(?:\)|[^\W\d]\w{0,100}=(?!=))")
_NO_PROGRAM = "This is not Python, so the agent's interpreter refuses it."
_FENCE = re.compile(r"\s*(?P<opener>```\w{0,16}[ \t]*\n)(?P<code>.*?)(?P<closer>\n?[ \t]*```)\s*", re.DOTALL)

_RESULTS = (
    Transition("\nObservation:", MarkerSplit.BEFORE, "observed", lead=1),
    Transition("\n<returncode>", MarkerSplit.BEFORE, "observed", width=0, lead=1),
    Transition("\n<exception>", MarkerSplit.BEFORE, "observed", width=0, lead=1),
)
"""The beginnings of results, at the beginning of a line; an agent's turn begins with one."""

_ERROR_FOLLOWS = Lookahead(Repeat(r"[^\n]", 1, 80), "\nError:\n")
_ERROR = re.compile(r"(?:^|\n)Call id:[^\n]{1,80}\nError:\n")
_REFUSED = re.compile(r"\s{0,4}<error>\s{0,4}(?P<words>Expected exactly 1 action, found (?P<count>\d{1,2})\.)")


def _read_action(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A program that is one call, with names before its arguments, is a call of that tool."""
    text, start = closed.inner_text, closed.span.inner.start
    code = Range(0, len(text)).stripped(text)
    # The label is another one for an action within reasoning that never ends.
    is_program = closed.span.label == "program" or (closed.span.label != "command" and is_python_code(code.of(text)))
    tool = _INTERPRETER if is_program else _SHELL
    if not len(code):
        return empty_call(closed, f"the code of a call of `{tool}`")
    if not is_program:
        return ParseResult(calls=(_running(text, code, _SHELL, "command"),), complete=True).moved(start)
    fence = _FENCE.fullmatch(text)
    if fence is None:
        return _read_program(text, code).moved(start)
    edits = tuple(Edit(Range(*fence.span(part)), "") for part in ("opener", "closer"))
    inner = Range(*fence.span("code")).stripped(text)
    return _read_program(text, inner).recovered(messages.fenced(text, edits[0].range, edits=edits)).moved(start)


def _read_program(text: str, code: Range) -> ParseResult:
    called = _one_call(code.of(text))
    if called is not None:
        return ParseResult(calls=(called.moved(code.start),), complete=True)
    is_code = is_python_code(code.of(text))
    action = replace(_running(text, code, _INTERPRETER, "code"), valid=is_code)
    return ParseResult((action,), faults=() if is_code else (Fault(NOT_A_CALL, code, _NO_PROGRAM),), complete=is_code)


def _running(text: str, code: Range, tool: str, argument: str) -> ToolCall:
    """The call of a tool that runs a piece of the text, which is its only argument."""
    return ToolCall(tool, {argument: code.of(text)}, code.of(text), valid=True, range=code, arguments_range=code)


def _one_call(code: str) -> ToolCall | None:
    if _CALL_BEGINS.match(code) is None:
        return None
    reading = read_calls(code, takes_json=False)
    is_one = len(reading.calls) == 1 and reading.complete and not reading.faults
    return reading.calls[0] if is_one and reading.calls[0].name != "print" else None


def _read_result(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A refusal is the result of each action that mini-swe-agent counted, and of none without one."""
    text, start = closed.inner_text, closed.span.inner.start
    content, count, is_error = Range(0, len(text)).stripped(text), 1, None
    if closed.span.label == "refusal":
        is_error = True
        if (refused := _REFUSED.match(text)) is not None:
            content, count = Range(*refused.span("words")), int(refused["count"])
    elif (error := _ERROR.search(text)) is not None:  # behind what the program had printed, if it had
        is_error = True
        if not text[: error.start()].strip():
            content = Range(error.end(), len(text)).stripped(text)
    return ParseResult(results=(ToolResult(content.of(text), content.moved(start), is_error=is_error),) * count)


def _states(transitions: Transitions) -> Iterator[State]:
    turns = transitions.turns
    yield call_state("program", (closing(_PROGRAM.closer), *turns), _PROGRAM.opener, label="program")
    for name, marks in _COMMANDS.items():
        ends = closing(marks.closer, "after command")
        yield call_state(name, (ends, *turns), marks.opener, marks.closer, label="command")
    second = {"rule": MALFORMED_HEADER, "expects": "one action in a reply"}
    flagged = (replace(move, **(second if move.target in _COMMANDS else {})) for move in transitions.out_of_text)
    yield State("after command", SpanKind.TEXT, tuple(flagged))
    beginnings = (
        *(replace(result, marker=result.marker[1:], lead=0) for result in _RESULTS),
        Transition("Call id:", MarkerSplit.BEFORE, "observed", width=0, ahead=_ERROR_FOLLOWS),
        opening("Format error:", "refused"),
    )
    for role in ("user", "tool"):
        begun = unmarked(role, MarkerSplit.NONE)
        yield text_state(f"{role} begins", (*beginnings, *turns), begun, by_model=False)
    for name, label in (("observed", "observation"), ("refused", "refusal")):
        yield State(name, SpanKind.TOOL_RESULT, turns, label=label, by_model=False)


def _program(call: ToolCall) -> str | None:
    """The code of a call of the interpreter; None if it is no program that reads back as one."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    code = arguments.get("code")
    if call.name != _INTERPRETER or list(arguments) != ["code"] or not isinstance(code, str) or call.id is not None:
        return None
    is_program = bool(code) and code == code.strip() and is_python_code(code) and _one_call(code) is None
    return code if is_program else None


def _written(call: ToolCall) -> str:
    """The code of a call; markers that would end it are escaped in its strings."""
    return _program(call) or _ENDS.sub(lambda end: f"\\x{ord(end[0][0]):02x}{end[0][1:]}", write_call(call))


def _write_calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"{_PROGRAM.opener}\n{_written(call)}\n{_PROGRAM.closer}" for call in calls)


def _expresses(call: ToolCall) -> bool:
    """Whether the call is a program in which nothing closes the block, or can be written as one."""
    program = _program(call)
    return is_python_call(call) and call.name != "print" if program is None else _ENDS.search(program) is None


CODE_ACTION = dialect_format(
    _read_action,
    ReasoningReader((_PROGRAM.opener, _FENCED.opener, _TAGGED.opener), (_PROGRAM.closer, _TAGGED.closer)),
    name="code_action",
    summary="<code>PROGRAM</code> or a fence of a command: the reply's action is code that the agent runs",
    aliases=("code_agent", "smolagents_code"),
    models=(),
    signs=DetectionPatterns(
        calls={
            r"```mswea_bash_command[ \t]*\r?\n|<mswea_bash_command>": 0.95,
            r"(?m)^<code>[ \t]*\r?\n(?:(?!</code>)[\s\S]){0,4000}?^[ \t]*final_answer\(": 0.9,
            r"(?m)^Thought(?: \d{1,3})?:[^\n]*\n"
            r"(?:(?!Thought|Action|Observation|Final Answer)[^\n]*\n){0,60}?<code>[ \t]*$": 0.85,
        },
        hints={r"(?m)^<code>[ \t]*\r?\n[A-Za-z_][\w.]{0,60}\((?:\w{1,60}=[^\n]*)?\)\r?\n</code>": 0.7},
    ),
    calls=(
        replace(opener_again(_PROGRAM.opener, Repeat(r"\s")), otherwise=opening(_PROGRAM.opener, "program")),
        Transition(_FENCED.opener, MarkerSplit.BEFORE, "fenced command", ahead=_LINE_ENDS),
        opening(_TAGGED.opener, "tagged command"),
    ),
    call_states=_states,
    into_results=_RESULTS,
    call_closers=(_PROGRAM.closer, _TAGGED.closer),
    homes={**ROLE_HOMES, "user": "user begins", "tool": "tool begins"},
    read_results=_read_result,
    write_calls=_write_calls,
    expresses=_expresses,
)
