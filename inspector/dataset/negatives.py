"""Makes samples without a call from existing ones, only if no offered tool fits the user's request.

Three kinds: `tool-removed` (the question stays, and the tool that it needs is not offered), `irrelevant-tools` (small
talk, with unrelated tools offered), `already-given` (the result is in the user's message, so that the answer needs no
call).

The rule for "a tool fits" prefers skipping a sample to making a false negative. A tool fits if one of these is true:

* it is generic: it searches, browses, asks a model, or runs code or commands, so that it can serve any request;
* a word of its name, description or parameter names is among the user's words (folded, without grammatical endings,
  function words and words that most tools have);
* it shares a word of its name with the name of the called tool, or two words of its description;
* it could be called with the call's arguments: all of its required parameters are among them by name.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random

from msgspec import Struct, structs

from weaklink.inspector.chain.steps import Status, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, is_interpreter, is_search, kind_of
from weaklink.inspector.dataset.claims import claimed_action
from weaklink.inspector.dataset.context_values import folded
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.messages import role_of, shape_of, text_of, with_text
from weaklink.inspector.dataset.no_tool_answers import no_tool_answer
from weaklink.inspector.dataset.references import without_expected_calls
from weaklink.inspector.dataset.samples import Sample, definitions_in, read_sample
from weaklink.inspector.formats.templates.template import openai_tool
from weaklink.inspector.importers.data.refusals import refusal
from weaklink.inspector.importers.data.training_rows import Shape
from weaklink.inspector.importers.data.written_calls import CALL_ROLES
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.model import Json, Role, ToolDefinition

KINDS = ("tool-removed", "irrelevant-tools", "already-given")
_LISTS = ("messages", "conversations", "conversation", "items")
_GENERIC = re.compile(
    "search|brows|google|ask|chat|query|exec|run|shell|bash|terminal|python|code|http|fetch|request|lookup|wiki"
)

_STOP_TABLE = (
    "a about after all also am an and any are as at be been but by can could do does for from get give given has have "
    "how i if in into is it its know like make me more my need no not of on one or our out please provide return "
    "returns set should so some such tell than that the their them then there these they this to tool up us use used "
    "using want was we were what when where which who will with would you your function call parameter parameters "
    "value values type string number list name id optional required based specified data information info user"
)
_STOP = frozenset(_STOP_TABLE.split())
_ENDINGS = ("s", "ation", "ate", "ing", "er", "ed", "ie", "e")
_ADDED_TOOLS = 3
_MIN_WORD_CHARS = 3


class NegativeRow(Struct, frozen=True):
    """A row without a call, its kind, and the tool that is not called (`""` for small talk)."""

    value: JsonObject
    kind: str
    tool: str


class NoNegative(Struct, frozen=True):
    """Why no negative was made from a row; the reason follows "skipped: " in messages."""

    reason: str


class NegativeOptions(Struct, frozen=True):
    """Options for `make_negative`. `pool` are tools of the set, from which unrelated ones are offered."""

    seed: int
    kinds: tuple[str, ...] = KINDS
    leave_open: bool = False
    pool: tuple[ToolDefinition, ...] = ()


def has_call(sample: Sample) -> bool:
    """Whether a sample calls a tool, or tries to."""
    return len(sample.inspection.chain.steps) > 0


def make_negative(sample: Sample, options: NegativeOptions) -> NegativeRow | NoNegative:
    """A row without a call, made from a sample; the same sample, seed and pool give the same row."""
    if sample.shape is None:
        return NoNegative(f"it has {refusal(sample.row.value)}")
    if sample.shape not in (Shape.MESSAGES, Shape.SHAREGPT) or not isinstance(sample.row.value.get(_key(sample)), list):
        is_preference = sample.shape is Shape.PREFERENCE
        why = "its answers are a preference in `chosen` and `rejected`: convert it first"
        return NoNegative(why if is_preference else "it has no list of messages")
    draw = sample.row.random(options.seed)
    if not has_call(sample):
        return _irrelevant_tools(sample, options, draw)
    chain = sample.inspection.chain
    steps = chain.steps
    if len(steps) != 1:
        return NoNegative(f"it has {len(steps)} calls")
    if steps[0].outcome not in (StepOutcome.OK, StepOutcome.PENDING):
        return NoNegative(f"its call is {steps[0].outcome.value}, not ok")
    if chain.status is not Status.OK:
        return NoNegative(f"its chain is {chain.status.value}, not ok")
    kinds = [kind for kind in ("tool-removed", "already-given") if kind in options.kinds]
    draw.shuffle(kinds)
    row: NegativeRow | NoNegative = NoNegative("no selected kind applies to samples with a call")
    for kind in kinds:
        row = (_tool_removed if kind == "tool-removed" else _already_given)(sample, steps[0], options, draw)
        if isinstance(row, NegativeRow):
            return row
    return row


def _tool_removed(sample: Sample, step: Step, options: NegativeOptions, draw: Random) -> NegativeRow | NoNegative:
    needed = sample.offered.find(step.call.name)
    first_question = _first_question(sample)
    if needed is None or first_question is None:
        return NoNegative("its tool is not in a readable list, or no user question precedes the call")
    index, question = first_question
    left = [tool for tool in sample.offered.tools if tool.name != needed.name]
    fitting = next((tool for tool in left if tool_fits(tool, question, needed, step.call.arguments)), None)
    if fitting is not None:
        return NoNegative("another tool that it offers may fit")
    if not left:
        left = _unrelated(options.pool, question, draw, needed, step.call.arguments)
    if not left:
        return NoNegative("no unrelated tool is available to offer")
    answer = no_tool_answer(question, draw)
    if answer is None and not options.leave_open:
        return NoNegative(
            "its user's language has no template answer, or cannot be detected; --leave-open leaves the answer open"
        )
    messages = [dict(message) for message in sample.messages[: index + 1] if isinstance(message, dict)]
    if not options.leave_open:
        messages.append(_assistant_message(sample, str(answer)))
    draft = _Draft(messages, left, "tool-removed", needed.name, synthetic=not options.leave_open)
    return _finished(sample, draft, options)


def _already_given(sample: Sample, step: Step, options: NegativeOptions, draw: Random) -> NegativeRow | NoNegative:
    del draw
    first_question = _first_question(sample)
    last = sample.messages[-1] if sample.messages else None
    if (
        first_question is None
        or step.result is None
        or not isinstance(last, dict)
        or role_of(last) is not Role.ASSISTANT
    ):
        return NoNegative("it has no question, result and last answer to combine")
    if step.location.turn == len(sample.trace.turns):
        return NoNegative("it ends with its call")
    roles = [_speaker(message) for message in sample.messages if isinstance(message, dict)]
    if roles.count(Role.USER) != 1 or roles.count(Role.ASSISTANT) != 2:
        return NoNegative("it is a longer conversation: its last answer does not follow from its first question alone")
    if acts(sample.offered.find(step.call.name), text_of(last) or ""):
        return NoNegative("its tool acts: without the call, its answer would claim what nobody did")
    index, question = first_question
    result = step.result.content.strip()
    if len(result) > 2_000:
        return NoNegative("its result is too long for the user's message")
    messages = [dict(message) for message in sample.messages[: index + 1] if isinstance(message, dict)]
    messages[-1] = with_text(messages[-1], f"{question.rstrip()}\n\n{result}")
    if not options.leave_open:
        messages.append(dict(last))
    tools = list(sample.offered.tools)
    return _finished(sample, _Draft(messages, tools, "already-given", step.call.name or ""), options)


def _irrelevant_tools(sample: Sample, options: NegativeOptions, draw: Random) -> NegativeRow | NoNegative:
    if "irrelevant-tools" not in options.kinds:
        return NoNegative("it already has no call")
    if sample.offered.tools or sample.offered.origin is not None:
        return NoNegative("it already has no call, and offers tools")
    first_question = _first_question(sample)
    if first_question is None or not any(
        role_of(message) is Role.ASSISTANT for message in sample.messages if isinstance(message, dict)
    ):
        return NoNegative("it has no question and answer")
    words = " ".join(sample.texts(Role.USER))
    tools = _unrelated(options.pool, words, draw)
    if not tools:
        return NoNegative("no unrelated tool is available to offer")
    messages = [dict(message) for message in sample.messages if isinstance(message, dict)]
    if options.leave_open and role_of(messages[-1]) is Role.ASSISTANT:
        messages.pop()
    return _finished(sample, _Draft(messages, tools, "irrelevant-tools"), options)


class _Draft(Struct, frozen=True):
    """The draft of a negative: its messages, the tools that it offers, its kind, and the tool that is not called."""

    messages: list[JsonObject]
    tools: Sequence[ToolDefinition]
    kind: str
    tool: str = ""
    synthetic: bool = False


def _finished(sample: Sample, draft: _Draft, options: NegativeOptions) -> NegativeRow | NoNegative:
    value: JsonObject = {**sample.row.value, _key(sample): list(draft.messages)}
    if not _offer(sample, value, draft.tools):
        return NoNegative("its list of tools is in text that cannot be rewritten")
    parent = sample.id or sample.reference
    details: JsonObject = {"kind": draft.kind, "tool": draft.tool, "synthetic": draft.synthetic}
    value["negative"] = {**details, "open": options.leave_open, "seed": options.seed, "parent": parent}
    _relabel(value, draft.kind)
    again = read_sample(structs.replace(sample.row, value=value, raw=b""))
    names = [tool.name for tool in again.offered.tools]
    if has_call(again) or names != [tool.name for tool in draft.tools]:
        return NoNegative("the engine finds a call, or other tools, in the result")
    return NegativeRow(value, draft.kind, draft.tool)


def _relabel(value: JsonObject, kind: str) -> None:
    """Update the row's type, annotation, reference, call count and id; remove annotations of steps that are gone."""
    for key in ("steps", "critical_path", "decision_points", "depends_on", "data_flow", "annotations"):
        value.pop(key, None)
    if "type" in value or "annotation" in value:
        value["type"] = "no_tool_call"
        value["annotation"] = {"should_call_tool": False, "reason": f"No offered tool is needed ({kind})"}
    value.update(without_expected_calls(value))
    if "tool_call_count" in value:
        value["tool_call_count"] = 0
    if isinstance(value.get("id"), str):
        value["id"] = f"{value['id']}-{kind}"


def _offer(sample: Sample, value: JsonObject, tools: Sequence[ToolDefinition]) -> bool:
    """Offer these tools in the row, in the place of its own tools. Returns False if that is not possible."""
    key = sample.offered.origin
    names = {tool.name for tool in tools}
    if key in ("tools", "functions"):
        is_text = isinstance(value[key], str)
        listed = json.loads(str(value[key])) if is_text else value[key]
        kept: list[Json] = (
            [definition for definition in listed if _name_of(definition) in names] if isinstance(listed, list) else []
        )
        known = {_name_of(definition) for definition in kept}
        kept += [openai_tool(tool) for tool in tools if tool.name not in known]
        value[key] = json.dumps(kept, ensure_ascii=False) if is_text else kept
        return True
    if key is None:
        value["tools"] = [openai_tool(tool) for tool in tools]
        return True
    return list(tools) == list(sample.offered.tools) or _offer_in_text(sample, value, tools)


def _offer_in_text(sample: Sample, value: JsonObject, tools: Sequence[ToolDefinition]) -> bool:
    """Change only the definitions in the system prompt: another wording would give the answer away."""
    messages = value[_key(sample)]
    assert isinstance(messages, list)
    for index, message in enumerate(messages):
        text = text_of(message) if isinstance(message, dict) and role_of(message) is Role.SYSTEM else None
        changed = _with_definitions(text, tools) if text else None
        if isinstance(message, dict) and changed is not None:
            messages[index] = with_text(message, changed)
            return True
    return False


def _with_definitions(text: str, tools: Sequence[ToolDefinition]) -> str | None:
    """A system prompt with only these tools among its JSON definitions, and no other change; None if that is unclear.

    The definitions must be one list, with only white space and commas between them.
    """
    definitions = list(definitions_in(text))
    between = [text[first.end : other.start] for (first, _), (other, _) in pairwise(definitions)]
    if not definitions or any(gap.strip() not in ("", ",") for gap in between):
        return None
    known = {_name_of(definition): definition_range.of(text) for definition_range, definition in definitions}
    written = [known.get(tool.name) or _as_written(definitions[0][1], tool) for tool in tools]
    start, end = definitions[0][0].start, definitions[-1][0].end
    gap = between[0] if between else ", " if text[:start].rstrip().endswith("[") else "\n"
    return f"{text[:start]}{gap.join(written)}{text[end:]}"


def _as_written(example: Json, tool: ToolDefinition) -> str:
    """A definition in the shape of another one: inside `function` or not."""
    shown = openai_tool(tool)
    is_wrapped = isinstance(example, dict) and isinstance(example.get("function"), dict)
    return json.dumps(shown if is_wrapped else shown.get("function", shown), ensure_ascii=False)


def acts(tool: ToolDefinition | None, answer: str) -> bool:
    """Whether a tool may change something outside: all but those that read by their name or their description's verb.

    A tool also acts if the answer claims an action.
    """
    if tool is None or claimed_action(answer) is not None:
        return True
    kind = kind_of(tool.name)
    if kind is ToolKind.UNKNOWN:
        verb = (folded(tool.description) or [""])[0]
        kinds = (kind_of(verb), kind_of(verb.removesuffix("s")))
        kind = next((kind for kind in kinds if kind is not ToolKind.UNKNOWN), ToolKind.UNKNOWN)
    return kind is not ToolKind.READS


def _name_of(tool: Json) -> str | None:
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else None


def _key(sample: Sample) -> str:
    return next((key for key in _LISTS if isinstance(sample.row.value.get(key), list)), "messages")


def _speaker(message: JsonObject) -> Role:
    """The role of a message; that of a tool for Anthropic's blocks of results, which are in the user's turn."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    is_result = any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)
    return Role.TOOL if is_result else role_of(message)


def _first_question(sample: Sample) -> tuple[int, str] | None:
    """The index and text of the user's last message before the first answer."""
    question = None
    for index, message in enumerate(sample.messages):
        if not isinstance(message, dict) or role_of(message) is Role.ASSISTANT:
            break
        text = text_of(message)
        if role_of(message) is Role.USER and text:
            question = index, text
    return question


def _assistant_message(sample: Sample, text: str) -> JsonObject:
    """An assistant message in the shape of the row's assistant messages."""
    answers = [
        message for message in sample.messages if isinstance(message, dict) and role_of(message) is Role.ASSISTANT
    ]
    shape = shape_of(answers[0] if answers else {})
    words = (answer.get(shape.role_key) for answer in answers)
    word = next((word for word in words if word not in CALL_ROLES), "gpt" if shape.role_key == "from" else "assistant")
    return {shape.role_key: word, shape.text_key: text}


def _unrelated(
    pool: Sequence[ToolDefinition],
    words: str,
    draw: Random,
    needed: ToolDefinition | None = None,
    arguments: Json = None,
) -> list[ToolDefinition]:
    """Up to three tools of the pool that do not fit."""
    tools = [tool for tool in pool if needed is None or tool.name != needed.name]
    draw.shuffle(tools)
    definitions: list[ToolDefinition] = []
    for tool in tools:
        if len(definitions) == _ADDED_TOOLS:
            break
        if not tool_fits(tool, words, needed, arguments):
            definitions.append(tool)
    return definitions


def tool_fits(tool: ToolDefinition, words: str, needed: ToolDefinition | None = None, arguments: Json = None) -> bool:
    """Whether a tool may serve a request; the module docstring has the rule. `needed` was called with `arguments`."""
    if is_search(tool.name) or is_interpreter(tool.name) or _GENERIC.search(tool.name.lower()):
        return True
    if not tool_words(tool).isdisjoint(significant_words(words)):
        return True
    if needed is None:
        return False
    if not significant_words(_spaced(tool.name)).isdisjoint(significant_words(_spaced(needed.name))):
        return True
    if len(significant_words(tool.description) & significant_words(needed.description)) > 1:
        return True
    schema = tool.parameters if isinstance(tool.parameters, dict) else {}
    required = schema.get("required")
    given = arguments if isinstance(arguments, dict) else {}
    return isinstance(required, list) and bool(required) and all(name in given for name in required)


def tool_words(tool: ToolDefinition) -> frozenset[str]:
    """The significant words of a tool's name, description and parameter names."""
    schema = tool.parameters if isinstance(tool.parameters, dict) else {}
    properties = schema.get("properties")
    names = " ".join(properties) if isinstance(properties, dict) else ""
    return significant_words(f"{_spaced(tool.name)} {tool.description} {_spaced(names)}")


@lru_cache(maxsize=4096)
def significant_words(text: str) -> frozenset[str]:
    """The words of a text, folded and without endings, except function words and words that most tools have."""
    return frozenset(
        _stem(word)
        for word in folded(text)
        if word not in _STOP and (len(word) >= _MIN_WORD_CHARS or not word.isascii()) and not word.isdigit()
    )


def _stem(word: str) -> str:
    """A word without its grammatical endings, with at least three letters left; a plural gives the singular's stem."""
    ending = next(
        (ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= _MIN_WORD_CHARS), None
    )
    if ending is None:
        return word
    return _stem(f"{word[: -len(ending)]}{'y' if ending == 'ie' else ''}")


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[._\-/]", " ", name)


def tool_pool(rows: Iterator[DataRow], most: int = 200) -> tuple[ToolDefinition, ...]:
    """The first `most` distinct tools that the rows offer."""
    pool: dict[str, ToolDefinition] = {}
    for row in rows:
        for tool in read_sample(row).offered.tools:
            pool.setdefault(tool.name, tool)
        if len(pool) >= most:
            break
    return tuple(pool.values())[:most]
