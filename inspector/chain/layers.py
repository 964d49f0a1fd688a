"""Compares the layers of calls and results: the model's text, the server's reply, what ran, and what the model read.

A layer that the source does not record is not compared. Each difference is one diagnostic, at its characters in the
later layer's text; `Fault.against` is the earlier side. If a difference explains the break of the chain, the break's
message names its owner.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from heapq import merge
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.chain.data_flow import DataFlow
from weaklink.inspector.chain.steps import Chain, Step, quoted, tool_named
from weaklink.inspector.diagnostics import RUN_ARGUMENTS, RUN_RESULT, SENT_PART, Diagnostic, Fault, Location
from weaklink.inspector.json_text import write_json
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Json, RecordedRun, Role, ToolCall, Trace, Turn, TurnFlag
from weaklink.inspector.model.exchange import ReadMessage, ReadRequest, requests_of
from weaklink.inspector.rules import layers as rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range, shared_prefix, shared_suffix
from weaklink.inspector.wire.events import WIRE_PREFIX

_MAX_MARKER_CHARS = 400  # code points: the longest text that an agent puts in place of what it removed
_BETWEEN_BLOCKS = ("\n", "", "\n\n")
_MIN_KEPT_CHARS = 8
_MAX_DEPTH = 200
_MAX_CONTENTS = 10_000  # objects, lists and strings of a JSON value that are compared with another one
_WRAPPER = "content="  # how LangChain's printed form of a message begins
_UNRECORDED_OUTPUTS = frozenset({"{}", "null", '""', ""})  # written by instrumentations that do not record the output
_FILLER = "*"  # redaction replaces each character of a secret with this
_Canonical: TypeAlias = object
_MIN_VALUE_CHARS = 3  # code points of a value that is searched for
_MAX_KEY_CHARS = 80
_CAUSES = (
    rules.CALL_INVENTED_BY_SERVER,
    rules.ARGUMENTS_CHANGED_BY_SERVER,
    rules.CALL_NOT_EXECUTED,
    rules.EXECUTED_OTHER_ARGUMENTS,
    rules.RESULT_CHANGED_BEFORE_READ,
    rules.RESULT_TRUNCATED_BEFORE_READ,
    rules.RESULT_ATTACHED_TO_OTHER_CALL,
)

INJECTED_TAGS = {
    "system-reminder": "Claude Code: its system prompt says that user messages and tool results may hold them",
    "environment_context": "Codex: openai/codex, codex-rs/protocol/src/protocol.rs at edb4efee",
    "user_instructions": "Codex: openai/codex, codex-rs/protocol/src/protocol.rs at edb4efee",
    "environment_details": "Cline: cline/cline, src/core/task/index.ts at 06a9f7b4",
}
"""The tags of blocks that agents themselves insert into messages and results, and the source for each."""

# What agents write around the text that a tool returned, before the model reads it.
_HEADS = (
    # Codex: openai/codex, codex-rs/core/src/tools/mod.rs (format_exec_output_for_model) and the head of unified exec
    re.compile(
        r"(?:Exit code: -?\d+\n|Chunk ID: \w+\n)?Wall time: [\d.]+ seconds\n(?:Process exited with code -?\d+\n)?"
        r"(?:(?:Original token count|Total output lines): \d+\n)*Output:\n"
    ),
    re.compile(r"Warning: truncated output \(original token count: \d+\)\n(?:Total output lines: \d+\n)?\n?"),
    re.compile(r"Total output lines: \d+\n\n"),
    re.compile(r"command timed out after \d+ milliseconds\n"),
    # Claude Code: a refused call, and an output that it wrote to a file
    re.compile(r"<tool_use_error>"),
    re.compile(r"<persisted-output>\n[^\n]*\n\s*Preview[^\n]*\n"),
)
_TAILS = ("</tool_use_error>", "</persisted-output>")
_NUMBERED = re.compile(r"^[ \t]*(\d{1,9})(?:→|\t)(.*)$", re.MULTILINE)  # `cat -n`, as Claude Code's Read prints a file
_PARTIAL_SOURCES = frozenset({"claude-code", "codex"})  # logs that do not record every run

_INJECTED = {tag: re.compile(rf"<{tag}>.*?</{tag}>", re.DOTALL) for tag in INJECTED_TAGS}


class PartTexts:
    """The texts of a trace by location: parts of turns, of requests and of runs.

    Only the messages of one request are in memory at a time, so look locations up in the order of their turns.
    """

    def __init__(self, trace: Trace) -> None:
        self._turns = trace.turns
        self._near: tuple[int, list[ReadMessage]] = (0, [])

    def at(self, location: Location) -> str:
        """The whole text of the part that contains a location; empty if the trace has no such part."""
        if not 0 < location.turn <= len(self._turns):
            return ""
        turn = self._turns[location.turn - 1]
        part = turn.part(location.part)
        if part is not None:
            return part.text
        if location.part in (RUN_RESULT, RUN_ARGUMENTS):
            run = turn.run
            return "" if run is None else (run.result if location.part == RUN_RESULT else run.arguments) or ""
        return self._sent(location) if location.part.startswith(SENT_PART) else ""

    def _sent(self, location: Location) -> str:
        number, _, name = location.part.removeprefix(SENT_PART).partition(":")
        if self._near[0] != location.turn:
            request = self._requests.get(location.turn)
            self._near = location.turn, [] if request is None else request.messages()
        messages = self._near[1]
        index = int(number) - 1 if number.isdecimal() else -1
        if not 0 <= index < len(messages):
            return ""
        message = messages[index]
        turn = message.version or self._turns[(message.turn or 1) - 1]
        part = turn.part(name)
        return part.text if part is not None else ""

    @cached_property
    def _requests(self) -> dict[int, ReadRequest]:
        return {request.turn: request for request in requests_of(self._turns) if not isinstance(request, int)}


class ServerReply(Struct, frozen=True):
    """The calls in an answer's content, aligned with those of the server's structured reply.

    `repeated` are calls of the content that the reply has, too, each with its call of the reply.
    `lost` are calls of the content that the reply does not have, `changed` pairs whose arguments differ, `invented`
    calls that only the reply has. `invented` is empty unless the content still has a call of the reply, which shows
    that it is the model's whole text, and no call is lost.
    """

    repeated: tuple[tuple[ToolCall, ToolCall], ...]
    lost: tuple[ToolCall, ...]
    changed: tuple[tuple[ToolCall, ToolCall], ...]
    invented: tuple[ToolCall, ...]


def compare_reply(written: Sequence[ToolCall], parsed: Sequence[ToolCall]) -> ServerReply:
    """Align the calls in the content with those of the reply: by name and arguments, then by name and shared values."""
    left = list(parsed)
    rest: list[ToolCall] = []
    repeated: list[tuple[ToolCall, ToolCall]] = []
    changed: list[tuple[ToolCall, ToolCall]] = []
    for call in written:
        match = next((candidate for candidate in left if same_call(call, candidate)), None)
        if match is None:
            rest.append(call)
        else:
            left.remove(match)
            repeated.append((call, match))
    lost: list[ToolCall] = []
    for call in rest:
        match = next(
            (candidate for candidate in left if candidate.name == call.name and _is_retyped(candidate, call)), None
        )
        if match is None:
            lost.append(call)
        else:
            left.remove(match)
            changed.append((call, match))
    return ServerReply(tuple(repeated), tuple(lost), tuple(changed), tuple(left) if repeated and not lost else ())


def same_call(written: ToolCall, parsed: ToolCall) -> bool:
    """Whether a call in the content equals one of the reply; parameters written as text have no types."""
    if written.name != parsed.name:
        return False
    if same_arguments(written.raw_arguments, parsed.raw_arguments):
        return True
    own, other = written.arguments, parsed.arguments
    if written.raw_arguments.lstrip()[:1] == "{" or not isinstance(own, dict) or not isinstance(other, dict):
        return False
    return own.keys() == other.keys() and all(_same_parameter(own[key], other[key]) for key in own)


def _same_parameter(written: Json, parsed: Json) -> bool:
    texts = [value if isinstance(value, str) else write_json(value) for value in (written, parsed)]
    if isinstance(written, str) and isinstance(parsed, str):
        return texts[0].strip() == texts[1].strip()
    return same_arguments(*texts)


def _is_retyped(call: ToolCall, other: ToolCall) -> bool:
    """Whether two calls are versions of the same call: one of their values is equal, except perhaps for its type."""
    if not isinstance(call.arguments, dict) or not isinstance(other.arguments, dict):
        return False
    shared = call.arguments.keys() & other.arguments.keys()
    return any(_bare(call.arguments[key]) == _bare(other.arguments[key]) for key in shared)


def _bare(value: object) -> str:
    return str(value).strip().lower().lstrip("0")


def server_differences(
    turn: Turn, number: int, reply: ServerReply, parsed: Sequence[ToolCall], drafts: str
) -> Iterator[Diagnostic]:
    """What the server's structured reply changed or added; `parsed` are its calls, one for each call of the turn.

    `drafts` is the text of the calls that the model drafted in its reasoning: some servers return them.
    """
    headers = {id(call): header for call, header in zip(parsed, turn.calls, strict=False)}
    for call, server_call in reply.changed:
        wrote, has = quoted(call.raw_arguments), quoted(server_call.raw_arguments)
        message = f"The model wrote {wrote} for {tool_named(call.name)}, and the server's reply has {has}."
        against = Location(number, "text", call.range)
        fault = Fault(rules.ARGUMENTS_CHANGED_BY_SERVER, server_call.range, message, against=against)
        yield fault.at(number, headers[id(server_call)].part)
    for call, server_call in () if reply.invented else reply.repeated:
        message = f"The server's reply has the call of {tool_named(call.name)} twice: here and in its calls."
        against = Location(number, headers[id(server_call)].part, server_call.range)
        yield Fault(rules.CALL_DELIVERED_TWICE, call.range, message, against=against).at(number, "text")
    for server_call in reply.invented:
        is_drafted = server_call.name is not None and server_call.name in drafts
        how = "that the model only drafted in its reasoning" if is_drafted else "that the model's text does not have"
        message = f"The server's reply has a call of {tool_named(server_call.name)} {how}."
        against = Location(number, "text", Range(0, 0))
        yield Fault(rules.CALL_INVENTED_BY_SERVER, server_call.range, message, against=against).at(
            number, headers[id(server_call)].part
        )


def run_differences(trace: Trace, steps: Iterable[Step]) -> Iterator[Diagnostic]:
    """Where a tool did not run, ran other arguments than the call's, or returned another result than the model read."""
    turns = trace.turns
    if not any(turn.run is not None for turn in turns):
        return
    placed = [(step, turns[step.result_location.turn - 1]) for step in steps if step.result_location is not None]
    recorded = {step.call.name for step, turn in placed if turn.run is not None and _is_complete(turn.run)}
    returned = [(step, came) for step, turn in placed if turn.run is not None and (came := turn.run.comparable()[1])]
    same = SameTexts(lambda: (text for _, text in returned))
    for step, turn in placed:
        run, location = turn.run, step.result_location
        assert location is not None, "only answered steps are placed"
        if run is None:
            if step.call.name in recorded and is_recorded_here(turns[step.location.turn - 1]):
                yield _not_executed(step, location)
            continue
        ran, came = run.comparable()
        if ran is not None and not same_run(ran, step.call.raw_arguments):
            yield _other_arguments(step, run, location)
        text = turn.part("text")
        if came is not None and came not in _UNRECORDED_OUTPUTS and text is not None and step.result is not None:
            read = step.result.content
            if (difference := result_difference(came, read)) is not None:
                other = next(
                    (candidate for candidate, _ in map(returned.__getitem__, same.of(read)) if candidate is not step),
                    None,
                )
                yield (
                    _mixed_up(step, location, came, other) if other else _result_diagnostic(step, location, difference)
                )


def is_recorded_here(turn: Turn) -> bool:
    """Whether an answer was recorded when it arrived, and not only as a message of a later request."""
    return turn.generation is not None and TurnFlag.COPIED_CONTEXT not in turn.flags


def _is_complete(run: RecordedRun) -> bool:
    """Whether the source of a run records every run."""
    return run.source.rpartition(":")[2] not in _PARTIAL_SOURCES


def same_run(ran: str, called: str) -> bool:
    """Whether arguments are the same; an instrumentation may wrap them, as in `{"input": {...}}`."""
    return same_arguments(ran, called) or _same_command(ran, called) or _contains(ran.strip(), called.strip() or "{}")


def _same_command(ran: str, called: str) -> bool:
    """Whether a run's command is the call's: as a list, or as the last word of a shell's (`["bash", "-lc", "ls"]`)."""
    try:
        run, call = json.loads(ran), json.loads(called, strict=False)
    except (ValueError, RecursionError):
        return False
    words = run.get("command") if isinstance(run, dict) else None
    if not isinstance(words, list) or not words or not isinstance(call, dict):
        return False
    command = call.get("command", call.get("cmd"))
    if isinstance(command, str) and command.strip() and isinstance(words[-1], str):
        return words[-1].strip().endswith(command.strip())  # for PowerShell, Codex puts a line before it
    return bool(words == command)


def _not_executed(step: Step, location: Location) -> Diagnostic:
    """The diagnostic is at the beginning of the result, before which the run would have been."""
    message = (
        f"This call of {tool_named(step.call.name)} has no recorded run, although other runs of the tool are recorded."
    )
    start = Range(location.range.start, location.range.start)
    return Fault(rules.CALL_NOT_EXECUTED, start, message, against=step.location).at(location.turn, location.part)


def _other_arguments(step: Step, run: RecordedRun, location: Location) -> Diagnostic:
    wrote = quoted(step.call.raw_arguments)
    ran = quoted(run.arguments or "")
    message = f"The model called {tool_named(step.call.name)} with {wrote}, and the agent ran it with {ran}."
    where = Range(0, len(run.arguments or ""))
    fault = Fault(rules.EXECUTED_OTHER_ARGUMENTS, where, message, against=step.location)
    return fault.at(location.turn, RUN_ARGUMENTS)


def _mixed_up(step: Step, location: Location, own: str, other: Step) -> Diagnostic:
    theirs = f"the result of {tool_named(other.call.name)} in turn {other.location.turn}"
    message = f"The result shown for this call of {tool_named(step.call.name)} is {theirs}."
    against = Location(location.turn, RUN_RESULT, Range(0, len(own)))
    fault = Fault(rules.RESULT_ATTACHED_TO_OTHER_CALL, location.range, message, against=against)
    return fault.at(location.turn, location.part)


def _result_diagnostic(step: Step, location: Location, difference: "ResultDifference") -> Diagnostic:
    rule, message = difference.described(tool_named(step.call.name), "the tool returned")
    where = Range(*difference.read).moved(location.range.start)
    where = where if where.end <= location.range.end else location.range
    against = Location(location.turn, RUN_RESULT, Range(*difference.other))
    return Fault(rule, where, message, against=against).at(location.turn, location.part)


class ResultDifference:
    """How a later text of a result differs: `read` and `other` are the ranges without the equal beginning and end."""

    __slots__ = ("is_cut", "kept", "lost", "other", "read")

    def __init__(self, other: str, read: str) -> None:
        """Both are whole texts; white space at their ends, and what the agent wrote before the result, is ignored."""
        end, start = len(read.rstrip()), len(other) - len(other.lstrip())
        head = min(_head(read), end)
        other, read = other.strip(), read[head:end]
        prefix = shared_prefix(other, read)
        suffix = shared_suffix(other, read, min(len(other), len(read)) - prefix)
        self.kept = prefix + suffix
        self.lost = len(other) - self.kept
        self.read = (head + prefix, head + len(read) - suffix)
        self.other = (start + prefix, start + len(other) - suffix)
        marker = len(read) - self.kept
        self.is_cut = (
            self.kept >= _MIN_KEPT_CHARS and self.lost > marker and marker <= _MAX_MARKER_CHARS and self.lost > 1
        )

    def described(self, tool: str, who: str) -> tuple[Rule, str]:
        """The rule, and the sentence that states this case."""
        if self.is_cut:
            counts = f"{self.kept} of {self.kept + self.lost} characters are kept and {self.lost} are lost"
            return (
                rules.RESULT_TRUNCATED_BEFORE_READ,
                f"The result of {tool} was truncated before the model read it: {counts}.",
            )
        return rules.RESULT_CHANGED_BEFORE_READ, f"The model read a different result of {tool} than {who}."


def result_difference(other: str, read: str) -> ResultDifference | None:
    """How the result that the model read differs from another layer's text; None if both have the same meaning."""
    if same_text(other, read) or same_text(without_injected(other), without_injected(read)):
        return None
    bare = _without_decoration(without_injected(read))
    if bare is not None and same_text(other, bare):
        return None
    difference = ResultDifference(other, read)
    return difference if difference.is_cut else _cut_blocks(other, read) or difference


def _cut_blocks(other: str, read: str) -> ResultDifference | None:
    """How an MCP server's text blocks, joined as agents join them, were cut; None if they were not."""
    blocks = _result_blocks(_value(other)) if other.lstrip()[:1] == "{" else []
    if len(blocks) < 2:
        return None
    difference = max(
        (ResultDifference(between.join(blocks), read) for between in _BETWEEN_BLOCKS),
        key=lambda candidate: candidate.kept,
    )
    difference.other = (0, len(other))  # its ranges are those of the joined text, which no layer contains
    return difference if difference.is_cut else None


def _head(text: str) -> int:
    """The start of a result's own text, after white space and what agents write before it (`_HEADS`)."""
    start = len(text) - len(text.lstrip())
    for head in _HEADS:
        match = head.match(text, start)
        start = match.end() if match else start
    return start + len(text[start:]) - len(text[start:].lstrip())


def _without_decoration(text: str) -> str | None:
    """A result without what agents write around it: heads, tails, and the numbers of lines; None if it has none."""
    bare = text[_head(text) :].rstrip()
    for tail in _TAILS:
        bare = bare.removesuffix(tail).rstrip()
    lines = list(_NUMBERED.finditer(bare))
    has_gap = lines and bare.count("\n", lines[0].start(), lines[-1].end()) >= len(lines)
    if lines and not has_gap and all(int(later[1]) == int(first[1]) + 1 for first, later in pairwise(lines)):
        return "\n".join(line[2] for line in lines)
    return bare if bare != text.strip() else None


def without_injected(text: str) -> str:
    """A text without the blocks of `INJECTED_TAGS`, in linear time."""
    for tag, block in _INJECTED.items():
        closer = f"</{tag}>"
        end = text.rfind(closer)
        if end >= 0:  # after the last closer, no opener has one
            end += len(closer)
            text = block.sub("", text[:end]) + text[end:]
    return text


def same_text(text: str, other: str) -> bool:
    """Whether two texts of a result mean the same: white space at the ends, JSON escapes and wrappers are ignored."""
    text, other = text.strip(), other.strip()
    if text == other or _masked_alike(text, other):
        return True
    if not text or not other:
        return False
    if text[0] not in '[{"' and other[0] not in '[{"':
        return _is_wrapped(text, other) or _is_wrapped(other, text)
    if _text_of(text) == _text_of(other) or _contains(text, other) or _contains(other, text):
        return True
    return _contains_blocks(text, other) or _contains_blocks(other, text)


class SameTexts:
    """Finds, among many texts, those that mean the same as one (`same_text`), without comparing it with each of them.

    Texts that mean the same share a key: one has it as its own (the text, its JSON value, its words without white
    space), the other one as well or among its contents (the strings and values in its JSON). What shares a key is
    compared. `texts` is asked at the first search: most traces need none.
    """

    def __init__(self, texts: Callable[[], Iterable[str]]) -> None:
        self._made = texts

    def of(self, text: str) -> Iterator[int]:
        """The numbers, from 0, of the texts that mean the same, in order."""
        text = text.strip()
        own, contents = _own_keys(text), _content_keys(text)
        masked = "length" if _is_masked(text) else "masked"
        keys = {("own", key) for key in own | contents} | {("in", key) for key in own} | {(masked, len(text))}
        numbers = [self._numbers.get(hash(key), []) for key in keys]
        if text.startswith(_WRAPPER):
            numbers = [list(range(len(self._texts)))]
        return (number for number in merge(*numbers, self._wrapped) if same_text(self._texts[number], text))

    @cached_property
    def _texts(self) -> Sequence[str]:
        return list(self._made())

    @cached_property
    def _wrapped(self) -> list[int]:
        return [number for number, text in enumerate(self._texts) if text.lstrip().startswith(_WRAPPER)]

    @cached_property
    def _numbers(self) -> dict[int, list[int]]:
        """The texts by the hashes of their keys."""
        numbers: dict[int, list[int]] = {}
        for number, text in enumerate(map(str.strip, self._texts)):
            for key in _key_hashes(text):
                numbers.setdefault(key, []).append(number)
        return numbers


@memoized
def _key_hashes(text: str) -> frozenset[int]:
    keys = {("own", key) for key in _own_keys(text)} | {("in", key) for key in _content_keys(text)}
    keys |= {("length", len(text)), ("masked" if _is_masked(text) else "", len(text))}
    return frozenset(map(hash, keys))


def _own_keys(text: str) -> set[object]:
    value = _json_value(text)
    return {text, ("squeezed", _squeezed(text)), *(() if value is None else (value, _text_of(text)))}


def _content_keys(text: str) -> set[object]:
    value = _json_value(text)
    if value is None:
        return set()
    blocks = _result_blocks(value)
    return {*_contents(value), *((("squeezed", _squeezed("".join(blocks))),) if blocks else ())}


def _json_value(text: str) -> _Canonical | None:
    """The value of a text that begins like an object, a list or a string."""
    return _value(text) if text[:1] in ("[", "{", '"') else None


def _is_wrapped(whole: str, text: str) -> bool:
    """Whether `whole` is LangChain's printed form of a message (`content='...' name=...`) with this text."""
    return whole.startswith(_WRAPPER) and (repr(text)[1:-1] in whole or text in whole)


def _contains(wrapper: str, text: str) -> bool:
    """Whether a JSON object or list contains the text, as one of its strings or as a nested object or list."""
    value = _value(wrapper)
    if isinstance(value, str) or value is None:
        return False
    bare = _value(text)
    return any(
        content == text if isinstance(content, str) else bare is not None and content == bare
        for content in _contents(value)
    )


def _contents(value: _Canonical) -> Iterator[_Canonical]:
    """The objects, lists and stripped strings in a JSON value, itself included; of a huge one not all."""
    stack: list[object] = [value]
    seen = 0
    while stack and seen < _MAX_CONTENTS:
        node = stack.pop()
        seen += 1
        if isinstance(node, str):
            yield node.strip()
        elif isinstance(node, tuple) and len(node) == 2 and node[0] in ("object", "list"):
            yield node
            stack += [member[1] for member in node[1]] if node[0] == "object" else list(node[1])


def _contains_blocks(wrapper: str, text: str) -> bool:
    """Whether an MCP server's result contains the text as blocks, between which agents put white space."""
    blocks = _result_blocks(_value(wrapper))
    return bool(blocks) and _squeezed("".join(blocks)) == _squeezed(text)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _result_blocks(value: object) -> list[str]:
    """The texts of an MCP server's result; empty if the value is anything else."""
    content = dict(value[1]).get("content") if isinstance(value, tuple) and value[0] == "object" else None
    return _blocks(content)


def _blocks(value: object) -> list[str]:
    """The texts of a list of text blocks; empty if the value is anything else."""
    if not isinstance(value, tuple) or value[0] != "list":
        return []
    blocks = [dict(element[1]) for element in value[1] if isinstance(element, tuple) and element[0] == "object"]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return texts if len(texts) == len(value[1]) else []


def _text_of(text: str) -> object:
    """The content of a text: its JSON value, or the joined text of its text blocks."""
    value = _value(text)
    if isinstance(value, str):
        return value.strip()
    if blocks := _blocks(value):
        return "".join(blocks).strip()
    return text if value is None else value


def same_arguments(text: str, other: str) -> bool:
    """Whether two texts of arguments have the same value.

    5.0 equals 5; white space, key order and escapes are ignored, duplicate keys are not; an empty text equals `{}`.
    """
    if text == other or _masked_alike(text, other):
        return True
    left, right = _value(text.strip() or "{}"), _value(other.strip() or "{}")
    if left is None or right is None:
        return text.strip() == other.strip()
    return _unwrapped(left) == _unwrapped(right)


def _unwrapped(value: _Canonical) -> _Canonical:
    """Arguments written as a string of JSON become that JSON; null becomes an empty object."""
    if isinstance(value, str) and value.lstrip()[:1] == "{" and (inner := _value(value)) is not None:
        return inner
    return ("object", ()) if value == ("null",) else value


def _value(text: str) -> _Canonical | None:
    """The value of a JSON text in a form that compares as in `same_arguments`; None for invalid or too deep JSON."""
    try:
        return _canonical(json.loads(text, object_pairs_hook=_Pairs, parse_float=Decimal, strict=False), _MAX_DEPTH)
    except (ValueError, RecursionError, ArithmeticError):
        return None


class _Pairs(list[tuple[str, object]]):
    """The members of an object, with duplicates."""


def _canonical(value: object, depth: int) -> _Canonical:
    if not depth:
        raise RecursionError("a value is nested too deep")
    match value:
        case _Pairs():
            return "object", tuple(sorted(((key, _canonical(member, depth - 1)) for key, member in value), key=_key))
        case list():
            return "list", tuple(_canonical(element, depth - 1) for element in value)
        case None:
            return ("null",)
        case bool():
            return "true" if value else "false", None
    return value


def _key(member: tuple[str, _Canonical]) -> str:
    return member[0]


def _masked_alike(text: str, other: str) -> bool:
    """Whether texts differ only in characters that one of them masks; both must have the same length."""
    if len(text) != len(other) or not (_is_masked(text) or _is_masked(other)):
        return False
    return all(left == right or _FILLER in (left, right) for left, right in zip(text, other, strict=True))


def _is_masked(text: str) -> bool:
    return _FILLER * 4 in text


def without_consequences(diagnostics: Sequence[Diagnostic], lost: Iterable[Diagnostic], rule: Rule) -> list[Diagnostic]:
    """The diagnostics without those of `rule` on calls that the server lost: their missing results follow from that."""
    places = {diagnostic.location for diagnostic in lost if diagnostic.rule is rules.CALL_LOST_BY_SERVER}
    return [
        diagnostic for diagnostic in diagnostics if diagnostic.rule is not rule or diagnostic.location not in places
    ]


def with_layer_causes(
    trace: Trace, chain: Chain, flow: Callable[[], DataFlow], differences: Iterable[Diagnostic]
) -> Chain:
    """The chain; its break names the layer and its owner if the failed call or its result was changed on the way.

    `differences` are the diagnostics of layers. If a value that the call needed was no longer in the request, the
    break's message states it. Linear in the trace; free for a chain without a break.
    """
    broken = chain.broken
    if broken is None or broken.code == rules.CALL_LOST_BY_SERVER.code:
        return chain
    step = chain.steps[broken.step - 1]
    clauses = [*_changes_before_reading(step, differences), *_lost_values(tuple(trace.turns), step, flow())]
    if not clauses:
        return chain
    sentence = "; ".join((broken.message.removesuffix("."), *clauses))
    return structs.replace(chain, broken=structs.replace(broken, message=f"{sentence}."))


def _changes_before_reading(step: Step, differences: Iterable[Diagnostic]) -> Iterator[str]:
    """The first difference that arose before the model read the step's result, in words."""
    for difference in differences:
        is_earlier = not difference.location.part.startswith(SENT_PART)
        if difference.rule in _CAUSES and is_earlier and _is_at_step(difference.place_in_turn, step):
            words = difference.fault.message.removesuffix(".")
            rule = difference.rule
            yield f"the cause is the {rule.owner}, at the layer {rule.layer}: {words[:1].lower()}{words[1:]}"
            return


def _is_at_step(location: Location, step: Step) -> bool:
    places = (of_step for of_step in (step.location, step.result_location) if of_step is not None)
    return any(
        (location.turn, location.part) == (of_step.turn, of_step.part)
        and location.range.start <= of_step.range.end
        and of_step.range.start <= location.range.end
        for of_step in places
    )


def _lost_values(turns: Sequence[Turn], step: Step, flow: DataFlow) -> Iterator[str]:
    """The value that a call made up or lacks, if it was in a text that the call's request no longer contains."""
    keys = list(dict.fromkeys(key for key in _missing_keys(turns, step, flow) if 1 < len(key) <= _MAX_KEY_CHARS))
    request, seen = _request_of(turns, step.location.turn) if keys else (None, frozenset[int]())
    if request is None:
        return
    read = {
        message.turn: message.version or turns[message.turn - 1]
        for message in request.messages()
        if message.turn is not None
    }
    others = [message.version for message in request.messages() if message.turn is None and message.version is not None]
    prompt = "\n".join(_whole_text(version) for version in (*read.values(), *others))
    for number in range(step.location.turn - 1, 0, -1):
        turn = turns[number - 1]
        is_input = turn.role in (Role.TOOL, Role.USER) and (number in read or number in seen)
        if not is_input or (read.get(number) is turn and turn.run is None):
            continue
        text = (turn.run.comparable()[1] if turn.run is not None else None) or _whole_text(turn)
        for key in keys:
            if _contains_lost(text, key, prompt):
                yield f"the {quoted(key)} from turn {number} was no longer in the prompt"
                return


def _missing_keys(turns: Sequence[Turn], step: Step, flow: DataFlow) -> Iterator[str]:
    """The names of arguments that the call made up, and of required arguments that it lacks."""
    for argument in flow.of(step.number):
        if not argument.origins and not argument.is_trivial:
            yield argument.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    generation = turns[step.location.turn - 1].generation
    given = step.call.arguments
    if generation is None or not isinstance(given, dict):
        return
    for tool in generation.tools:
        schema = tool.parameters
        required = schema.get("required") if tool.name == step.call.name and isinstance(schema, dict) else None
        if isinstance(required, list):
            yield from (key for key in required if isinstance(key, str) and key not in given)


def _request_of(turns: Sequence[Turn], number: int) -> tuple[ReadRequest | None, frozenset[int]]:
    """The request that a turn answers, and the turns that earlier requests contained."""
    seen: set[int] = set()
    for request in requests_of(turns):
        if isinstance(request, int):
            continue
        if request.turn == number:
            return request, frozenset(seen)
        seen.update(message.turn for message in request.own if message.turn is not None)
    return None, frozenset()


def _contains_lost(text: str, key: str, prompt: str) -> bool:
    """Whether a text states a value for the key that the prompt does not contain."""
    stated = re.compile(rf"(?<!\w){re.escape(key)}[\"'`]?\s*[:=]\s*[\"'`]?([^\s\"'`,;}}\]]+)", re.IGNORECASE)
    values = [match[1] for match in stated.finditer(text)]
    return any(len(value) >= _MIN_VALUE_CHARS and value not in prompt for value in values)


def _whole_text(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX))
