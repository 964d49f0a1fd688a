"""Derives a format from a chat template: renders probes, compares them, and reads them back with what it found.

1. Each probe is rendered in each style of messages that templates want; the first style that gives a format is used.
2. The text of a turn with one call, with text before it, and with two calls shows where a call begins and ends, which
   markers each call has and which all calls share.
3. The table of these is a format, and must read every check as the calls that were rendered. If it does not, a built-in
   format that reads all of them is named instead; if none does, the template is not derivable, with the reason.

So a derived format was never seen to read a wrong call: that is the test, not a belief in step 2.

Where step 2 finds nothing and the tokenizer's configuration has a response template, the table of that is tried before
the built-in formats. Without a chat template it is all there is to read.
"""

import json
import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct, structs

from weaklink.inspector.chat_templates import probes
from weaklink.inspector.chat_templates.call_shapes import MARKER, ShapeOfCall, common_end, common_start, shape_of_call
from weaklink.inspector.chat_templates.probes import ProbeCall, ProbeStyle
from weaklink.inspector.chat_templates.renderer import ChatTemplate, Rendering, render_all
from weaklink.inspector.chat_templates.response_schemas import ResponseTemplateError
from weaklink.inspector.chat_templates.response_templates import response_calls, response_reasoning
from weaklink.inspector.errors import ChatTemplateError, FormatTableError
from weaklink.inspector.formats.chat_turns import TURN_TRANSITIONS
from weaklink.inspector.formats.dialect import Enclosed
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.format_table import CallTable, CallTags, FormatTable, RoleHeaders, format_of
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import Json, ToolCall, ToolDefinition
from weaklink.inspector.segmentation import segment_whole

# For a file without its tokenizer_config.json, since templates join these tokens to texts; two templates of early
# models have other names for the tools, and require a time.
_VARIABLES: dict[str, Json] = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "functions": json.dumps(probes.TOOLS),
    "datetime": "2026-01-01",
}
_THINKING: dict[str, Json] = {"enable_thinking": True, "thinking": True}
_PROMPT_CHARS = 200
_EMPTY_REASONING = re.compile(r"(?:<[^<>]{0,20}think[^<>]{0,20}>\s*){1,2}\Z")
_ROLE = r"(?i:system|user|human|assistant|chatbot|model|bot|ai)"
_ROLE_HEADER = re.compile(rf"((?:<[^<>\s]*{_ROLE}[^<>\s]*>)|(?:<[^<>\s]+>|\][^\[\]\s]+\]){_ROLE})\s*\Z")
_API_FORMATS = frozenset({"openai", "claude", "gemini"})
_JINJA = ("{{", "{%")


class NotDerivableError(ChatTemplateError):
    """No format could be derived from a template; the message says why."""


class _Rendered(Struct, frozen=True):
    """The renderings of one style."""

    style: ProbeStyle
    plain: Rendering
    with_content: Rendering
    typed: Rendering
    with_reasoning: Rendering
    prompt: Rendering
    thinking_prompt: Rendering
    answer: Rendering
    roles: Rendering
    checks: tuple[Rendering, ...]


def derive_format(template: ChatTemplate, name: str) -> FormatTable:
    """The table of the format in which the template shows calls. Raises NotDerivableError and ChatTemplateError."""
    if not template.source:
        return _of_response_alone(template, name)
    if not any(sign in template.source for sign in _JINJA):
        reason = "it is no chat template: it has neither `{{` nor `{%`"
        raise NotDerivableError(f"not derivable: {template.origin}: {reason}.")
    rendered = _render(template)
    reasons: list[str] = []
    for renderings in rendered:
        if renderings.plain.error or renderings.prompt.error:
            reasons.append(f"it cannot be rendered with calls ({renderings.plain.error or renderings.prompt.error})")
            continue
        derived = _from(renderings, template, name)
        if isinstance(derived, FormatTable):
            return derived
        reasons.append(derived)
    declared = _declared(rendered, template, name)
    if declared is not None:
        return declared
    same = next((format for renderings in rendered if (format := _built_in(renderings))), None)
    if same is not None:
        style = next(each for each in rendered if _built_in(each) is same)
        return _table(name, CallTable("same", format=same.name), style, template)
    reason = next((reason for reason in reasons if "rendered" not in reason), reasons[0])
    raise NotDerivableError(f"not derivable: {template.origin}: {reason}.")


def _of_response_alone(template: ChatTemplate, name: str) -> FormatTable:
    """The table of a response template without a chat template, which nothing can be compared with."""
    try:
        calls, reasoning = response_calls(template.response), response_reasoning(template.response)
        table = FormatTable(name, calls, reasoning=reasoning, template=template.origin)
        format_of(table)
    except (ResponseTemplateError, FormatTableError) as error:
        raise NotDerivableError(f"not derivable: {template.origin}: {error}.") from error
    return table


def _declared(rendered: Sequence[_Rendered], template: ChatTemplate, name: str) -> FormatTable | None:
    """The table with the calls of the response template, if there is one and its table reads every check."""
    if template.response is None:
        return None
    try:
        calls = response_calls(template.response)
        for renderings in rendered:
            table = _table(name, calls, renderings, template)
            if not renderings.plain.error and not _wrong_check(format_of(table), renderings):
                return table
    except (ResponseTemplateError, FormatTableError):
        return None
    return None


def _contexts(style: ProbeStyle) -> list[dict[str, Json]]:
    def context(calls: Sequence[ProbeCall], **options: str) -> dict[str, Json]:
        messages = probes.conversation(calls, style, **options)
        return {"messages": messages, "tools": probes.TOOLS, "add_generation_prompt": False}

    def message(role: str, text: str) -> Json:
        return {"role": role, "content": probes.content_of(text, style)}

    question = [message("user", probes.USER)]
    answer = [message("assistant", probes.CONTENT), message("user", probes.LATER)]
    return [
        context((probes.PLAIN,)),
        context((probes.PLAIN,), content=probes.CONTENT),
        context((probes.TYPED,)),
        context((probes.PLAIN,), reasoning=probes.THOUGHT),
        {"messages": question, "tools": probes.TOOLS, "add_generation_prompt": True},
        {"messages": question, "tools": probes.TOOLS, "add_generation_prompt": True, **_THINKING},
        {"messages": [*question, *answer], "tools": probes.TOOLS, "add_generation_prompt": False},
        {
            "messages": [message("system", probes.SYSTEM), *question, *answer],
            "add_generation_prompt": False,
        },
        *(context(calls) for calls in probes.CHECKS),
    ]


def _render(template: ChatTemplate) -> list[_Rendered]:
    contexts = [[_VARIABLES | context for context in _contexts(style)] for style in probes.STYLES]
    contexts = [[{**context, **template.special_tokens} for context in group] for group in contexts]
    renderings = iter(render_all(template, [context for group in contexts for context in group]))
    rendered = []
    for style, group in zip(probes.STYLES, contexts, strict=True):
        plain, with_content, typed, with_reasoning, prompt, thinking, answer, roles, *checks = (
            next(renderings) for _ in group
        )
        rendered.append(
            _Rendered(style, plain, with_content, typed, with_reasoning, prompt, thinking, answer, roles, tuple(checks))
        )
    return rendered


def _from(rendered: _Rendered, template: ChatTemplate, name: str) -> FormatTable | str:
    """The table by one style's renderings, or why there is none."""
    turn = _turn(rendered.plain.text, rendered)
    if turn is None:
        return "its text of a turn with a call does not show the user's message before it"
    shape = shape_of_call(turn, probes.PLAIN, _id(rendered.style, 0, probes.PLAIN))
    if shape is None and probes.FIRST not in turn:
        return "it shows no calls"
    if shape is None and f"{probes.FIRST}({probes.KEY_A}=" in turn:
        return (
            "its text of a call is not valid in Python's syntax: values lack their quotes, or the commas between them"
        )
    if shape is None:
        return "its text of a call is neither JSON, a header and JSON, parameters in tags, nor Python's syntax"
    calls = _calls(rendered, turn, shape)
    if isinstance(calls, str):
        return calls
    if not (calls.opener or calls.section.opener or calls.tags):
        return "its calls have no opening marker"
    table = _table(name, calls, rendered, template)
    try:
        format = format_of(table)
        return _wrong_check(format, rendered) or table
    except FormatTableError as error:
        return str(error)


def _table(name: str, calls: CallTable, rendered: _Rendered, template: ChatTemplate) -> FormatTable:
    reasoning, is_open = _reasoning(rendered)
    if not reasoning.opener and template.response is not None:  # a chat template may leave earlier reasoning out
        reasoning = response_reasoning(template.response)
    return FormatTable(
        name,
        calls,
        reasoning=reasoning,
        results=_results(rendered),
        roles=_roles(rendered.roles),
        turn_ends=_turn_ends(rendered),
        prompt_end=reasoning.opener if is_open else "",
        template=template.origin,
    )


def _id(style: ProbeStyle, index: int, call: ProbeCall) -> str:
    return style.ids.format(name=call.name, index=index)


def _turn(text: str, rendered: _Rendered) -> str | None:
    """What the model writes of a rendered conversation, and what follows it up to a result."""
    start = text.rfind(probes.USER)
    if start < 0:
        return None
    start += len(probes.USER)
    end = text.find(probes.RESULT, start)
    turn = text[start : end if end >= 0 else len(text)]
    return turn[len(_header(turn, rendered)) :]


def _header(turn: str, rendered: _Rendered) -> str:
    """The beginning of a rendered turn that the prompt ends with."""
    prompt = rendered.prompt.text
    return _whole_markers(common_start(turn, prompt[prompt.rfind(probes.USER) + len(probes.USER) :]))


def _whole_markers(text: str) -> str:
    """A text without a marker that it cuts at its end."""
    opened = max(text.rfind("<"), text.rfind("["))
    return text if opened < 0 or ">" in text[opened:] or "]" in text[opened:] else text[:opened]


# Where calls begin and end.


def _calls(rendered: _Rendered, turn: str, shape: ShapeOfCall) -> CallTable | str:
    before = _before(rendered, turn, shape)
    after = turn[shape.end :]
    between = _between(rendered, shape)
    is_array = shape.kind in ("json", "python") and before.rstrip().endswith("[") and after.lstrip().startswith("]")
    if is_array:
        before, after = before.rstrip()[:-1], after.lstrip()[1:]
    closer = _closer(after, between)
    opener = _opener(before, between.removeprefix(closer) if between is not None else None)
    if opener.strip() and opener.strip() in _answer(rendered):  # a token of every turn alone opens no call
        opener = before
    section = _section(before, after, opener, closer, between, is_array=is_array or shape.kind == "python")
    if isinstance(section, str):
        return section
    separator = (between or "").removeprefix(closer).removesuffix(opener)
    if is_array or not (between or "").strip():
        separator = between or ""
    own = Enclosed(opener.strip(), closer.strip()) if section is None or (section.opener and opener.strip()) else None
    if is_array or shape.kind == "python":
        own = None
        section = Enclosed(before.strip(), _first_marker(after)) if section is None else section
    header = shape.header
    if shape.kind == "named" and (own is None or not own.opener) and not (section and section.opener):
        before_name, name, header = header.partition("{name}")
        own, header = Enclosed(before_name, _first_marker(after)), name + header
    tags = shape.tags
    if tags is not None:
        ends = [match[0] for match in MARKER.finditer(closer)]
        if own is not None and own.opener and len(ends) > 1:
            own = structs.replace(own, closer=ends[-1])
            ends.pop()
        elif own is not None and own.opener:
            ends = []
        tags = _typed(rendered, structs.replace(tags, end="".join(ends)))
    return CallTable(
        shape.kind,
        opener=own.opener if own is not None else "",
        closer=own.closer if own is not None else "",
        section=section or Enclosed(),
        between=separator,
        is_array=is_array and shape.kind == "json",
        keys=shape.keys,
        header=header,
        tags=tags,
    )


def _before(rendered: _Rendered, turn: str, shape: ShapeOfCall) -> str:
    """The text before a call that belongs to it: after the text of the turn, if the template shows one."""
    text = rendered.with_content.text
    start = text.rfind(probes.CONTENT)
    if not rendered.with_content.error and start >= 0:
        rest = text[start + len(probes.CONTENT) :]
        other = shape_of_call(rest, probes.PLAIN, _id(rendered.style, 0, probes.PLAIN))
        if other is not None:
            return rest[: other.start]
    before = turn[: shape.start]
    reasoning, _ = _reasoning(rendered)
    if reasoning.closer and reasoning.closer in before:
        before = before[before.rindex(reasoning.closer) + len(reasoning.closer) :]
    return before


def _between(rendered: _Rendered, shape: ShapeOfCall) -> str | None:
    """The text between two calls; None if the template shows no two calls in one turn."""
    two = rendered.checks[-1]
    turn = _turn(two.text, rendered) if not two.error else None
    if turn is None:
        return None
    first = shape_of_call(turn, probes.PLAIN, _id(rendered.style, 0, probes.PLAIN))
    second = shape_of_call(turn, probes.OTHER, _id(rendered.style, 1, probes.OTHER), first.end) if first else None
    return turn[first.end : second.start] if first is not None and second is not None else None


def _closer(after: str, between: str | None) -> str:
    if between is None:
        return _first_marker(after)
    shared = common_start(after, between)
    ends = [match.end() for match in MARKER.finditer(between) if match.end() <= len(shared)]
    return between[: ends[-1]] if ends else ""


def _opener(before: str, between: str | None) -> str:
    if between is None:
        return _last_markers(before)
    shared = common_end(before, between)
    starts = [match.start() for match in MARKER.finditer(between) if match.start() >= len(between) - len(shared)]
    return between[starts[0] :] if starts else ""


def _section(
    before: str, after: str, opener: str, closer: str, between: str | None, *, is_array: bool
) -> Enclosed | str | None:
    """The markers around all calls; None if there are none."""
    rest = before.removesuffix(opener).strip() if opener else before.strip()
    if not rest:
        return None
    markers = [match[0] for match in MARKER.finditer(rest)]
    if not markers and not is_array:
        return None if opener else "its calls have no opening marker"
    first = rest[rest.index(markers[0]) :] if markers else ""
    if first.startswith("```"):
        return "its calls begin with a code fence, as other texts do"
    return Enclosed(first if markers else "", _first_marker(after.removeprefix(closer)))


def _first_marker(text: str) -> str:
    match = MARKER.search(text)
    return match[0] if match is not None and not text[: match.start()].strip() else ""


def _last_markers(text: str) -> str:
    """The markers at the end of a text."""
    stripped = text.rstrip()
    matches = [match for match in MARKER.finditer(stripped) if match.end() == len(stripped)]
    return text[matches[-1].start() :] if matches else ""


def _typed(rendered: _Rendered, tags: CallTags) -> CallTags:
    """The tags with the type of a value, if the template writes one."""
    turn = _turn(rendered.typed.text, rendered) if not rendered.typed.error else None
    if turn is None:
        return tags
    key, value = turn.find("count"), turn.find(str(probes.NUMBER))
    if not 0 <= key < value:
        return tags
    after = turn[key + len("count") : value]
    after = after.removesuffix("\n") if tags.own_lines else after
    if after == tags.after_parameter:
        return tags
    return structs.replace(tags, after_parameter=after, after_text_parameter=tags.after_parameter)


# What else a turn has.


def _reasoning(rendered: _Rendered) -> tuple[Enclosed, bool]:
    """The markers of reasoning, and whether the prompt opens it."""
    text = rendered.with_reasoning.text
    position = text.rfind(probes.THOUGHT)
    if rendered.with_reasoning.error or position < 0:
        return Enclosed(), False
    start = text.rfind(probes.USER, 0, position)
    opener, closer = (
        _last_markers(text[max(start, 0) : position]).strip(),
        _first_marker(text[position + len(probes.THOUGHT) :]),
    )
    answer = _answer(rendered)
    if not opener or not closer or (opener in answer and closer not in answer):
        return Enclosed(), False
    prompts = (rendered.prompt, rendered.thinking_prompt)
    return Enclosed(opener, closer), any(prompt.text.rstrip().endswith(opener) for prompt in prompts)


def _answer(rendered: _Rendered) -> str:
    """The text from the user's message to the next one, of an answer without calls."""
    text = rendered.answer.text
    return text[text.rfind(probes.USER) : text.rfind(probes.LATER)]


def _results(rendered: _Rendered) -> Enclosed:
    text = rendered.plain.text
    position = text.rfind(probes.RESULT)
    if position < 0:
        return Enclosed()
    opener = _last_markers(text[:position]).strip()
    closer = _first_marker(text[position + len(probes.RESULT) :])
    names_closer = opener[1:].strip("<>[]|") and closer[1:2] == "/" and opener[1:-1] in closer
    return Enclosed(opener, closer) if names_closer else Enclosed()


def _roles(rendering: Rendering) -> RoleHeaders:
    """The markers before the texts of a system prompt, a user and an answer."""
    texts = {"system": probes.SYSTEM, "user": probes.USER, "assistant": probes.CONTENT}
    if rendering.error or not all(text in rendering.text for text in texts.values()):
        return RoleHeaders()
    known = tuple(transition.marker for transition in TURN_TRANSITIONS)
    headers = {role: _role_header(rendering.text[: rendering.text.rfind(text)]) for role, text in texts.items()}
    distinct = len(set(headers.values())) == len(headers)
    own = {role: header for role, header in headers.items() if header and not header.startswith(known)}
    return RoleHeaders(**own) if distinct else RoleHeaders()


def _role_header(before: str) -> str:
    """The marker at the end of a text if it names a role, with the role if that follows it."""
    match = _ROLE_HEADER.search(_EMPTY_REASONING.sub("", before[-_PROMPT_CHARS:]))
    return match[1] if match is not None else ""


def _turn_ends(rendered: _Rendered) -> tuple[str, ...]:
    answer = rendered.answer
    if answer.error or probes.CONTENT not in answer.text:
        return ()
    first = _first_marker(answer.text[answer.text.rfind(probes.CONTENT) + len(probes.CONTENT) :])
    return (first,) if first else ()


# Reading back.


def _tools() -> tuple[ToolDefinition, ...]:
    definitions = []
    for tool in probes.TOOLS:
        assert isinstance(tool, dict)
        function = tool["function"]
        assert isinstance(function, dict)
        definitions.append(
            ToolDefinition(
                str(function["name"]), str(function["description"]), function["parameters"], json.dumps(tool)
            )
        )
    return tuple(definitions)


def _wrong_check(format: Format, rendered: _Rendered) -> str:
    """The first check that the format does not read as it was rendered; "" if it reads all."""
    is_read = False
    for calls, rendering in zip(probes.CHECKS, rendered.checks, strict=True):
        if rendering.error:
            if len(calls) > 1:  # some templates refuse two calls in one turn
                continue
            return f"it cannot be rendered with the call {_shown(calls)} ({rendering.error})"
        turn = _turn(rendering.text, rendered) or ""
        if len(calls) > 1 and probes.SECOND not in turn:  # others show the first one only
            continue
        start = rendering.text.rfind(probes.USER) + len(probes.USER)
        prompt = rendering.text[start : rendering.text.find(turn, start)]
        read = segment_whole(turn, format, prompt=prompt, tools=_tools()).calls
        if not _are_equal(read, calls):
            return f"what was found does not read its text of the call {_shown(calls)}"
        is_read = True
    return "" if is_read else "it renders no call"


def _are_equal(read: Sequence[ToolCall], calls: Sequence[ProbeCall]) -> bool:
    return [(call.name, call.arguments) for call in read] == [(call.name, call.arguments) for call in calls]


def _shown(calls: Sequence[ProbeCall]) -> str:
    return " and ".join(json.dumps(msgspec.to_builtins(call)["arguments"], ensure_ascii=False) for call in calls)


def _built_in(rendered: _Rendered) -> Format | None:
    """The built-in format that reads all checks; None if there is none."""
    if rendered.plain.error or rendered.prompt.error:
        return None
    turn = _turn(rendered.plain.text, rendered) or ""
    return max(_readers(rendered), key=lambda format: format.confidence(turn), default=None)


def _readers(rendered: _Rendered) -> Iterator[Format]:
    for format in formats():
        if format.name not in _API_FORMATS and not _wrong_check(format, rendered):
            yield format
