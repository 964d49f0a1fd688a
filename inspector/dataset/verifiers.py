"""Binary verifiers for a model's answers: each finds the diagnostics that make a candidate fail; none means a pass.

`schema-adherence` and `tool-use` are the two categories of verifiers that Nous Research names for Hermes 4. A verifier
is a pure function of a candidate. It checks certain rules; `select` replaces these rules and `ignore` removes some, as
in `weaklink check`.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from types import MappingProxyType

from msgspec import Struct

from weaklink.inspector.chain.expected_calls import ExpectedCall
from weaklink.inspector.chain.faults import is_placeholder
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.steps import Step, StepOutcome, quoted, tool_named
from weaklink.inspector.chain.tool_kinds import bare_name, is_terminal
from weaklink.inspector.checks.arguments import ArgumentPlaces
from weaklink.inspector.checks.json_schema import unsafe_part
from weaklink.inspector.checks.prepared_schema import UncheckedValue, prepared_schema
from weaklink.inspector.checks.violations import listed_names, violation_faults
from weaklink.inspector.checks.wording import at_end, pointer, shown
from weaklink.inspector.dataset.candidates import CandidateCall, CandidateReading, VerifierInput, parameter_name
from weaklink.inspector.dataset.claims import invented_keys, unsupported_claim
from weaklink.inspector.dataset.samples import correction_of
from weaklink.inspector.diagnostics import Diagnostic, Fault
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.json_scanner import JsonNode, read_json
from weaklink.inspector.model import Json, Role, Span, SpanKind, ToolCall
from weaklink.inspector.rules import conversation, json_syntax, schema, verification
from weaklink.inspector.rules.catalogue import select_rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

ENTRY_POINTS = "weaklink.verifiers"
"""The entry point group where packages register verifiers: a Verifier, or a function of a CandidateReading."""

Check = Callable[[CandidateReading], Iterable[Diagnostic]]
_TRANSIENT = re.compile(
    r"time[sd]?[\s_-]?out|\b(?:429|503)\b|too many requests|rate[\s_-]?limit|temporarily unavailable|"
    r"service unavailable|try again",
    re.IGNORECASE,
)
"""A result after which the same call may be tried again: `timed out`, `429`, `rate limit`, `service unavailable`."""


class Verifier(Struct, frozen=True):
    """A verifier: its name, one sentence on what passes, the codes of the rules that cause a failure, and the check.

    `uses_reference`: it compares with the calls that the row expects, so a row whose reference cannot be read has no
    verdict.
    """

    name: str
    summary: str
    rules: tuple[str, ...]
    check: Check
    uses_reference: bool = False


class VerifierVerdict(Struct, frozen=True):
    """Whether a candidate passed a verifier, and the diagnostics that made it fail; none if it passed."""

    verifier: str
    passed: bool
    diagnostics: tuple[Diagnostic, ...]


class UnknownVerifierError(WeaklinkError):
    """No verifier has that name; the message lists the available ones."""


def run_verifier(
    verifier: Verifier,
    candidate: VerifierInput | CandidateReading,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> VerifierVerdict:
    """The verdict of one verifier. `select` are rule codes, names or prefixes instead of the verifier's own.

    Several verifiers of one candidate share its reading.

    Raises UnknownRuleError, and ValueError if the verifier needs the row's reference and that cannot be read, but never
    an error because of the candidate's content.
    """
    reading = candidate if isinstance(candidate, CandidateReading) else CandidateReading(candidate)
    if verifier.uses_reference and reading.candidate.reference_error is not None:
        raise ValueError(reading.candidate.reference_error)
    chosen = _chosen(tuple(select) or verifier.rules, tuple(ignore))
    diagnostics = dict.fromkeys(diagnostic for diagnostic in verifier.check(reading) if diagnostic.rule in chosen)
    ordered = sorted(
        diagnostics,
        key=lambda diagnostic: (
            diagnostic.location.turn,
            diagnostic.location.part,
            diagnostic.range,
            diagnostic.rule.code,
        ),
    )
    return VerifierVerdict(verifier.name, not ordered, tuple(ordered))


@lru_cache(maxsize=64)
def _chosen(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[Rule]:
    return select_rules(select) - select_rules(ignore)


def find_verifier(name: str) -> Verifier:
    """The verifier with that name: built in, or registered by a package. Raises UnknownVerifierError."""
    verifier = _BUILT_IN.get(name) or _registered().get(name)
    if verifier is None:
        raise UnknownVerifierError(f"unknown verifier `{name}`; available: {listed_names(verifier_names())}")
    return verifier


def verifier_names() -> list[str]:
    """The names of all verifiers, built-in ones first."""
    return list(dict.fromkeys((*_BUILT_IN, *_registered())))


@lru_cache(maxsize=1)
def _registered() -> dict[str, Verifier]:
    verifiers = {}
    for entry in entry_points(group=ENTRY_POINTS):
        loaded = entry.load()
        verifier = (
            loaded if isinstance(loaded, Verifier) else Verifier(entry.name, loaded.__doc__ or "", _EVERY_RULE, loaded)
        )
        verifiers[entry.name] = verifier
    return verifiers


_EVERY_RULE = ("J", "S", "F", "T", "C", "R", "V")


# schema-adherence


def check_schema_adherence(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The faults of an answer that should be one JSON value of a schema.

    Besides the JSON, only white space and closed reasoning are allowed. The JSON must be strict and valid under the
    schema, and every object is closed: a key that the schema does not name is a fault, unless `additionalProperties` or
    a pattern allows it. Without a schema, any JSON value passes.
    """
    number = reading.answer_turn
    turn = reading.trace.turns[number - 1] if number else None
    part = turn.part("text") if turn is not None else None
    if turn is None or part is None:
        yield from _no_answer(reading)
        return
    for fault in _json_faults(part.text, reading.candidate.schema, reading.trace.format or "auto"):
        yield fault.at(number, part.name)


def _no_answer(reading: CandidateReading) -> Iterator[Diagnostic]:
    has_calls = any(call.location.turn == reading.answer_turn for call in reading.calls)
    message = "The answer is a call; expected JSON as its text." if has_calls else "There is no answer."
    yield _at_end_of_all(reading, json_syntax.MALFORMED_JSON, message)


def _at_end_of_all(reading: CandidateReading, rule: Rule, message: str) -> Diagnostic:
    turns = reading.trace.turns
    if not turns:
        return Fault(rule, Range(0, 0), message).at(1, "text")
    return at_end(turns[-1], len(turns), rule, message)


def _empty_answer(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The fault of a candidate without an answer: no text outside reasoning and markers, and no call."""
    number = reading.answer_turn
    if not number:
        yield _at_end_of_all(reading, verification.EMPTY_ANSWER, "The candidate has no answer.")
    elif not reading.answer.strip() and not any(call.location.turn == number for call in reading.calls):
        turn = reading.trace.turns[number - 1]
        is_reasoned = any(part.text.strip() for part in turn.parts)
        message = "The answer is empty" + (": it has only reasoning or markers." if is_reasoned else ".")
        yield at_end(turn, number, verification.EMPTY_ANSWER, message)


def _json_faults(text: str, schema_: Json, format: str) -> Iterator[Fault]:
    segmentation = segment(text, format, tools=())
    unclosed = next((span for span in segmentation.spans if span.kind is SpanKind.REASONING and not span.closed), None)
    if unclosed is not None:
        message = "The reasoning is never closed, so there is no JSON outside it."
        yield Fault(json_syntax.MALFORMED_JSON, Range(unclosed.range.start, unclosed.range.start + 1), message)
        return
    pieces = list(_payloads(text, segmentation.spans))
    if not pieces:
        yield Fault(json_syntax.MALFORMED_JSON, Range(0, len(text)), "The answer is empty; expected a JSON value.")
        return
    payload = pieces[0].of(text)
    reading = read_json(payload)
    yield from (fault.moved(pieces[0].start) for fault in reading.faults)
    for extra in (*(node.range.moved(pieces[0].start) for node in reading.nodes[1:]), *pieces[1:]):
        message = "Extra text after the JSON value of the answer; expected exactly one value and nothing else."
        yield Fault(json_syntax.TRAILING_DATA, extra, message)
    if reading.nodes and schema_ is not None:
        yield from _schema_faults(reading.nodes[0], payload, pieces[0].start, schema_)


def _payloads(text: str, spans: Iterable[Span]) -> Iterator[Range]:
    """The ranges of an answer that are neither reasoning nor the chat template's own structure."""
    start: int | None = None
    end = 0
    for span in spans:
        is_excluded = span.kind is SpanKind.REASONING or (span.kind is SpanKind.MARKUP and span.label != "marker")
        if is_excluded:
            if start is not None and text[start:end].strip():
                yield _stripped(text, start, end)
            start = None
            continue
        start = span.range.start if start is None else start
        end = span.range.end
    if start is not None and text[start:end].strip():
        yield _stripped(text, start, end)


def _stripped(text: str, start: int, end: int) -> Range:
    piece = text[start:end]
    return Range(start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))


def _schema_faults(node: JsonNode, payload: str, start: int, schema_: Json) -> Iterator[Fault]:
    value = node.value()
    answer_range = node.range.moved(start)
    raw = node.range.of(payload)
    locator = ArgumentPlaces(ToolCall(None, value, raw, valid=True, range=answer_range, arguments_range=answer_range))
    prepared = prepared_schema(schema_)
    for fault in prepared.faults:
        yield Fault(schema.SCHEMA_NOT_CHECKED, answer_range, f"The schema is not usable: {fault.message}", fault.hint)
    unsafe = unsafe_part(value)
    if unsafe is not None:
        yield Fault(schema.SCHEMA_NOT_CHECKED, locator.of(unsafe.path), f"The answer was not checked: {unsafe.why}.")
        return
    violations = prepared.violations(value)
    if isinstance(violations, UncheckedValue):
        yield Fault(schema.SCHEMA_NOT_CHECKED, answer_range, f"The answer was not checked: {violations.why}.", path="")
        return
    faults = list(violation_faults(violations, value, locator, prepared.known_violations))
    yield from faults
    reported = {fault.path for fault in faults}
    for key in invented_keys(value, prepared.schema if prepared.faults else schema_):
        json_pointer = pointer(key.path)
        if json_pointer not in reported:
            known = f"; it has {listed_names(key.known)}" if key.known else ""
            message = f"The schema has no key {quoted(str(key.path[-1]))}{known}."
            yield Fault(
                schema.UNEXPECTED_PROPERTY, locator.key(key.path), message, "Remove the key.", path=json_pointer
            )


# tool-use


def check_tool_use(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The faults of the calls of a conversation and of its last answer.

    There must be an answer. Every call must be readable in the strict format, offered, and valid under its schema, and
    its arguments must come from the context; ids and results must be paired, and errors recovered from. The calls must
    match the reference, if there is one. Without a reference, an answer that states a number or an action found in no
    result lacks a call. The faults of a failed call that a later turn corrects after its error do not count.
    """
    yield from _empty_answer(reading)
    calls_in = Counter(step.location.turn for step in reading.steps)
    excused = [step for step in reading.steps if correction_of(step, reading.steps) is not None]
    sourced = _expected_places(reading)
    for diagnostic in reading.diagnostics:
        if diagnostic.rule in _STRICTER_BELOW and not reading.is_single:
            continue
        if diagnostic.rule in _ON_VALUES and _place_of(diagnostic) in sourced:
            continue
        if not any(_belongs_to(diagnostic, step, calls_in) for step in excused):
            yield diagnostic
    yield from _repeated(reading.steps, _unreadable_turns(reading))
    numbers = {step.number for step in excused}
    calls = [call for call in reading.calls if call.step is None or call.step.number not in numbers]
    yield from _not_offered(reading)
    yield from _unsourced(reading, calls, sourced)
    yield from _unrecovered(reading, numbers)
    if reading.candidate.expected is not None:
        yield from _against_reference(reading, calls, reading.candidate.expected)
        return
    yield from _claimed_without_call(reading)
    if reading.candidate.require_call and not _own(reading, calls):
        yield _missing_call(reading, "The answer has no call, and one is required.")


_STRICTER_BELOW = (conversation.REPEATED_CALL, conversation.UNRECOVERED_ERROR)
_ON_VALUES = (conversation.PLACEHOLDER_ARGUMENT, conversation.UNSUPPORTED_ARGUMENT)


def _own(reading: CandidateReading, calls: Sequence[CandidateCall]) -> list[CandidateCall]:
    """The calls of the candidate itself, not of the conversation before it."""
    return [call for call in calls if call.location.turn >= reading.candidate.own_from]


def _expected_places(reading: CandidateReading) -> frozenset[tuple[int, str, str]]:
    """The turn, part and path of every argument whose value the reference has: it needs no other source."""
    return frozenset(
        (call.location.turn, call.location.part, pointer([name]))
        for call in _own(reading, reading.calls)
        if isinstance(call.call.arguments, dict)
        for expected in reading.candidate.expected or ()
        if expected.names(call.call.name)
        for name, value in call.call.arguments.items()
        if expected.accepts(name, value)
    )


def _place_of(diagnostic: Diagnostic) -> tuple[int, str, str]:
    path = diagnostic.fault.path or ""
    return diagnostic.location.turn, diagnostic.location.part, "/".join(path.split("/")[:2])


def _not_offered(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The calls of a row whose list of tools is empty, and whose prompt defines none either."""
    if not reading.candidate.offers_none or reading.tools:
        return
    for call in reading.calls:
        message = f"{tool_named(call.call.name)} is called, but the row offers no tool: its list is empty."
        yield _at_call(conversation.UNKNOWN_TOOL, call, message)


def _belongs_to(diagnostic: Diagnostic, step: Step, calls_in: Mapping[int, int]) -> bool:
    """Whether a diagnostic is about this call: in its range, or anywhere in its turn if it is the only call there."""
    where, call = diagnostic.location, step.location
    if where.turn != call.turn:
        return False
    return calls_in[call.turn] == 1 or (where.part == call.part and call.range.covers(diagnostic.range))


def _unreadable_turns(reading: CandidateReading) -> frozenset[int]:
    """The turns with faults of syntax or markers: the same call in correct syntax does not repeat such a call."""
    return frozenset(diagnostic.location.turn for diagnostic in reading.diagnostics if diagnostic.rule.code[0] in "JF")


def _repeated(steps: Sequence[Step], unreadable: Container[int]) -> Iterator[Diagnostic]:
    """Identical calls repeated after they failed or gave the same result; a transient error allows one retry."""
    by_number = {step.number: step for step in steps}
    again: dict[int, list[Step]] = {}
    for step in steps:
        if step.retry_of is not None:
            again.setdefault(step.retry_of, []).append(step)
    for first, retries in again.items():
        if by_number[first].location.turn in unreadable:
            continue
        result = by_number[first].result
        is_transient = result is not None and _TRANSIENT.search(result.content[:2_000]) is not None
        for step in retries[1:] if is_transient else retries:
            message = f"{tool_named(step.call.name)} is called again with the same arguments, which had failed before."
            yield Fault(conversation.REPEATED_CALL, step.location.range, message).at(
                step.location.turn, step.location.part
            )


def _unsourced(
    reading: CandidateReading, calls: Sequence[CandidateCall], expected: Container[tuple[int, str, str]]
) -> Iterator[Diagnostic]:
    """Values that neither the context nor the reference has, in calls of known tools: other enums are unknown."""
    if not any(turn.role is Role.USER for turn in reading.trace.turns):
        return  # the beginning of the conversation is missing
    tools = {tool.name: tool for tool in reading.tools}
    reported = {
        f"{diagnostic.location.turn}{diagnostic.fault.path}"
        for diagnostic in reading.diagnostics
        if diagnostic.rule in (conversation.PLACEHOLDER_ARGUMENT, conversation.UNSUPPORTED_ARGUMENT)
    }
    for candidate in calls:
        call = candidate.call
        if not (call.valid or call.recovered) or call.name is None or is_terminal(call.name):
            continue
        if not isinstance(call.arguments, dict) or call.name not in tools:
            continue
        context, locator = reading.context(candidate.location.turn, tools[call.name]), ArgumentPlaces(call)
        for json_pointer, value in leaves(call.arguments):
            if (candidate.location.turn, candidate.location.part, "/".join(json_pointer.split("/")[:2])) in expected:
                continue
            name = parameter_name(json_pointer)
            keys = {f"{candidate.location.turn}{json_pointer}", f"{name}\0{value}"}
            if reported.isdisjoint(keys) and not context.supports(name, value):
                reported |= keys
                yield _unsourced_diagnostic(candidate, locator, json_pointer, value)


def _unsourced_diagnostic(
    candidate: CandidateCall, locator: ArgumentPlaces, json_pointer: str, value: Json
) -> Diagnostic:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in json_pointer.split("/")[1:]]
    fault_range = locator.of([int(step) if step.isdigit() else step for step in steps])
    rule = verification.UNSOURCED_ARGUMENT
    path = json_pointer.removeprefix("/").replace("/", ".")
    message = (
        f"`{path}` of {tool_named(candidate.call.name)} is {shown(value)}, which is not in the user's messages, the "
        "system prompt or a result."
    )
    if isinstance(value, str) and is_placeholder(value.strip(), may_be_a_word=True):
        rule = conversation.PLACEHOLDER_ARGUMENT
        message = f"`{path}` is {shown(value)}, a placeholder that was not replaced by a value."
    return Fault(rule, fault_range, message, "Ask for the value, or look it up first.", path=json_pointer).at(
        candidate.location.turn, candidate.location.part
    )


def _unrecovered(reading: CandidateReading, corrected: Container[int]) -> Iterator[Diagnostic]:
    """The step that broke the chain, if its result is an error."""
    broken = None if reading.is_single else reading.inspection.chain.broken
    if broken is None or broken.outcome is not StepOutcome.ERROR_RESULT or broken.step in corrected:
        return
    step = reading.steps[broken.step - 1]
    location = step.result_location or step.location
    message = f"{tool_named(step.call.name)} returned an error, and no later call recovered from it."
    yield Fault(conversation.UNRECOVERED_ERROR, location.range, message).at(location.turn, location.part)


def _against_reference(
    reading: CandidateReading, calls: Sequence[CandidateCall], expected: Sequence[ExpectedCall]
) -> Iterator[Diagnostic]:
    """The differences between the candidate's calls and those that the row expects, in any order."""
    unmatched = _own(reading, calls)
    if not unmatched and reading.candidate.require_call is False:
        return
    missing: list[ExpectedCall] = []
    for expected_call in expected:
        made = next((call for call in unmatched if expected_call.is_made_by(call.call)), None)
        if made is None:
            missing.append(expected_call)
        else:
            unmatched.remove(made)
    for expected_call in missing:
        near = next((call for call in unmatched if expected_call.names(call.call.name)), None)
        if near is None:
            yield _missing_call(
                reading, f"The reference has a call of {tool_named(expected_call.tool)}, which is missing."
            )
        else:
            unmatched.remove(near)
            yield _wrong_call(near, expected_call)
    for call in unmatched:
        message = f"{tool_named(call.call.name)} is called, but the reference has no such call."
        yield _at_call(verification.UNNEEDED_CALL, call, message)


def _wrong_call(candidate: CandidateCall, expected: ExpectedCall) -> Diagnostic:
    given = candidate.call.arguments if isinstance(candidate.call.arguments, dict) else {}
    missing = [name for name in expected.arguments if name not in given and not expected.may_lack(name)]
    extra = [name for name in given if name not in expected.arguments]
    changed = [name for name in given if name in expected.arguments and not expected.accepts(name, given[name])]
    parts = [
        f"{words} {listed_names(names)}"
        for words, names in (("missing", missing), ("different values for", changed), ("extra", extra))
        if names
    ]
    detail = f": {'; '.join(parts)}" if parts else ""
    message = f"The arguments of {tool_named(candidate.call.name)} differ from the reference{detail}."
    return _at_call(verification.WRONG_CALL, candidate, message)


def _at_call(rule: Rule, candidate: CandidateCall, message: str) -> Diagnostic:
    return Fault(rule, candidate.location.range, message).at(candidate.location.turn, candidate.location.part)


def _missing_call(reading: CandidateReading, message: str) -> Diagnostic:
    number = reading.answer_turn or len(reading.trace.turns)
    if not number:
        return Fault(verification.MISSING_CALL, Range(0, 0), message).at(1, "text")
    turn = reading.trace.turns[number - 1]
    part = turn.part("text") or turn.parts[-1]
    return Fault(verification.MISSING_CALL, Range(0, len(part.text)), message).at(number, part.name)


def _claimed_without_call(reading: CandidateReading) -> Iterator[Diagnostic]:
    number = reading.answer_turn
    if not number or not reading.tools or any(call.location.turn == number for call in reading.calls):
        return
    ok = any(step.outcome is StepOutcome.OK for step in reading.steps)
    arguments = [call.call.raw_arguments for call in reading.calls]
    claim = unsupported_claim(reading.answer, reading.context(number), arguments, has_acted=ok)
    if claim is None:
        return
    part = reading.trace.turns[number - 1].part("text")
    assert part is not None
    position = part.text.find(claim.text)
    fault_range = Range(position, position + len(claim.text)) if position >= 0 else Range(0, len(part.text))
    message = f"The answer states {quoted(claim.text)}, which is in no result: {claim.what} needs a call."
    yield Fault(verification.MISSING_CALL, fault_range, message).at(number, part.name)


# further verifiers


def check_answer_format(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The fault of an answer that does not fully match the row's `answer_format`; reasoning is ignored."""
    yield from _empty_answer(reading)
    pattern = reading.candidate.answer_format
    number = reading.answer_turn
    if pattern is None or not number:
        return
    turn = reading.trace.turns[number - 1]
    part = turn.part("text") or turn.parts[-1]
    segmentation = segment(part.text, reading.trace.format or "auto")
    is_open = any(span.kind is SpanKind.REASONING and not span.closed for span in segmentation.spans)
    answer = "".join(piece.of(part.text) for piece in _payloads(part.text, segmentation.spans))
    # jsonschema-rs runs the expression in linear time, or with a limit on backtracking.
    checked = prepared_schema({"type": "string", "pattern": f"^(?:{pattern})$"})
    if checked.faults:
        message = f"The row's `answer_format` {quoted(pattern)} is not a supported regular expression."
    elif is_open or checked.violations(answer):
        message = f"The answer does not match {quoted(pattern)}."
    else:
        return
    yield Fault(verification.WRONG_ANSWER_FORMAT, Range(0, len(part.text)), message).at(number, part.name)


def check_reasoning_cap(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The faults of turns whose reasoning has more tokens than the cap (30,000), or never ends."""
    yield from _empty_answer(reading)
    yield from reading.inspection.diagnostics


def check_multi_step(reading: CandidateReading) -> Iterator[Diagnostic]:
    """The faults of a chain that did not succeed: a step that broke it, or a missing answer.

    A chain passes with at least two steps, all ok or recovered from, and a final answer in text.
    """
    steps = reading.inspection.chain.steps
    if len(steps) < 2:
        counted_steps = "one step" if steps else "no steps"
        yield _missing_call(reading, f"The conversation has {counted_steps}; a chain has at least two.")
    broken = reading.inspection.chain.broken
    if broken is not None:
        step = steps[broken.step - 1]
        yield Fault(conversation.UNRECOVERED_ERROR, step.location.range, broken.message).at(
            step.location.turn, step.location.part
        )
    if steps and not reading.answer.strip() and not is_terminal(bare_name(steps[-1].call.name or "")):
        turns = reading.trace.turns
        message = "The chain ends without a text answer."
        yield at_end(turns[-1], len(turns), conversation.NO_FINAL_ANSWER, message)


SCHEMA_ADHERENCE = Verifier(
    "schema-adherence",
    "The answer is exactly one JSON value, valid under the requested schema, without invented keys.",
    ("J1", "S201", "S202", "S203", "S204", "S205", "S206", "S210", "F301"),
    check_schema_adherence,
)
TOOL_USE = Verifier(
    "tool-use",
    "Every call is readable, offered, valid and supported; results are paired, errors recovered, no call missing.",
    (
        *("J1", "S201", "S202", "S203", "S204", "S205", "S206"),
        *("F301", "F302", "F303", "F306", "F308", "F309", "F310", "F311", "F312", "F315", "F316", "F317", "F318"),
        *("T401", "T402", "T403", "T404", "T405", "T408", "T409", "T410", "T411", "T412", "T413"),
        *("V901", "V902", "V903", "V904", "V906"),
    ),
    check_tool_use,
    uses_reference=True,
)
ANSWER_FORMAT = Verifier(
    "answer-format",
    "The answer matches the row's regular expression `answer_format`.",
    ("V905", "V906"),
    check_answer_format,
)
REASONING_CAP = Verifier(
    "reasoning-cap",
    "No turn reasons for more than 30,000 tokens, and reasoning is closed.",
    ("R601", "F301", "V906"),
    check_reasoning_cap,
)
MULTI_STEP = Verifier(
    "multi-step",
    "A chain of at least two steps, each ok or recovered from, that ends with an answer.",
    ("T413", "T414", "V902"),
    check_multi_step,
)
_BUILT_IN = MappingProxyType(
    {verifier.name: verifier for verifier in (SCHEMA_ADHERENCE, TOOL_USE, ANSWER_FORMAT, REASONING_CAP, MULTI_STEP)}
)
