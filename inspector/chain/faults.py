"""The diagnostics of a chain's calls, results and ending: T402 to T414."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType

from msgspec import Struct, structs

from weaklink.inspector.chain.data_flow import ArgumentFlow, DataFlow, OriginKind
from weaklink.inspector.chain.effects import may_be_silent
from weaklink.inspector.chain.endings import abort_reason, lacks_last_answer
from weaklink.inspector.chain.outcomes import goes_on_after, is_empty, last_turn_with_words
from weaklink.inspector.chain.pairing import Pairing
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.similar_calls import loops_in_turns, repetitions, same_result
from weaklink.inspector.chain.steps import (
    Certainty,
    Chain,
    ResultKind,
    Said,
    Speech,
    Step,
    StepOutcome,
    quoted,
    tool_named,
)
from weaklink.inspector.chain.tool_kinds import bare_name, ends_run, is_search, is_terminal
from weaklink.inspector.checks.arguments import ArgumentPlaces
from weaklink.inspector.checks.repetition import repeated_message
from weaklink.inspector.checks.wording import at_end
from weaklink.inspector.diagnostics import Diagnostic, Fault, Location
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import FinishReason, Role, RunState, ToolCall, ToolResult, Trace, Usage
from weaklink.inspector.rules import conversation as rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range, terminal_range, without_terminal_sequences

_KNOWN_ALREADY = "Continue with the existing result."
_ENDINGS = MappingProxyType({1: "st", 2: "nd", 3: "rd"})
_MIN_SUCCESSES = 2  # successful calls of a tool; one alone does not show what is normal for it
_NO_MATCH = lazy_pattern(r"[\[{]\s*[\]}]$")

# Arguments in which the agent writes its own words.
_FREE_TEXT = lazy_pattern(
    r"(?:.*_)?(?:text|message|content|body|reason|thought|summary|title|note|notes|answer|comment|description|query|q|"
    r"prompt|question|code|command|cmd|script|pattern|keywords?|todos?)"
)

_MAX_REFERENCE_CHARS, _MAX_REFERENCE_WORDS, _MAX_CALLS = 64, 4, 8

# Placeholders in place of a value. Each must be the whole argument; within a longer text it may be intended.
_PLACEHOLDER = lazy_pattern(
    r"<(?!/?(?:br|hr|p|b|i|div|span|ul|li|html|body)>)[A-Za-z][\w .:-]{2,60}>"  # <previous_result>
    r"|\{\{[^{}]{1,80}\}\}"  # {{user_id}}
    r"|\$\{?[A-Za-z_]\w*(?:\[\d+\]|\.[A-Za-z_]\w*)+(?:\[\d+\])*\}?"  # $results[0].url
    r"|\$\{?(?:step|prev|previous|result|results|output)(?:_?\w+)?\}?"  # $step1_output
    r"|\[(?:insert|enter|your|previous|result of|output of|to be)\b[^\[\]]{0,60}\]",  # [insert name here]
    re.IGNORECASE,
)

# A user may mean `your_dataset_name` literally: checked only if the trace has the user's words, without this one.
_PLACEHOLDER_WORD = lazy_pattern(
    r"(?:your|insert|replace|enter)[_-](?:\w+[_-])*(?:here|id|key|token|name|value|email|url|number)"  # YOUR_API_KEY
    r"|example(?:[_-](?:id|key|name|value|text|string))?|(?:TODO|TBD|FIXME|PLACEHOLDER)",
    re.IGNORECASE,
)

_MAX_PLACEHOLDER_CHARS = 90

_IDENTIFYING = lazy_pattern(
    r"(?:^|_)(?:ids?|uuid|guid|number|no|code|ref|reference|account|invoice|ticket|tracking|sku|token|email|phone|"
    r"iban|isbn|vin|hash|sha)$"
)

_ID = lazy_pattern(
    r"(?=\S*\d{4})[\w#+.:@/-]{5,64}|(?=\S*\d\d)(?=\S*[A-Za-z])[\w#-]{6,64}|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
)

_DATE = lazy_pattern(r"\d{4}-\d\d|\d{1,2}[:/.]\d\d")

_CREATES = frozenset(
    ["create", "add", "new", "make", "register", "generate", "insert", "init", "open", "start", "allocate"]
)

_FILL = "Make this call after the one whose result it needs, with the value from that result."
_ASK = "Look up the value with a tool, or ask the user for it."
_SAY_SO = "Let the agent say that the call failed, or try another way, before it continues."
_MAX_TOKENS_OF_NOTHING = 2  # that servers count of an empty answer: its end, and a marker before it
_DROPPED = "A parser may have dropped a call: `weaklink probe URL` shows what the server's loses."
_ANSWER = "Check the client's step limit and what it sent to the model after this."


def chain_diagnostics(
    trace: Trace, pairing: Pairing, chain: Chain, flow: Callable[[], DataFlow]
) -> Iterator[Diagnostic]:
    """The faults between calls and results; `chain.broken` shows which of them broke the chain."""
    yield from _pairing_faults(pairing)
    parsed = [step for step in chain.steps if step.location not in pairing.attempts]
    yield from _missing_results(trace, parsed)
    yield from _out_of_order(chain.steps)
    yield from _error_results(chain.steps)
    yield from _empty_results(chain.steps, flow)
    yield from _loops(chain.steps)


def _pairing_faults(pairing: Pairing) -> Iterator[Diagnostic]:
    for placed in pairing.repeated_ids:
        message = f"The id {quoted(placed.call.id or '')} belongs to an earlier call that is still open."
        hint = "Give every call a unique id."
        yield _diagnostic(placed.location, rules.DUPLICATE_CALL_ID, message, hint)
    for orphan in pairing.orphans:
        if orphan.result.call_id is None and _REFUSED_FORM.match(orphan.result.content) is not None:
            continue  # the agent tells the model that its answer, which has no call, could not be read
        named = f" for call {quoted(orphan.result.call_id)}" if orphan.result.call_id else ""
        yield _diagnostic(
            orphan.location, rules.RESULT_WITHOUT_CALL, f"This result{named} does not answer an open call."
        )


_REFUSED_FORM = lazy_pattern(
    r"""
    \s{0,8}(?:
        # LangChain's `ReActSingleInputOutputParser` and `AgentExecutor`
        Invalid[ ]Format:[ ]Missing[ ]'Action | Invalid[ ]or[ ]incomplete[ ]response
        | Could[ ]not[ ]parse[ ]LLM[ ]output | Parsing[ ]LLM[ ]output[ ]produced[ ]both
    )
    """,
    re.VERBOSE,
)


def _missing_results(trace: Trace, steps: Sequence[Step]) -> Iterator[Diagnostic]:
    went_on_after = last_turn_with_words(trace)
    for step in steps:
        if step.result is None and step.location.turn < went_on_after and not ends_run(step.call):
            end = ", and the conversation continued" if goes_on_after(trace, step) else ": the session ended there"
            message = f"The call of {tool_named(step.call.name)} got no result{end}."
            yield _diagnostic(step.location, rules.CALL_WITHOUT_RESULT, message)


def _out_of_order(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    """Results that come after the result of a call that was made later."""
    answered = [step for step in steps if step.result_location is not None]
    earliest: Step | None = None
    for step in reversed(answered):
        if earliest is not None and _last_location(step) > _last_location(earliest) and not _share_id(step, earliest):
            mine, theirs = tool_named(step.call.name), tool_named(earliest.call.name)
            message = f"This result of {mine} comes after that of {theirs}, which was called later."
            yield _diagnostic(step.result_location, rules.RESULT_OUT_OF_ORDER, message)
        elif earliest is None or _last_location(step) < _last_location(earliest):
            earliest = step


def _share_id(step: Step, other: Step) -> bool:
    """Whether two calls have the same id, so that their results cannot be told apart."""
    return step.call.id is not None and step.call.id == other.call.id


def _last_location(step: Step) -> Location:
    return step.result_location or step.location


def _error_results(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    for step in steps:
        if step.result is not None and step.outcome is StepOutcome.ERROR_RESULT:
            words = f": {quoted(step.error)}" if step.error else ""
            sure = ", judged by its text only" if step.certainty is Certainty.TEXTUAL else ""
            location = _location_of_words(step.result, step.error or "", step.result_location)
            message = f"{tool_named(step.call.name)} answered with an error{sure}{words}."
            yield _diagnostic(location, rules.ERROR_RESULT, message)


def _empty_results(steps: Sequence[Step], flow: Callable[[], DataFlow]) -> Iterator[Diagnostic]:
    for empty in empty_results(steps, flow):
        said = empty.content
        shown = f"nothing but {quoted(said)}" if said else "an empty result"
        used = f"; the next call uses {quoted(empty.made_up)}, which was not found earlier" if empty.made_up else ""
        message = f"{tool_named(empty.step.call.name)} answered with {shown}{used}."
        yield _diagnostic(empty.step.result_location, rules.EMPTY_RESULT, message)


def _location_of_words(result: ToolResult, words: str, whole: Location | None) -> Location | None:
    """The location of an error's words in its result, if they occur there verbatim and once; else the whole result."""
    if whole is None or not words or len(result.content) != len(whole.range):
        return whole
    plain = without_terminal_sequences(result.content)
    start = plain.find(words)
    if start < 0 or plain.find(words, start + 1) >= 0:
        return whole
    words_range = terminal_range(result.content, Range(start, start + len(words)))
    return structs.replace(whole, range=words_range.moved(whole.range.start))


def _loops(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    if len(steps) < 2:
        return
    in_turns: set[int] = set()
    for same in loops_in_turns(steps):
        in_turns.update(step.number for step in same)
        message = repeated_message(tool_named(same[0].call.name), len(same))
        hint = "Make the call only once, and stop the generation after it."
        yield _diagnostic(same[1].location, rules.REPEATED_CALL, message, hint)
    for repetition in repetitions(steps):
        if repetition.step.number in in_turns:
            continue
        step, first = repetition.step, repetition.first
        came = "the same result" if same_result(step, first) else "no better result"
        message = (
            f"{tool_named(step.call.name)} is called with the same arguments as in turn {first.location.turn}, "
            f"for the {_ordinal(repetition.count)} time and with {came}."
        )
        hint = "Change the arguments, or stop and say what failed." if step.outcome.failed else _KNOWN_ALREADY
        yield _diagnostic(step.location, rules.REPEATED_CALL, message, hint)


def _ordinal(count: int) -> str:
    if 10 < count % 100 < 14:
        return f"{count}th"
    return f"{count}{_ENDINGS.get(count % 10, 'th')}"


def _diagnostic(location: Location | None, rule: Rule, message: str, hint: str | None = None) -> Diagnostic:
    assert location is not None
    return Fault(rule, location.range, message, hint).at(location.turn, location.part)


class EmptyResult(Struct, frozen=True):
    """A call with an empty result, where a result with content could be expected.

    `content` is the whole result, `""` or an empty JSON value; `made_up` a value of the next call that was not found
    earlier, None if there is none.
    """

    step: Step
    content: str
    made_up: str | None = None


def tools_usually_empty(steps: Iterable[Step]) -> frozenset[str]:
    """The tools with empty results for most of their `ok` calls, of which there are two or more: it is their contract.

    Names are as `bare_name` returns them.
    """
    answered, empty = Counter[str](), Counter[str]()
    for step in steps:
        if step.outcome is StepOutcome.OK and step.result is not None and step.call.name:
            name = bare_name(step.call.name)
            answered[name] += 1
            empty[name] += is_empty(step.result)
    return frozenset(
        name for name, count in empty.items() if answered[name] >= _MIN_SUCCESSES and 2 * count > answered[name]
    )


def empty_results(steps: Sequence[Step], flow: Callable[[], DataFlow]) -> Iterator[EmptyResult]:
    """The empty results of `ok` calls whose tool is expected to return something, and of searches, in order."""
    empty = [step for step in steps if _is_unexpected(step)]
    if not empty:
        return
    known = tools_usually_empty(steps)
    next_values = _NextValues(steps, flow())
    for step in empty:
        if bare_name(step.call.name or "") in known:
            continue
        content = step.result.content.strip() if step.result is not None else ""
        made_up = next_values.made_up(step)
        if made_up is not None or not (is_search(step.call.name or "") and _NO_MATCH.search(content)):
            yield EmptyResult(step, content, made_up)


def _is_unexpected(step: Step) -> bool:
    is_answered = step.is_good or (step.result_kind is ResultKind.PROBE and is_search(step.call.name or ""))
    if not is_answered or step.result is None or not is_empty(step.result) or _is_not_kept(step.result):
        return False
    return not ends_run(step.call) and not may_be_silent(step.call)


def _is_not_kept(result: ToolResult) -> bool:
    """Whether the source records that a tool ran, and nothing of what it returned."""
    recorded = result.recorded
    return recorded is not None and recorded.state is RunState.COMPLETED and recorded.exit_code is None


class _NextValues:
    """The values of the calls in the turn after a result."""

    def __init__(self, steps: Sequence[Step], flow: DataFlow) -> None:
        self._steps = steps
        self._turns = [step.location.turn for step in steps]
        self._flows: defaultdict[int, list[ArgumentFlow]] = defaultdict(list)
        for argument in flow.flows:
            if not argument.origins and not argument.is_trivial:
                self._flows[argument.step].append(argument)

    def made_up(self, step: Step) -> str | None:
        """The first value in the next turn's calls that may name something and was not found earlier."""
        known = (step.result_location or step.location).turn
        first = bisect_right(self._turns, known)
        for later in self._steps[first : first + _MAX_CALLS]:
            if later.location.turn != self._turns[first] or is_search(later.call.name or ""):
                return None
            for argument in self._flows.get(later.number, ()):
                if _may_be_reference(argument):
                    return str(argument.value)
        return None


def _may_be_reference(flow: ArgumentFlow) -> bool:
    """Whether a value may name something that must exist, and is not the agent's own wording."""
    if not isinstance(flow.value, (str, int)):
        return False
    key = next((word for word in reversed(flow.pointer.split("/")) if not word.isdigit()), "")
    text = str(flow.value)
    return (
        len(text) <= _MAX_REFERENCE_CHARS
        and text.count(" ") < _MAX_REFERENCE_WORDS
        and not _FREE_TEXT.fullmatch(key.lower())
    )


def argument_diagnostics(trace: Trace, steps: Sequence[Step], flow: Callable[[], DataFlow]) -> Iterator[Diagnostic]:
    """T411 and T412 for the calls that could be read, each at the characters of its value."""
    may_know_all = _is_whole(trace)
    suspects = {step.number: step for step in steps if has_suspect(step.call, may_know_all=may_know_all)}
    if not suspects:
        return
    step: Step | None = None
    places: ArgumentPlaces | None = None  # of the last step: its arguments may have thousands of values
    may_name = False
    for argument in flow().flows:
        if argument.step not in suspects:
            continue
        if argument.is_trivial or not isinstance(argument.value, (str, int)):
            continue
        if any(origin.kind is not OriginKind.ARGUMENT for origin in argument.origins):
            continue
        if step is None or places is None or step.number != argument.step:
            step = suspects[argument.step]
            places = ArgumentPlaces(step.call)
            may_name = may_know_all and _uses_existing(step.call.name or "")
        text = str(argument.value)
        if is_placeholder(text.strip(), may_be_a_word=may_know_all):
            message = f"`{_name(argument)}` is {quoted(text)}, a placeholder that was not replaced by a value."
            fault = Fault(rules.PLACEHOLDER_ARGUMENT, step.location.range, message, _FILL)
            yield _argument_diagnostic(step, places, argument, fault)
        elif may_name and not argument.origins and _is_id_of_existing(argument.pointer, text):
            message = (
                f"`{_name(argument)}` of {tool_named(step.call.name)} is {quoted(text)}, which does not appear earlier "
                "in the user's messages, tool results or the system prompt."
            )
            fault = Fault(rules.UNSUPPORTED_ARGUMENT, step.location.range, message, _ASK)
            yield _argument_diagnostic(step, places, argument, fault)


def has_suspect(call: ToolCall, *, may_know_all: bool) -> bool:
    """Whether a call has a value that may be a placeholder or an id; if no call has, origins are not computed."""
    return _has_placeholder_or_id(call) if may_know_all else _has_placeholder(call)


@memoized
def _has_placeholder_or_id(call: ToolCall) -> bool:
    return _is_suspect(call, may_know_all=True)


@memoized
def _has_placeholder(call: ToolCall) -> bool:
    return _is_suspect(call, may_know_all=False)


def _is_suspect(call: ToolCall, *, may_know_all: bool) -> bool:
    if not isinstance(call.arguments, dict):
        return False
    may_name = may_know_all and _uses_existing(call.name or "")
    for pointer, value in leaves(call.arguments):
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            text = str(value)
            is_id = may_name and _is_id_of_existing(pointer, text)
            if is_id or is_placeholder(text.strip(), may_be_a_word=may_know_all):
                return True
    return False


def is_placeholder(text: str, *, may_be_a_word: bool) -> bool:
    """Whether a whole argument is a placeholder for a value; `may_be_a_word` also accepts words such as `TODO`."""
    if len(text) > _MAX_PLACEHOLDER_CHARS:
        return False
    return bool(_PLACEHOLDER.fullmatch(text) or (may_be_a_word and _PLACEHOLDER_WORD.fullmatch(text)))


def _is_whole(trace: Trace) -> bool:
    """Whether the trace has all of the agent's input: it begins with the user, in text only, and continues no other."""
    user_turns = [turn for turn in trace.turns if turn.role is Role.USER]
    first = next((turn for turn in trace.turns if turn.role is not Role.SYSTEM), None)
    if trace.parent is not None or first is None or first.role is not Role.USER:
        return False
    return all(part.name == "text" for turn in user_turns for part in turn.parts)


def _uses_existing(tool: str) -> bool:
    """Whether a tool works on objects that already exist."""
    return not is_terminal(tool) and _CREATES.isdisjoint(bare_name(tool).split("_"))


def _is_id_of_existing(pointer: str, text: str) -> bool:
    """Whether a value is an id of an object that must already exist."""
    if not _ID.fullmatch(text) or _DATE.match(text):
        return False
    key = next((word for word in reversed(pointer.split("/")) if not word.isdigit()), "")
    return _IDENTIFYING.search(bare_name(key)) is not None


def _name(flow: ArgumentFlow) -> str:
    return flow.pointer.removeprefix("/").replace("/", ".")


def _argument_diagnostic(step: Step, places: ArgumentPlaces, flow: ArgumentFlow, fault: Fault) -> Diagnostic:
    path = [part.replace("~1", "/").replace("~0", "~") for part in flow.pointer.split("/")[1:]]
    value_range = places.of([int(part) if part.isdigit() else part for part in path])
    placed = Fault(fault.rule, value_range, fault.message, fault.hint, path=flow.pointer)
    return placed.at(step.location.turn, step.location.part)


def ending_diagnostics(
    trace: Trace, chain: Chain, speeches: Sequence[Speech], invented_at: Location | None = None
) -> Iterator[Diagnostic]:
    """T413 where the agent conceals an error, T414 if its final answer is missing.

    `speeches` are the agent's texts, in order; `invented_at` are the characters of the value that the agent made up in
    place of the failed step's result.
    """
    if abort_reason(trace) is not None:  # the rest of the agent's answer is not known
        return
    yield from _concealed_errors(trace, chain, invented_at)
    last = trace.turns[-1].generation if trace.turns else None
    is_told = last is not None and last.finish is FinishReason.TOOL_CALLS  # that the announced calls are missing: C516
    if lacks_last_answer(trace, chain.steps, speeches) and not is_told:
        yield from _without_answer(trace, chain.steps)


def _concealed_errors(trace: Trace, chain: Chain, invented_at: Location | None) -> Iterator[Diagnostic]:
    """T413 at the words that conceal an error: a claim of what failed, or a value made up in place of a result."""
    told: set[Location] = set()
    for step in chain.steps:
        if step.said is not Said.CONCEALED or step.outcome is not StepOutcome.ERROR_RESULT:
            continue
        is_break = chain.broken is not None and chain.broken.step == step.number
        value_at = invented_at if is_break else None
        is_made_up = value_at is not None and (step.said_at is None or _holds(step.said_at, value_at))
        location = value_at if is_made_up else step.said_at
        sentence = step.said_at or location
        if location is None or sentence is None or sentence in told:
            continue
        told.add(sentence)
        failure = step.result_location or step.location
        words = f" ({quoted(step.error)})" if step.error else ""
        failed = f"{tool_named(step.call.name)} answered with an error in turn {failure.turn}{words}"
        part = trace.turns[location.turn - 1].part(location.part)
        value = quoted(location.range.of(part.text)) if part is not None else ""
        if is_made_up:
            message = f"{failed}, and the agent continued with {value}, which was not found earlier."
        else:
            message = f"{failed}, nothing repaired it, and the agent claims the opposite: {value}."
        fault = Fault(rules.UNRECOVERED_ERROR, location.range, message, _SAY_SO, against=failure)
        yield fault.at(location.turn, location.part)


def _holds(sentence: Location, value: Location) -> bool:
    """Whether a value stands within a sentence."""
    is_same = (sentence.turn, sentence.part) == (value.turn, value.part)
    return is_same and sentence.range.start <= value.range.start and value.range.end <= sentence.range.end


def _without_answer(trace: Trace, steps: Sequence[Step]) -> Iterator[Diagnostic]:
    number, turn, hint = len(trace.turns), trace.turns[-1], None
    if turn.role is Role.TOOL:
        result_of = f" of {tool_named(steps[-1].call.name)}" if steps else ""
        message, hint = f"The recording ends with the result{result_of}; the agent never answered.", _ANSWER
    else:
        usage = turn.generation.usage if turn.generation is not None else Usage()
        counted = (usage.output_tokens or 0) - (usage.reasoning_tokens or 0)
        has_thought = any(part.text.strip() for part in turn.parts)
        is_lost = not has_thought and counted > _MAX_TOKENS_OF_NOTHING
        what = "nothing but reasoning" if has_thought else "nothing at all"
        beside = f", though its server counted {counted} tokens of output" if is_lost else ""
        message = f"The last turn contains {what}{beside}: no answer and no call."
        hint = _DROPPED if is_lost else None
    yield at_end(turn, number, rules.NO_FINAL_ANSWER, message, hint)
