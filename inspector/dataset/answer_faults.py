"""Faults to inject into a recorded answer when it is replayed: in its delivery, or in the call that it makes.

A word names a fault: `drop-after=20` (the connection ends after 20 pieces, or in the middle of the last piece if there
are no more than 20), `delay=5s`, `status=429`, `truncate-call`, a kind of `inspector.dataset.faults_to_inject`, or the
code of a rule that such a kind breaks (`J110`, `S201`).
"""

import json
import re
from collections.abc import Container, Iterator
from random import Random

from msgspec import Struct, structs

from weaklink.inspector.apis import gemini
from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.apis.providers import OLLAMA
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.dataset.faults_to_inject import KINDS, FaultyCall, SoundCall, span_of_call
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import Part, Role, ToolDefinition, Trace, Turn
from weaklink.inspector.model.exchange import ExchangeEnd, RecordedExchange
from weaklink.inspector.replay.answers import error_answer

DELIVERY = ("drop-after=1", "delay=1s", "status=429", "status=500")
"""The delivery faults that `all` tries."""

CALLS = (
    "truncate-call",
    "malformed-json",
    "wrong-type",
    "missing-required",
    "unknown-key",
    "enum-violation",
    "wrong-tool-name",
    "wrong-format",
    "drafted-in-reasoning",
)
"""The call faults that `all` tries."""

_WORD = re.compile(r"(?P<kind>[^@]+?)(?:@turn(?P<turn>\d{1,9}))?")
_DELIVERY = re.compile(r"(drop-after)=(\d{1,9})|(delay)=(\d{1,5}(?:\.\d{1,3})?)s?|(status)=([45]\d\d)")
_RENAMED = {"truncate-call": "truncated-stream"}
_OF_DELIVERY = {"drop-after": ("C504",), "status": ("C505", "C514")}
_DRAWS, _FEW_DRAWS = 60, 6
_OBJECTS = frozenset({anthropic.API, gemini.API, *OLLAMA})
"""APIs whose answers contain arguments as a JSON object, which is never malformed; Anthropic's streams contain text."""


class InjectionError(WeaklinkError):
    """A fault cannot be injected where it was requested; the message says why."""


class AnswerFault(Struct, frozen=True):
    """A fault for the answer of one turn.

    `turn` is the number of the turn in the trace. `delivery` names a delivery fault and `value` is its number; for a
    call fault, `answer` is the turn to send instead of the recorded one. `rules` are the codes of the rules that may
    report the fault; the first one always does.
    """

    kind: str
    turn: int
    delivery: str = ""
    value: float = 0.0
    answer: Turn | None = None
    rules: tuple[str, ...] = ()

    def altered(self, exchange: RecordedExchange) -> tuple[RecordedExchange, float]:
        """The exchange with the delivery fault applied, and the delay in seconds before its answer."""
        match self.delivery:
            case "delay":
                return exchange, self.value
            case "status":
                status = int(self.value)
                body = error_answer(exchange.path, status, f"Injected status {status}.", "injected")
                headers = (("content-type", "application/json"),)
                return structs.replace(exchange, status=status, headers=headers, answer=body, ends=(len(body),)), 0.0
            case "drop-after":
                ends = exchange.ends[: int(self.value)]
                if ends == exchange.ends and ends:
                    ends = (*ends[:-1], (exchange.ends[-1] + (0, *ends)[-2]) // 2)
                answer = (exchange.answer or b"")[: ends[-1] if ends else 0]
                end = ExchangeEnd.UPSTREAM_DROPPED
                return structs.replace(exchange, answer=answer, ends=ends, end=end, message="Injected."), 0.0
        return exchange, 0.0


def answer_fault(
    word: str, trace: Trace, inspection: Inspection, streamed: Container[int] = frozenset()
) -> AnswerFault:
    """The fault that a word such as `malformed-json@turn3` names; without a turn, in the first turn that can have it.

    `streamed` are the numbers of the turns whose answers are streams. Raises InjectionError if the word names no fault,
    or the answer cannot contain the fault.
    """
    match = _WORD.fullmatch(word.strip())
    if match is None:
        raise InjectionError(f"`{word}` is not a fault; write `KIND@turnN`, such as `malformed-json@turn3`")
    kind, turn = match["kind"], int(match["turn"]) if match["turn"] else None
    delivery = _DELIVERY.fullmatch(kind)
    if delivery is not None:
        name, value = (group for group in delivery.groups() if group is not None)
        return AnswerFault(kind, _answer_turn(trace, turn), name, float(value), rules=_OF_DELIVERY.get(name, ()))
    if kind not in {*CALLS, *KINDS} and not re.fullmatch(r"[JFST]\d{3}", kind):
        known = ", ".join(("drop-after=N", "delay=Ns", "status=NNN", *CALLS))
        raise InjectionError(f"`{kind}` is not a fault that can be injected; available: {known}, and rule codes")
    for where, sound in _sound_calls(trace, inspection, turn):
        answer = trace.turns[where.turn - 1]
        for fault in _faults(kind, sound, _takes_objects(answer, where.turn in streamed)):
            faulty = _with_fault(answer, where.part, fault)
            if _is_found(trace, where.turn, faulty, fault):
                return AnswerFault(kind, where.turn, answer=faulty, rules=fault.rules)
    target = "any turn of the trace" if turn is None else f"turn {turn}"
    raise InjectionError(f"cannot inject `{kind}` into {target}: no valid call there can have this fault in this API")


def _answer_turn(trace: Trace, turn: int | None) -> int:
    """The number of the answer: by default the first without an error, since a fault changes nothing of an error."""
    answers = {number: answer for number, answer in enumerate(trace.turns, 1) if answer.role is Role.ASSISTANT}
    if not answers or (turn is not None and turn not in answers):
        raise InjectionError(f"turn {turn or 1} is not a model answer; answers are turns {list(answers)}")
    whole = (
        number for number, answer in answers.items() if answer.generation is None or answer.generation.error is None
    )
    return turn or next(whole, min(answers))


def _faults(kind: str, sound: SoundCall, takes_objects: bool) -> Iterator[FaultyCall]:  # noqa: FBT001  # a fact, no option
    is_code = kind not in {*KINDS, *_RENAMED}
    makers = [KINDS[name] for name in KINDS] if is_code else [KINDS[_RENAMED.get(kind, kind)]]
    for seed in range(_DRAWS if is_code else _FEW_DRAWS):
        for maker in makers:
            fault = maker(sound, Random(seed))
            if fault is None or (is_code and fault.rules[0] != kind) or (fault.text == sound.text and not fault.name):
                continue
            if not (takes_objects and sound.structured and not _is_object(fault.text)):
                yield fault


def _takes_objects(turn: Turn, is_stream: bool) -> bool:  # noqa: FBT001  # a fact, no option
    api = turn.generation.api if turn.generation is not None else ""
    return api in _OBJECTS and not (is_stream and api == anthropic.API)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _sound_calls(trace: Trace, inspection: Inspection, turn: int | None) -> Iterator[tuple[Location, SoundCall]]:
    for step in inspection.chain.steps:
        number = step.location.turn
        answer = trace.turns[number - 1]
        part = answer.part(step.location.part)
        offered = OfferedTools(_offered(trace, inspection, number))
        tool = offered.find(step.call.name or "")
        if turn in (None, number) and part is not None and tool is not None and step.call.valid:
            names = tuple(definition.name for definition in offered.definitions)
            is_structured = step.location.part.startswith("call:")
            format = find_format(inspection.format or "hermes")
            span = span_of_call(step, inspection.parts)
            yield step.location, SoundCall(step.call, part.text, tool, names, format, is_structured, span)


def _offered(trace: Trace, inspection: Inspection, number: int) -> tuple[ToolDefinition, ...]:
    """The tools of a turn's request; if it has none, the tools that earlier texts define."""
    generation = trace.turns[number - 1].generation
    if generation is not None and generation.tools:
        return generation.tools
    earlier = (part for part in inspection.parts if part.turn < number)
    return tuple(
        tool for part in earlier if trace.turns[part.turn - 1].role is not Role.ASSISTANT for tool in part.definitions
    )


def _is_found(trace: Trace, number: int, faulty: Turn, fault: FaultyCall) -> bool:
    """Whether the inspection finds the fault: a schema may allow what another forbids."""
    turns = (*trace.turns[: number - 1], faulty)
    diagnostics = inspect_trace(structs.replace(trace, turns=turns)).diagnostics
    return any(diagnostic.location.turn == number and diagnostic.rule.code in fault.rules for diagnostic in diagnostics)


def _with_fault(turn: Turn, name: str, fault: FaultyCall) -> Turn:
    parts = tuple(Part(part.name, fault.text) if part.name == name else part for part in turn.parts)
    calls = tuple(
        structs.replace(call, name=fault.name) if call.part == name and fault.name is not None else call
        for call in turn.calls
    )
    return structs.replace(turn, parts=parts, calls=calls)
