"""D701 to D706: members, labels, counts, scores and the order of messages; and their repairs in the row's JSON text.

A fault of the row itself is in the part `row` of turn 1; a fault of a message is in that message's turn.
"""

import math
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise

from msgspec.structs import replace

from weaklink.inspector.chain.steps import Step, tool_named
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.loss_marks import is_left_out
from weaklink.inspector.dataset.repair import AppliedRepair
from weaklink.inspector.dataset.samples import (
    ROW_PART,
    SAMPLE_TYPES,
    Sample,
    correction_of,
    deliberate_steps,
    read_sample,
)
from weaklink.inspector.diagnostics import Diagnostic, Edit, Fault, Fix, edited
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.sharegpt import ROLE_WORDS
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.importers.data.written_calls import CALL_ROLES
from weaklink.inspector.importers.records import NotJsonError, parse_json_bytes
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_text import word_of, write_json
from weaklink.inspector.model import Json, Role, Trace, Turn
from weaklink.inspector.rules import training
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Rule, Severity
from weaklink.inspector.text import Range

_OWN_KEYS = ("tool_call_count", "quality_score", "verified", "annotation")
_SCORES = ("completeness", "accuracy", "type_precision", "no_hallucination", "overall")
_SCORE_OBJECTS = ("score", "scores", "quality", "quality_scores")
_LISTS = ("messages", "conversations", "conversation", "items")
_CONTENT_KEYS = (
    "content",
    "value",
    "tool_calls",
    "function_call",
    "reasoning_content",
    "reasoning",
    "thinking",
    "parts",
)
_ALTERNATING = frozenset({"mistral", "mistral_args", "gemma", "gemma3", "llama2"})
_LLAMA_FACTORY_ROLES = frozenset({"function_call", "observation"})
_QUESTION_ROLES = frozenset(word for word, role in ROLE_WORDS.items() if role is Role.USER)
_ANSWER_ROLES = frozenset(word for word, role in ROLE_WORDS.items() if role is Role.ASSISTANT) - CALL_ROLES
_ROLES = frozenset((*ROLE_WORDS, "developer"))
_MAX_RESULT_CHARS = 20_000
_SHAPES_OF_MESSAGES = frozenset({Shape.MESSAGES, Shape.SHAREGPT})
_SHAPES_OF_ANSWERS = _SHAPES_OF_MESSAGES | {Shape.PROMPT_COMPLETION, Shape.PREFERENCE}


def row_fault(
    sample: Sample, rule: Rule, message: str, *path: str | int, hint: str | None = None, fix: Fix | None = None
) -> Diagnostic:
    """A fault of the row itself, at the member that `path` refers to."""
    return Fault(rule, sample.range_in_row(*path), message, hint, fix).at(1, ROW_PART)


def with_severity(diagnostic: Diagnostic, severity: Severity) -> Diagnostic:
    """The same fault with this severity instead of its rule's."""
    rule = replace(diagnostic.rule, severity=severity)
    return Diagnostic(diagnostic.location, replace(diagnostic.fault, rule=rule))


def missing_fields(sample: Sample) -> Iterator[Diagnostic]:
    """D701: the conversation, roles, contents, tool names, and the members that the row's shape requires."""
    row = sample.row.value
    if sample.shape is None:
        yield row_fault(sample, training.MISSING_FIELD, f"The row has {refusal(row)}.")
        return
    if any(key in row for key in _OWN_KEYS) and "messages" in row and "type" not in row:
        known = next(key for key in _OWN_KEYS if key in row)
        yield row_fault(
            sample, training.MISSING_FIELD, f"The row has `{known}` but no `type`.", hint=f"Add one of {_types()}."
        )
    if sample.type == "no_tool_call" and sample.should_call is None:
        message = "A sample of type `no_tool_call` needs `annotation.should_call_tool`."
        yield row_fault(sample, training.MISSING_FIELD, message, "annotation", hint="Add `should_call_tool: false`.")
    if sample.shape in _SHAPES_OF_MESSAGES:
        key = next((key for key in _LISTS if key in row), "messages")
        for index, message_ in enumerate(sample.messages):
            for what in _missing_in(message_):
                yield row_fault(sample, training.MISSING_FIELD, f"Message {index + 1} {what}.", key, index)
    elif _ends_with_nothing(sample.trace):
        yield row_fault(sample, training.MISSING_FIELD, "The answer is empty.")


def _ends_with_nothing(trace: Trace) -> bool:
    last = trace.turns[-1] if trace.turns else None
    return last is not None and last.role is Role.ASSISTANT and not any(part.text.strip() for part in last.parts)


def _missing_in(message: Json) -> Iterator[str]:
    if not isinstance(message, dict):
        yield "is not an object"
        return
    role = message.get("role", message.get("from"))
    text = message.get("content", message.get("value"))
    if isinstance(text, str) and isinstance(role, str) and role in _ROLES and text and not text.isspace():
        yield from _unnamed_calls(message)
        return
    if not isinstance(role, str) or not role:
        yield "has no role"
    if all(message.get(key) is None or message.get(key) == [] for key in _CONTENT_KEYS):
        yield "has neither content nor calls"
    is_alone = all(message.get(key) in (None, [], "") for key in _CONTENT_KEYS if key not in ("content", "value"))
    if word_of(role) in _ANSWER_ROLES and isinstance(text, str) and not text.strip() and is_alone:
        yield "is an empty answer"
    if word_of(role) in _QUESTION_ROLES and isinstance(text, str) and not text.strip() and is_alone:
        yield "is an empty question"
    nearest = _misspelt_role(role)
    if nearest is not None:
        yield f"has the unknown role `{role}`, which is read as the user's; it may be `{nearest}`"
    yield from _unnamed_calls(message)


def _misspelt_role(role: Json) -> str | None:
    """The role that this one likely misspells; None for a known role, and for one that is like none of them."""
    if not isinstance(role, str) or role.lower() in _ROLES:
        return None
    return next(iter(get_close_matches(role.lower(), _ROLES, n=1, cutoff=0.8)), None)


def _unnamed_calls(message: dict[str, Json]) -> Iterator[str]:
    listed = message.get("tool_calls")
    calls = [*listed] if isinstance(listed, list) else []
    if isinstance(message.get("function_call"), dict):
        calls.append({"function": message["function_call"]})
    for number, call in enumerate(calls, 1):
        function = call.get("function", call.get("custom", call)) if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else function
        if not isinstance(name, str) or not name:
            yield f"has a call without a name (call {number})"


def trained_faults(sample: Sample) -> Iterator[Diagnostic]:
    """D719: a call that fails on purpose, in a message without the mark that leaves it out of the loss.

    A call that is repeated unchanged, as after a timeout, is no fault. It is an info in a sample that does not say that
    it shows errors.
    """
    if len(sample.trace.turns) - sample.first_turn + 1 != len(sample.messages):
        return
    steps = sample.inspection.chain.steps
    is_marked = sample.type == "error_recovery" or bool(sample.row.value.get("injected"))
    for step in deliberate_steps(sample):
        index = step.location.turn - sample.first_turn
        again = correction_of(step, steps)
        is_same = (
            again is not None and again.call.arguments == step.call.arguments and again.call.name == step.call.name
        )
        if is_same or not 0 <= index < len(sample.messages) or is_left_out(sample.messages[index]):
            continue
        message = f"The call of {tool_named(step.call.name)} fails, and its message is still trained on."
        hint = (
            "Mark the message as your trainer reads it: `weight: 0`, `train: false`, `loss_weight: 0`, `loss: false`."
        )
        fault = Fault(training.TRAINED_FAULT, step.location.range, message, hint)
        located = fault.at(step.location.turn, step.location.part)
        yield located if is_marked else with_severity(located, Severity.INFO)


def types_and_labels(sample: Sample) -> Iterator[Diagnostic]:
    """D702 and D703: the type, and whether it and `should_call_tool` match the calls."""
    given = sample.row.value.get("type")
    if given is not None and given not in SAMPLE_TYPES:
        yield _unknown_type(sample, given)
    if sample.shape is None:
        return
    if message := _label_mismatch(sample):
        yield row_fault(sample, training.LABEL_MISMATCH, message, "type")
    should, calls = sample.should_call, len(sample.inspection.chain.steps)
    if should is not None and should != bool(calls) and not (sample.type == "no_tool_call" and not should):
        shown = "true" if should else "false"
        actual = "there is 1 call" if calls == 1 else f"there are {calls or 'no'} calls"
        message = f"`should_call_tool` is {shown}, but {actual}."
        path = ("annotation",) if "annotation" in sample.row.value else ("annotations",)
        yield row_fault(sample, training.LABEL_MISMATCH, message, *path, "should_call_tool")


def _unknown_type(sample: Sample, given: Json) -> Diagnostic:
    shown = write_json(given)[:60].replace("`", "'")
    words = given.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(given, str) else ""
    nearest = (
        words if words in SAMPLE_TYPES else next(iter(get_close_matches(words, SAMPLE_TYPES, n=1, cutoff=0.8)), "")
    )
    hint = f"Write `{nearest}`." if nearest else f"Known types: {_types()}."
    type_range = sample.range_in_row("type")
    fix = Fix((Edit(type_range, f'"{nearest}"'),), safe=words in SAMPLE_TYPES) if nearest else None
    return Fault(training.UNKNOWN_TYPE, type_range, f"`type` is `{shown}`, which is not a known type.", hint, fix).at(
        1, ROW_PART
    )


def _types() -> str:
    return ", ".join(f"`{sample_type}`" for sample_type in SAMPLE_TYPES if sample_type != "parallel_tool_call")


def _label_mismatch(sample: Sample) -> str | None:
    steps = sample.inspection.chain.steps
    turns = [step.location.turn for step in steps]
    different, most = len(set(turns)), max(map(turns.count, turns), default=0)
    match sample.type:
        case "no_tool_call" if turns:
            return f"The type is `no_tool_call`, but turn {turns[0]} has a call."
        case "no_tool_call" if sample.should_call:
            return "The type is `no_tool_call`, but `should_call_tool` is true."
        case "single_tool_call" if different != 1:
            return f"The type is `single_tool_call`, but {_counted(different)}."
        case "multi_step_tool_call" if different < 2:
            return f"The type is `multi_step_tool_call`, but {_counted(different)}."
        case "parallel_tool_calls" | "parallel_tool_call" if most < 2:
            return f"The type is `{sample.type}`, but no turn has two calls."
        case "error_recovery" if not any(step.outcome.failed or step.recovery is not None for step in steps):
            return "The type is `error_recovery`, but no call fails."
    return None


def _counted(turns: int) -> str:
    return "no turn has a call" if not turns else "one turn has calls" if turns == 1 else f"{turns} turns have calls"


def call_counts(sample: Sample) -> Iterator[Diagnostic]:
    """D704: `tool_call_count`."""
    given = sample.row.value.get("tool_call_count")
    calls = len(sample.inspection.chain.steps)
    if given is None or sample.shape is None or (given == calls and not isinstance(given, bool)):
        return
    count_range = sample.range_in_row("tool_call_count")
    message = f"`tool_call_count` is {write_json(given)[:40]}, but the conversation has {calls}."
    fix = Fix((Edit(count_range, str(calls)),), safe=True)
    yield Fault(training.CALL_COUNT_MISMATCH, count_range, message, f"Write {calls}.", fix).at(1, ROW_PART)


def scores(sample: Sample) -> Iterator[Diagnostic]:
    """D705: scores that are not numbers from 0 to 1."""
    row = sample.row.value
    scored: list[tuple[tuple[str, ...], Json]] = [
        ((key,), row[key]) for key in ("quality_score", *_SCORES) if row.get(key) is not None
    ]
    for name in _SCORE_OBJECTS:
        inner = row.get(name)
        if isinstance(inner, dict):
            scored += [((name, key), inner[key]) for key in _SCORES if inner.get(key) is not None]
    for path, value in scored:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            yield _wrong_score(sample, path, value)


def _wrong_score(sample: Sample, path: tuple[str, ...], value: Json) -> Diagnostic:
    shown = write_json(value)[:40].replace("`", "'")
    hint, fix = "Write a number from 0 to 1.", None
    if isinstance(value, str) and (number := _number(value)) is not None and 0 <= number <= 1:
        hint = f"Write {number} without quotes."
        fix = Fix((Edit(sample.range_in_row(*path), str(number)),), safe=True)
    message = f"`{'.'.join(path)}` is {shown}: not a number from 0 to 1."
    return row_fault(sample, training.SCORE_OUT_OF_RANGE, message, *path, hint=hint, fix=fix)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def role_order(sample: Sample) -> Iterator[Diagnostic]:
    """D706: the order of roles, and a sample that ends without an answer.

    LLaMA-Factory and some templates require turns of the user and of the assistant in alternation: a sample with
    LLaMA-Factory's roles or in such a format that breaks this order has an error, any other an info. A system prompt
    that is not the first turn is a warning. The engine finds results without a call; see
    `inspector.dataset.lint.engine_faults`.
    """
    yield from _alternation(sample)
    yield from _late_system(sample)
    turns = sample.trace.turns
    if sample.shape in _SHAPES_OF_MESSAGES and all(turn.role is not Role.USER for turn in turns):
        message = "No turn is the user's; templates such as Qwen3's refuse such a conversation."
        userless = row_fault(
            sample, training.ROLE_ORDER, message, next((key for key in _LISTS if key in sample.row.value), "")
        )
        yield with_severity(userless, Severity.INFO)
    if sample.shape not in _SHAPES_OF_ANSWERS or all(turn.role is not Role.ASSISTANT for turn in turns):
        return  # a set of prompts
    last = turns[-1]
    if last.role in (Role.USER, Role.TOOL) and last.parts and _misspelt_role(last.source_role) is None:
        what = "the user's message" if last.role is Role.USER else "a result"
        message = f"The sample ends with {what}: no answer follows that a model could learn."
        fault = Fault(training.ROLE_ORDER, Range(0, len(last.parts[0].text)), message, "Remove the last turn.")
        yield with_severity(fault.at(len(turns), last.parts[0].name), Severity.WARNING)


def _alternation(sample: Sample) -> Iterator[Diagnostic]:
    """The turns that break the alternation; LLaMA-Factory counts a result as a turn of the user's side."""
    turns = sample.trace.turns
    is_llama_factory = any(turn.source_role in _LLAMA_FACTORY_ROLES for turn in turns)
    is_required = is_llama_factory or sample.wire_format in _ALTERNATING
    needs = "LLaMA-Factory requires" if is_llama_factory else f"the template of `{sample.wire_format}` requires"
    needs = needs if is_required else "the templates of Mistral, Gemma and Llama 2 require"
    rule = f"{needs} alternating user and assistant turns, the user's first"
    calling = {step.location.turn for step in sample.inspection.chain.steps}
    for number, (before, turn) in enumerate(zip((None, *turns), turns, strict=False), 1):
        if not turn.parts:
            continue
        if before is None or before.role is Role.SYSTEM:
            message = f"The first turn has the role `assistant`; {rule}." if _is_first_answer(turns, number) else None
        elif turn.role in (Role.USER, Role.ASSISTANT) and turn.role is before.role:
            is_message = is_required or not calling & {number - 1, number}
            message = f"Two consecutive turns have the role `{turn.role}`; {rule}." if is_message else None
        elif is_llama_factory and before.role is Role.TOOL and turn.role in (Role.TOOL, Role.USER):
            message = f"A turn with the role `{turn.source_role}` follows a result; {rule}."
        else:
            continue
        if message is not None:
            part = turn.parts[0]
            diagnostic = Fault(training.ROLE_ORDER, Range(0, len(part.text)), message, "Merge or remove a turn.").at(
                number, part.name
            )
            yield diagnostic if is_required else with_severity(diagnostic, Severity.INFO)


def _is_first_answer(turns: Sequence[Turn], number: int) -> bool:
    """Whether a turn (from 1) is the assistant's, after nothing but system prompts, and the user writes later."""
    is_first = turns[number - 1].role is Role.ASSISTANT and all(
        turn.role is Role.SYSTEM for turn in turns[: number - 1]
    )
    return is_first and any(turn.role is Role.USER for turn in turns[number:])


def _late_system(sample: Sample) -> Iterator[Diagnostic]:
    """The first system prompt after another turn: Qwen's and Mistral's templates refuse it, others move it."""
    turns = sample.trace.turns
    for number, (before, turn) in enumerate(pairwise(turns), 2):
        if turn.role is Role.SYSTEM and before.role is not Role.SYSTEM and turn.parts:
            message = "A system prompt follows another turn; templates such as Qwen's require it at the beginning."
            part = turn.parts[0]
            fault = Fault(training.ROLE_ORDER, Range(0, len(part.text)), message, "Move it to the beginning.")
            yield with_severity(fault.at(number, part.name), Severity.WARNING)
            return


def swapped_results(sample: Sample) -> Iterator[Diagnostic]:
    """D706 as a warning: two results of a turn, each of which repeats the argument of the other's call.

    Both must have the argument's name as a member: `{"place": "Athens", ...}` after the call with `"place": "Oslo"`.
    """
    turns: defaultdict[tuple[int, str | None], list[Step]] = defaultdict(list)
    steps = sample.inspection.chain.steps
    for step in steps if len(steps) > 1 else ():
        if step.result is not None:
            turns[step.location.turn, step.call.name].append(step)
    for same in turns.values():
        swapped = _swapped(same) if len(same) > 1 else None
        if swapped is not None:
            step, name, value = swapped
            assert step.result_location is not None, "only answered steps are compared"
            message = (
                f"This result of {tool_named(step.call.name)} has the `{name}` of another call of its turn, `{value}`: "
                "the results are swapped."
            )
            fault = Fault(
                training.ROLE_ORDER, step.result_location.range, message, "Put each result after its call, by id."
            )
            yield with_severity(fault.at(step.result_location.turn, step.result_location.part), Severity.WARNING)


def _swapped(steps: Sequence[Step]) -> tuple[Step, str, str] | None:
    """The first step whose result repeats the argument of another one that has its argument; its name and value."""
    members = [_result_members(step) for step in steps]
    for index, step in enumerate(steps):
        arguments = step.call.arguments if isinstance(step.call.arguments, dict) else {}
        for name, own in arguments.items():
            answered = members[index].get(name)
            if not isinstance(own, str) or not isinstance(answered, str) or own == answered:
                continue
            for other, theirs in zip(steps, members, strict=True):
                asked = other.call.arguments.get(name) if isinstance(other.call.arguments, dict) else None
                if asked == answered and theirs.get(name) == own:
                    return step, name, answered
    return None


def _result_members(step: Step) -> dict[str, Json]:
    text = step.result.content if step.result is not None else ""
    if len(text) > _MAX_RESULT_CHARS or not text.lstrip().startswith("{"):
        return {}
    try:
        value = parse_json_bytes(text.encode("utf-8", "surrogatepass"))
    except NotJsonError:
        return {}
    return value if isinstance(value, dict) else {}


def repair_row(
    row: DataRow, trace: Trace, inspection: Inspection | None, *, rules: Container[Rule] = RULES, unsafe: bool = False
) -> tuple[str, tuple[AppliedRepair, ...]]:
    """The row's text with every safe fix (with `unsafe`, every fix) of D702, D704 and D705 applied; and these repairs.

    `inspection` is that of `trace`, the conversation as an importer read it: it is reused if the row contains the same
    conversation. A row without a conversation is unchanged.
    """
    sample = read_sample(row)
    if sample.shape is None:
        return sample.raw_text, ()
    if inspection is not None and sample.trace.turns == trace.turns:
        vars(sample)["inspection"] = inspection  # the cache of the property
    applied: list[Diagnostic] = []
    edits: list[Edit] = []
    for diagnostic in _found(sample):
        fix = diagnostic.fault.fix
        if fix is not None and diagnostic.rule in rules and (fix.safe or unsafe):
            applied.append(diagnostic)
            edits += fix.edits
    text = edited(sample.raw_text, sorted(edits, key=lambda edit: edit.range))
    return text, tuple(AppliedRepair(diagnostic, sample.raw_text, 1) for diagnostic in applied)


def _found(sample: Sample) -> Iterator[Diagnostic]:
    given = sample.row.value.get("type")
    if given is not None and given not in SAMPLE_TYPES:
        yield from types_and_labels(sample)
    yield from call_counts(sample)
    yield from scores(sample)
