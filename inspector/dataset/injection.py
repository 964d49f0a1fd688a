"""Makes error-recovery samples from good ones: one call is broken, its tool refuses it, and the model corrects it.

Theory of operation. A sample whose chain is ok gets two more messages before one of its calls: the same message with
one fault in the call, and the tool's refusal. The original message follows, with its text replaced by reasoning that
names the fault. The new row is parsed and inspected again: it is kept only if the inspection finds the injected fault
at its position (at the refusal, if only the refusal proves the fault) and no other fault, and rates the chain as
recovered. So a sample that the engine misjudges, or a call that cannot contain a fault, is skipped with the reason.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from random import Random

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Status, Step, StepOutcome
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.faults_to_inject import (
    DEFAULT_RATES,
    KINDS,
    SAME_CALL,
    FaultyCall,
    SoundCall,
    span_of_call,
)
from weaklink.inspector.dataset.lint.engine_faults import TWINS
from weaklink.inspector.dataset.loss_marks import LOSS_MARKS, Trainer
from weaklink.inspector.dataset.messages import shape_of
from weaklink.inspector.dataset.samples import Sample, as_listed, correction_of, read_sample, without_rejected
from weaklink.inspector.diagnostics import Diagnostic
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, Role

LISTS = ("messages", "conversations", "conversation", "items")
_ANNOTATED = ("steps", "critical_path", "decision_points", "depends_on", "data_flow")
_WRAPPERS = ("[inner_monologue]", "<scratch_pad>", "<think>")
_BY_ITSELF = frozenset({"T406"})  # the refusal of a call that has a reported fault
_WRONG_FORMAT = "wrong-format"
_EMPTY = "empty-result"  # no call fails there
_TRIES_PER_FAULT = 12
_NOTHING_FITS = "no fault of a selected kind fits its calls"
_NOTHING_VERIFIED = "the inspection of what was made finds a different fault than the injected one"


class InjectedRow(Struct, frozen=True):
    """A row with an injected fault, and the kind of the fault."""

    value: JsonObject
    kind: str


class _Failure(Enum):
    """Why one try of a kind made no row."""

    UNFIT = auto()
    UNVERIFIED = auto()


class NotInjected(Struct, frozen=True):
    """Why nothing was injected into a row; the reason follows "skipped: " in messages."""

    reason: str


def inject_faults(
    row: DataRow,
    *,
    seed: int,
    rates: Mapping[str, float] = DEFAULT_RATES,
    count: int = 1,
    trainer: Trainer = Trainer.OPENAI,
) -> Iterator[InjectedRow | NotInjected]:
    """At most `count` rows from one row, each with a fault of a different kind; one NotInjected if there is none.

    The message with the fault has the mark by which `trainer` leaves it out of the loss. The same row, seed and rates
    give the same rows.
    """
    sample = read_sample(as_listed(row))
    calls = list(_sound_calls(sample))
    if not calls:
        yield NotInjected(_why_not(sample))
        return
    draw = row.random(seed)
    left = {kind: rate for kind, rate in rates.items() if rate > 0}
    injected_count = unverified = 0
    for _ in range(_TRIES_PER_FAULT * count):
        if not left or injected_count == count:
            break
        kind = draw.choices(list(left), list(left.values()))[0]
        result = _injected(sample, draw.choice(calls), kind, draw, trainer)
        if not isinstance(result, InjectedRow):
            unverified += result is _Failure.UNVERIFIED
            left[kind] *= 0.5
            if left[kind] < rates[kind] / 8:
                del left[kind]
            continue
        del left[kind]
        injected_count += 1
        injected = result.value["injected"]
        assert isinstance(injected, dict)
        value: JsonObject = {**result.value, "injected": {**injected, "seed": seed}}
        yield InjectedRow(without_rejected(row.value, value, "in this row"), kind)
    if not injected_count:
        yield NotInjected(_NOTHING_FITS if not unverified else _NOTHING_VERIFIED)


def _why_not(sample: Sample) -> str:
    if sample.shape is None:
        return f"it has {refusal(sample.row.value)}"
    if sample.shape is Shape.PREFERENCE:
        return "its answers are a preference in `chosen` and `rejected`: convert it first"
    if sample.shape not in (Shape.MESSAGES, Shape.SHAREGPT) or _list_key(sample.row.value) is None:
        return "it has no list of messages"
    if _has_blocks(sample):
        return "its calls are blocks `tool_use`, in which no fault can be written: convert it first"
    if any(key in holder for holder in (sample.row.value, sample.annotation) for key in _ANNOTATED):
        return "its steps are annotated, and the annotation would no longer be correct"
    if sample.inspection.chain.status is not Status.OK:
        return f"its chain is {sample.inspection.chain.status.value}, not ok"
    return _why_no_call(sample)


def _has_blocks(sample: Sample) -> bool:
    """Whether a message has Anthropic's blocks of calls."""
    contents = (message.get("content") for message in sample.messages if isinstance(message, dict))
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)


def _why_no_call(sample: Sample) -> str:
    """Why none of the calls of a sample, which is ok, can get a fault."""
    steps = tuple(sample.inspection.chain.steps)
    if not steps:
        return "it has no call"
    if not sample.offered.tools:
        return "it offers no tools, so that no call can be checked"
    calls_in = Counter(step.location.turn for step in steps)
    if all(calls_in[step.location.turn] > 1 for step in steps):
        return "each of its calls has a parallel one in its message"
    if all(step.result_location is None for step in steps):
        return "its calls have no results, where the refusal would be"
    if "injected" in sample.row.value:
        return "it has an injected fault already"
    if not any(sample.offered.find(step.call.name) for step in steps):
        return "it offers none of the tools that it calls"
    return "it has no valid, answered call of an offered tool that is alone in its message"


def _list_key(row: JsonObject) -> str | None:
    return next((key for key in LISTS if isinstance(row.get(key), list)), None)


def _sound_calls(sample: Sample) -> Iterator[tuple[Step, SoundCall]]:
    """The calls that a fault can be injected into."""
    row = sample.row.value
    if sample.shape not in (Shape.MESSAGES, Shape.SHAREGPT) or _list_key(row) is None or "injected" in row:
        return
    if any(key in holder for holder in (row, sample.annotation) for key in _ANNOTATED) or _has_blocks(sample):
        return
    trace, chain = sample.trace, sample.inspection.chain
    if chain.status is not Status.OK or len(trace.turns) - sample.first_turn + 1 != len(sample.messages):
        return
    calls_in = Counter(step.location.turn for step in chain.steps)
    offered = tuple(tool.name for tool in sample.offered.tools)
    faulty = {diagnostic.location.turn for diagnostic in sample.inspection.diagnostics}
    for step in chain.steps:
        tool = sample.offered.find(step.call.name)
        turn = step.location.turn
        if step.outcome is not StepOutcome.OK or tool is None or calls_in[turn] > 1 or turn in faulty:
            continue
        part = trace.turns[turn - 1].part(step.location.part)
        index = turn - sample.first_turn
        message = sample.messages[index] if 0 <= index < len(sample.messages) else None
        if part is None or not isinstance(message, dict) or not step.call.valid or step.result_location is None:
            continue
        structured = step.location.part.startswith("call:")
        if structured or message.get(shape_of(message).text_key) == part.text:
            format = find_format(sample.wire_format)
            span = span_of_call(step, sample.inspection.parts)
            yield step, SoundCall(step.call, part.text, tool, offered, format, structured, span)


def _injected(
    sample: Sample, target: tuple[Step, SoundCall], kind: str, draw: Random, trainer: Trainer
) -> "InjectedRow | _Failure":
    step, sound = target
    fault = KINDS[kind](sound, draw)
    if fault is None:
        return _Failure.UNFIT
    messages = _messages(sample, step, sound, fault, draw)
    key = _list_key(sample.row.value)
    if messages is None or key is None:
        return _Failure.UNFIT
    faulty = messages[step.location.turn - sample.first_turn]
    if isinstance(faulty, dict) and kind not in SAME_CALL:
        faulty.update(LOSS_MARKS.get(trainer, {}))
    value = {**sample.row.value, key: messages}
    value["injected"] = {"parent": sample.id or sample.reference}
    _relabel(value, kind)
    if kind == _WRONG_FORMAT:
        value.setdefault("format", sample.wire_format)  # the row now has two formats; declare the right one
    again = read_sample(structs.replace(sample.row, value=value, raw=b""))
    diagnostic = _verified(sample, again, step, fault, kind)
    if diagnostic is None:
        return _Failure.UNVERIFIED
    rule = TWINS.get(diagnostic.rule, diagnostic.rule)  # as `lint` and `check` name it in training data
    injected: JsonObject = {
        "rule": rule.name,
        "code": rule.code,
        "kind": kind,
        "turn": diagnostic.location.turn,
        "start": diagnostic.range.start,
        "end": diagnostic.range.end,
        "part": diagnostic.location.part,
        "parent": sample.id or sample.reference,
    }
    return InjectedRow({**value, "injected": injected}, kind)


def _relabel(value: JsonObject, kind: str) -> None:
    """Update the row's type, call count and id for the new conversation."""
    if "type" in value:
        value["type"] = "multi_step_tool_call" if kind == _EMPTY else "error_recovery"
    count = value.get("tool_call_count")
    if isinstance(count, int) and not isinstance(count, bool):
        value["tool_call_count"] = count + 1
    if isinstance(value.get("id"), str):
        value["id"] = f"{value['id']}-{kind}"


def _messages(sample: Sample, step: Step, sound: SoundCall, fault: FaultyCall, draw: Random) -> list[Json] | None:
    """The sample's messages with the faulty call, its refusal and the correction."""
    index = step.location.turn - sample.first_turn
    message = sample.messages[index]
    assert isinstance(message, dict)
    assert step.result_location is not None
    answered = step.result_location.turn - sample.first_turn
    result = sample.messages[answered] if answered < len(sample.messages) else None
    if not isinstance(result, dict):
        return None
    new_id = f"call_{draw.getrandbits(48):012x}" if step.call.id is not None else None
    faulty = _faulty_message(message, step, sound, fault, new_id)
    refusal = _refusal_message(result, step, fault, new_id)
    corrected = _corrected_message(sample, message, sound, fault)
    if faulty is None or refusal is None or corrected is None:
        return None
    return [*sample.messages[:index], faulty, refusal, corrected, *sample.messages[index + 1 :]]


def _faulty_message(
    message: JsonObject, step: Step, sound: SoundCall, fault: FaultyCall, new_id: str | None
) -> JsonObject | None:
    if not sound.structured:
        return {**message, shape_of(message).text_key: fault.text}
    if _is_call_role(message):
        name = write_json(fault.name or step.call.name, ascii_only=False)
        return {**message, shape_of(message).text_key: f'{{"name": {name}, "arguments": {fault.text}}}'}
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and len(calls) == 1 else None
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return None
    function = call["function"]
    assert isinstance(function, dict)
    arguments: Json = fault.text
    if not isinstance(function.get("arguments"), str):
        try:
            arguments = json.loads(fault.text)
        except ValueError:
            return None
    changed: JsonObject = {**function, "name": fault.name or step.call.name, "arguments": arguments}
    named: JsonObject = {"id": new_id} if new_id is not None else {}
    return {**message, "tool_calls": [{**call, **named, "function": changed}]}


def _is_call_role(message: JsonObject) -> bool:
    """Whether a message is LLaMA-Factory's `function_call`, whose value is one call as JSON."""
    return message.get(shape_of(message).role_key) in ("function_call", "tool_call")


def _refusal_message(result: JsonObject, step: Step, fault: FaultyCall, new_id: str | None) -> JsonObject | None:
    """The refusal in the same wrapping as the results of this sample."""
    key = shape_of(result).text_key
    text = result.get(key)
    content = step.result.content if step.result is not None else ""
    if not isinstance(text, str):
        return None
    position = text.find(content) if content else -1
    wrapped = text[:position] + fault.refusal + text[position + len(content) :] if position >= 0 else fault.refusal
    if content and text.count(content) != 1:
        wrapped = fault.refusal
    named: JsonObject = {"tool_call_id": new_id} if "tool_call_id" in result and new_id is not None else {}
    if fault.name is not None and "name" in result:
        named["name"] = fault.name
    return {**result, key: wrapped, **named}


def _corrected_message(sample: Sample, message: JsonObject, sound: SoundCall, fault: FaultyCall) -> JsonObject | None:
    key = shape_of(message).text_key
    if _is_call_role(message):
        return message  # its value is the call; there is no place for a thought
    if sound.structured:
        reasoning_key = next((name for name in ("reasoning_content", "reasoning") if name in message), key)
        return {**message, reasoning_key: fault.thought}
    text = message.get(key)
    if not isinstance(text, str):
        return None
    usual = "[inner_monologue]" if "[tool_call]" in text else "<think>"
    wrapper = next((wrapper for wrapper in _WRAPPERS if any(wrapper in text for text in _answer_texts(sample))), usual)
    closer = wrapper[0] + "/" + wrapper[1:]
    spans = [
        span
        for part in sample.inspection.parts
        for span in part.spans
        if part.turn - sample.first_turn == sample.messages.index(message)
    ]
    first = spans[sound.call.span].range.start if sound.call.span < len(spans) else sound.call.range.start
    return {**message, key: f"{wrapper}\n{fault.thought}\n{closer}\n{text[first:]}"}


def _answer_texts(sample: Sample) -> list[str]:
    turns = (turn for turn in sample.trace.turns if turn.role is Role.ASSISTANT)
    return [part.text for turn in turns for part in turn.parts if part.name == "text"]


def _verified(before: Sample, after: Sample, step: Step, fault: FaultyCall, kind: str) -> Diagnostic | None:
    """The diagnostic of the fault, if the inspection finds it where it was injected, no other fault, and a recovery."""
    chain = after.inspection.chain
    turn = step.location.turn
    broken = next((changed for changed in chain.steps if changed.location.turn == turn), None)
    if broken is None or broken.result is None or broken.result_location is None:
        return None
    if broken.result_location.turn != turn + 1:
        return None
    new = _new_diagnostics(before, after, turn)
    by_refusal = fault.rules[0] in ("T406", "T407")
    allowed = {*fault.rules, *(() if by_refusal else _BY_ITSELF)}
    if any(diagnostic.rule.code not in allowed for diagnostic in new):
        return None
    expected = next((diagnostic for code in fault.rules for diagnostic in new if diagnostic.rule.code == code), None)
    if expected is None or expected.location.turn != (turn + 1 if by_refusal else turn):
        return None
    if by_refusal and kind not in SAME_CALL and any(diagnostic.location.turn == turn for diagnostic in new):
        return None
    if kind == _EMPTY:
        return expected if chain.status is Status.OK else None
    if chain.status is not Status.RECOVERED or correction_of(broken, chain.steps) is None:
        return None
    return expected


def _new_diagnostics(before: Sample, after: Sample, turn: int) -> list[Diagnostic]:
    """The diagnostics that the original sample does not have; its turns from `turn` on are two earlier."""
    old = Counter(
        (
            diagnostic.rule.code,
            diagnostic.location.turn if diagnostic.location.turn < turn else diagnostic.location.turn + 2,
        )
        for diagnostic in before.inspection.diagnostics
    )
    new = []
    for diagnostic in after.inspection.diagnostics:
        key = (diagnostic.rule.code, diagnostic.location.turn)
        if old[key] > 0:
            old[key] -= 1
        else:
            new.append(diagnostic)
    return new


def known_kinds(words: Mapping[str, float]) -> Mapping[str, float]:
    """The rates, validated. Raises ValueError for a kind that does not exist."""
    unknown = [kind for kind in words if kind not in KINDS]
    if unknown:
        raise ValueError(f"unknown kind of fault `{unknown[0]}`; available: {', '.join(KINDS)}")
    return words
