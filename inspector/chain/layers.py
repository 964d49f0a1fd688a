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

_MARKER = 400  # code points: the longest text that an agent puts in place of what it removed
_BETWEEN_BLOCKS = ("\n", "", "\n\n")
_FEWEST_KEPT = 8
_DEEPEST = 200
_MAX_CONTENTS = 10_000  # objects, lists and strings of a JSON value that are compared with another one
_WRAPPER = "content="  # how LangChain's printed form of a message begins
_NOT_KEPT = frozenset({"{}", "null", '""', ""})  # written by instrumentations that do not record the output
_FILLER = "*"  # redaction replaces each character of a secret with this
_Canonical: TypeAlias = object
_SHORTEST_VALUE = 3  # code points of a value that is searched for
_LONGEST_KEY = 80
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


class PlacedTexts:
    """The texts of a trace by location: parts of turns, of requests and of runs.

    Only the messages of one request are in memory at a time, so look locations up in the order of their turns.
    """

    def __init__(self, trace: Trace) -> None:
        self._turns = trace.turns
        self._near: tuple[int, list[ReadMessage]] = (0, [])

    def at(self, place: Location) -> str:
        """The whole text of the part that contains a location; empty if the trace has no such part."""
        if not 0 < place.turn <= len(self._turns):
            return ""
        turn = self._turns[place.turn - 1]
        part = turn.part(place.part)
        if part is not None:
            return part.text
        if place.part in (RUN_RESULT, RUN_ARGUMENTS):
            run = turn.run
            return "" if run is None else (run.result if place.part == RUN_RESULT else run.arguments) or ""
        return self._sent(place) if place.part.startswith(SENT_PART) else ""

    def _sent(self, place: Location) -> str:
        number, _, name = place.part.removeprefix(SENT_PART).partition(":")
        if self._near[0] != place.turn:
            request = self._requests.get(place.turn)
            self._near = place.turn, [] if request is None else request.messages()
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
        return {one.turn: one for one in requests_of(self._turns) if not isinstance(one, int)}


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
        found = next((one for one in left if same_call(call, one)), None)
        if found is None:
            rest.append(call)
        else:
            left.remove(found)
            repeated.append((call, found))
    lost: list[ToolCall] = []
    for call in rest:
        found = next((one for one in left if one.name == call.name and _is_retyped(one, call)), None)
        if found is None:
            lost.append(call)
        else:
            left.remove(found)
            changed.append((call, found))
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
    texts = [one if isinstance(one, str) else write_json(one) for one in (written, parsed)]
    if isinstance(written, str) and isinstance(parsed, str):
        return texts[0].strip() == texts[1].strip()
    return same_arguments(*texts)


def _is_retyped(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls are versions of the same call: one of their values is equal, except perhaps for its type."""
    if not isinstance(one.arguments, dict) or not isinstance(other.arguments, dict):
        return False
    shared = one.arguments.keys() & other.arguments.keys()
    return any(_bare(one.arguments[key]) == _bare(other.arguments[key]) for key in shared)


def _bare(value: object) -> str:
    return str(value).strip().lower().lstrip("0")


def server_differences(
    turn: Turn, number: int, reply: ServerReply, parsed: Sequence[ToolCall], drafts: str
) -> Iterator[Diagnostic]:
    """What the server's structured reply changed or added; `parsed` are its calls, one for each call of the turn.

    `drafts` is the text of the calls that the model drafted in its reasoning: some servers return them.
    """
    headers = {id(call): header for call, header in zip(parsed, turn.calls, strict=False)}
    for call, one in reply.changed:
        wrote, has = quoted(call.raw_arguments), quoted(one.raw_arguments)
        message = f"The model wrote {wrote} for {tool_named(call.name)}, and the server's reply has {has}."
        against = Location(number, "text", call.range)
        fault = Fault(rules.ARGUMENTS_CHANGED_BY_SERVER, one.range, message, against=against)
        yield fault.at(number, headers[id(one)].part)
    for call, one in () if reply.invented else reply.repeated:
        message = f"The server's reply has the call of {tool_named(call.name)} twice: here and in its calls."
        against = Location(number, headers[id(one)].part, one.range)
        yield Fault(rules.CALL_DELIVERED_TWICE, call.range, message, against=against).at(number, "text")
    for one in reply.invented:
        is_drafted = one.name is not None and one.name in drafts
        how = "that the model only drafted in its reasoning" if is_drafted else "that the model's text does not have"
        message = f"The server's reply has a call of {tool_named(one.name)} {how}."
        against = Location(number, "text", Range(0, 0))
        yield Fault(rules.CALL_INVENTED_BY_SERVER, one.range, message, against=against).at(
            number, headers[id(one)].part
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
        run, place = turn.run, step.result_location
        assert place is not None, "only answered steps are placed"
        if run is None:
            if step.call.name in recorded and is_recorded_here(turns[step.location.turn - 1]):
                yield _not_executed(step, place)
            continue
        ran, came = run.comparable()
        if ran is not None and not same_run(ran, step.call.raw_arguments):
            yield _other_arguments(step, run, place)
        text = turn.part("text")
        if came is not None and came not in _NOT_KEPT and text is not None and step.result is not None:
            read = step.result.content
            if (found := result_difference(came, read)) is not None:
                other = next((one for one, _ in map(returned.__getitem__, same.of(read)) if one is not step), None)
                yield _mixed_up(step, place, came, other) if other else _result_diagnostic(step, place, found)


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


def _not_executed(step: Step, place: Location) -> Diagnostic:
    """The diagnostic is at the beginning of the result, before which the run would have been."""
    message = (
        f"This call of {tool_named(step.call.name)} has no recorded run, although other runs of the tool are recorded."
    )
    start = Range(place.range.start, place.range.start)
    return Fault(rules.CALL_NOT_EXECUTED, start, message, against=step.location).at(place.turn, place.part)


def _other_arguments(step: Step, run: RecordedRun, place: Location) -> Diagnostic:
    wrote = quoted(step.call.raw_arguments)
    ran = quoted(run.arguments or "")
    message = f"The model called {tool_named(step.call.name)} with {wrote}, and the agent ran it with {ran}."
    where = Range(0, len(run.arguments or ""))
    fault = Fault(rules.EXECUTED_OTHER_ARGUMENTS, where, message, against=step.location)
    return fault.at(place.turn, RUN_ARGUMENTS)


def _mixed_up(step: Step, place: Location, own: str, other: Step) -> Diagnostic:
    theirs = f"the result of {tool_named(other.call.name)} in turn {other.location.turn}"
    message = f"The result shown for this call of {tool_named(step.call.name)} is {theirs}."
    against = Location(place.turn, RUN_RESULT, Range(0, len(own)))
    fault = Fault(rules.RESULT_ATTACHED_TO_OTHER_CALL, place.range, message, against=against)
    return fault.at(place.turn, place.part)


def _result_diagnostic(step: Step, place: Location, found: "ResultDifference") -> Diagnostic:
    rule, message = found.described(tool_named(step.call.name), "the tool returned")
    where = Range(*found.read).moved(place.range.start)
    where = where if where.end <= place.range.end else place.range
    against = Location(place.turn, RUN_RESULT, Range(*found.other))
    return Fault(rule, where, message, against=against).at(place.turn, place.part)


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
        self.is_cut = self.kept >= _FEWEST_KEPT and self.lost > marker and marker <= _MARKER and self.lost > 1

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
    found = ResultDifference(other, read)
    return found if found.is_cut else _cut_blocks(other, read) or found


def _cut_blocks(other: str, read: str) -> ResultDifference | None:
    """How an MCP server's text blocks, joined as agents join them, were cut; None if they were not."""
    blocks = _result_blocks(_value(other)) if other.lstrip()[:1] == "{" else []
    if len(blocks) < 2:
        return None
    found = max((ResultDifference(between.join(blocks), read) for between in _BETWEEN_BLOCKS), key=lambda one: one.kept)
    found.other = (0, len(other))  # its ranges are those of the joined text, which no layer contains
    return found if found.is_cut else None


def _head(text: str) -> int:
    """The start of a result's own text, after white space and what agents write before it (`_HEADS`)."""
    at = len(text) - len(text.lstrip())
    for head in _HEADS:
        found = head.match(text, at)
        at = found.end() if found else at
    return at + len(text[at:]) - len(text[at:].lstrip())


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


def same_text(one: str, other: str) -> bool:
    """Whether two texts of a result mean the same: white space at the ends, JSON escapes and wrappers are ignored."""
    one, other = one.strip(), other.strip()
    if one == other or _masked_alike(one, other):
        return True
    if not one or not other:
        return False
    if one[0] not in '[{"' and other[0] not in '[{"':
        return _is_wrapped(one, other) or _is_wrapped(other, one)
    if _text_of(one) == _text_of(other) or _contains(one, other) or _contains(other, one):
        return True
    return _contains_blocks(one, other) or _contains_blocks(other, one)


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
    return any(one == text if isinstance(one, str) else bare is not None and one == bare for one in _contents(value))


def _contents(value: _Canonical) -> Iterator[_Canonical]:
    """The objects, lists and stripped strings in a JSON value, itself included; of a huge one not all."""
    stack: list[object] = [value]
    seen = 0
    while stack and seen < _MAX_CONTENTS:
        one = stack.pop()
        seen += 1
        if isinstance(one, str):
            yield one.strip()
        elif isinstance(one, tuple) and len(one) == 2 and one[0] in ("object", "list"):
            yield one
            stack += [member[1] for member in one[1]] if one[0] == "object" else list(one[1])


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
    blocks = [dict(one[1]) for one in value[1] if isinstance(one, tuple) and one[0] == "object"]
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


def same_arguments(one: str, other: str) -> bool:
    """Whether two texts of arguments have the same value.

    5.0 equals 5; white space, key order and escapes are ignored, duplicate keys are not; an empty text equals `{}`.
    """
    if one == other or _masked_alike(one, other):
        return True
    left, right = _value(one.strip() or "{}"), _value(other.strip() or "{}")
    if left is None or right is None:
        return one.strip() == other.strip()
    return _unwrapped(left) == _unwrapped(right)


def _unwrapped(value: _Canonical) -> _Canonical:
    """Arguments written as a string of JSON become that JSON; null becomes an empty object."""
    if isinstance(value, str) and value.lstrip()[:1] == "{" and (inner := _value(value)) is not None:
        return inner
    return ("object", ()) if value == ("null",) else value


def _value(text: str) -> _Canonical | None:
    """The value of a JSON text in a form that compares as in `same_arguments`; None for invalid or too deep JSON."""
    try:
        return _canonical(json.loads(text, object_pairs_hook=_Pairs, parse_float=Decimal, strict=False), _DEEPEST)
    except (ValueError, RecursionError, ArithmeticError):
        return None


class _Pairs(list[tuple[str, object]]):
    """The members of an object, with duplicates."""


def _canonical(value: object, depth: int) -> _Canonical:
    if not depth:
        raise RecursionError("a value is nested too deep")
    match value:
        case _Pairs():
            return "object", tuple(sorted(((key, _canonical(one, depth - 1)) for key, one in value), key=_key))
        case list():
            return "list", tuple(_canonical(one, depth - 1) for one in value)
        case None:
            return ("null",)
        case bool():
            return "true" if value else "false", None
    return value


def _key(member: tuple[str, _Canonical]) -> str:
    return member[0]


def _masked_alike(one: str, other: str) -> bool:
    """Whether texts differ only in characters that one of them masks; both must have the same length."""
    if len(one) != len(other) or not (_is_masked(one) or _is_masked(other)):
        return False
    return all(left == right or _FILLER in (left, right) for left, right in zip(one, other, strict=True))


def _is_masked(text: str) -> bool:
    return _FILLER * 4 in text


def without_consequences(found: Sequence[Diagnostic], lost: Iterable[Diagnostic], rule: Rule) -> list[Diagnostic]:
    """The diagnostics without those of `rule` on calls that the server lost: their missing results follow from that."""
    places = {one.location for one in lost if one.rule is rules.CALL_LOST_BY_SERVER}
    return [one for one in found if one.rule is not rule or one.location not in places]


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
    for one in differences:
        is_earlier = not one.location.part.startswith(SENT_PART)
        if one.rule in _CAUSES and is_earlier and _is_at_step(one.place_in_turn, step):
            words = one.fault.message.removesuffix(".")
            yield f"the cause is the {one.rule.owner}, at the layer {one.rule.layer}: {words[:1].lower()}{words[1:]}"
            return


def _is_at_step(place: Location, step: Step) -> bool:
    places = (one for one in (step.location, step.result_location) if one is not None)
    return any(
        (place.turn, place.part) == (one.turn, one.part)
        and place.range.start <= one.range.end
        and one.range.start <= place.range.end
        for one in places
    )


def _lost_values(turns: Sequence[Turn], step: Step, flow: DataFlow) -> Iterator[str]:
    """The value that a call made up or lacks, if it was in a text that the call's request no longer contains."""
    keys = list(dict.fromkeys(key for key in _missing_keys(turns, step, flow) if 1 < len(key) <= _LONGEST_KEY))
    request, seen = _request_of(turns, step.location.turn) if keys else (None, frozenset[int]())
    if request is None:
        return
    read = {one.turn: one.version or turns[one.turn - 1] for one in request.messages() if one.turn is not None}
    others = [one.version for one in request.messages() if one.turn is None and one.version is not None]
    prompt = "\n".join(_whole_text(one) for one in (*read.values(), *others))
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
    for one in flow.of(step.number):
        if not one.origins and not one.is_trivial:
            yield one.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
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
    for found in requests_of(turns):
        if isinstance(found, int):
            continue
        if found.turn == number:
            return found, frozenset(seen)
        seen.update(one.turn for one in found.own if one.turn is not None)
    return None, frozenset()


def _contains_lost(text: str, key: str, prompt: str) -> bool:
    """Whether a text states a value for the key that the prompt does not contain."""
    stated = re.compile(rf"(?<!\w){re.escape(key)}[\"'`]?\s*[:=]\s*[\"'`]?([^\s\"'`,;}}\]]+)", re.IGNORECASE)
    values = [found[1] for found in stated.finditer(text)]
    return any(len(value) >= _SHORTEST_VALUE and value not in prompt for value in values)


def _whole_text(turn: Turn) -> str:
    return "\n".join(part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX))
