"""The conversations that a template is rendered with to find out how its model writes calls.

Names and values are words that occur nowhere else, so that they can be found in the renderings. The first probes are
for comparing, `CHECKS` are read back by the derived format.
"""

import json
from collections.abc import Sequence

from msgspec import Struct

from weaklink.inspector.model import Json

FIRST, SECOND = "get_wlfirst", "get_wlsecond"
KEY_A, KEY_B = "wlkeya", "wlkeyb"
VALUE_A, VALUE_B = "wlvaluea", "wlvalueb"
USER, LATER, SYSTEM, CONTENT = "wluser", "wllater", "wlsystem", "wlcontent"
THOUGHT, RESULT = "wlthought", "wlresult"
NUMBER = 918273
_TEXT: dict[str, Json] = {"type": "string", "description": "Text."}
_PARAMETERS: dict[str, Json] = {
    "type": "object",
    "properties": {
        KEY_A: _TEXT,
        KEY_B: _TEXT,
        "count": {"type": "integer", "description": "Number."},
        "deep": {"type": "object", "description": "Nested.", "additionalProperties": _TEXT},
        "list": {"type": "array", "items": {"type": "string"}, "description": "Texts."},
    },
    "required": [],
    "additionalProperties": False,
}
TOOLS: list[Json] = [
    {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": _PARAMETERS}}
    for name in (FIRST, SECOND)
]


class ProbeCall(Struct, frozen=True):
    """One call of a probe."""

    name: str
    arguments: dict[str, Json]


class ProbeStyle(Struct, frozen=True):
    """How a template wants its messages, as far as templates differ.

    `as_text` says that arguments are texts of JSON, `content` is what a message with calls has as content, `ids` are
    the ids of calls, with `{name}` and `{index}`; `is_answered` says that results follow calls, `has_parts`
    that a text is a list of one part.
    """

    as_text: bool = False
    content: str | None = ""
    ids: str = "wlcall{index:03}"
    is_answered: bool = True
    has_parts: bool = False


STYLES = (
    ProbeStyle(),
    ProbeStyle(content=None),
    ProbeStyle(as_text=True),
    ProbeStyle(as_text=True, content=None),
    ProbeStyle(ids="functions.{name}:{index}"),
    ProbeStyle(as_text=True, ids="functions.{name}:{index}"),
    ProbeStyle(is_answered=False),
    ProbeStyle(has_parts=True),
)

PLAIN = ProbeCall(FIRST, {KEY_A: VALUE_A, KEY_B: VALUE_B})
OTHER = ProbeCall(SECOND, {KEY_A: VALUE_A, KEY_B: VALUE_B})
TYPED = ProbeCall(FIRST, {KEY_A: VALUE_A, "count": NUMBER})
CHECKS: tuple[tuple[ProbeCall, ...], ...] = (
    (PLAIN,),
    (ProbeCall(FIRST, {KEY_A: 'Tromsø "north"', "count": 3}),),
    (ProbeCall(FIRST, {"deep": {"inner": {"list": [1, 2.5, "x", None]}}, "list": ["a", "b"]}),),
    (ProbeCall(FIRST, {}),),
    (ProbeCall(FIRST, {KEY_A: "two\nlines, a comma; {a brace} and [a bracket]"}),),
    (PLAIN, OTHER),
)
"""The calls of the turns that a derived format must read as they are; the last one has two."""


def conversation(
    calls: Sequence[ProbeCall],
    style: ProbeStyle,
    *,
    content: str = "",
    reasoning: str = "",
) -> list[Json]:
    """A user's question and a turn with these calls, with results if `style` says so."""
    answer: dict[str, Json] = {"role": "assistant", "content": content_of(content or style.content, style)}
    if reasoning:
        answer["reasoning_content"] = answer["reasoning"] = answer["thinking"] = reasoning
    answer["tool_calls"] = [_call(index, call, style) for index, call in enumerate(calls)]
    messages: list[Json] = [{"role": "user", "content": content_of(USER, style)}, answer]
    if style.is_answered:
        for index, call in enumerate(calls):
            messages.append(
                {
                    "role": "tool",
                    "name": call.name,
                    "tool_call_id": _id(index, call, style),
                    "content": content_of(RESULT, style),
                }
            )
    return messages


def content_of(text: str | None, style: ProbeStyle) -> Json:
    """A message's text, as a list of parts if `style` says so."""
    return [{"type": "text", "text": text}] if style.has_parts and text else text


def _call(index: int, call: ProbeCall, style: ProbeStyle) -> Json:
    arguments: Json = json.dumps(call.arguments, ensure_ascii=False) if style.as_text else call.arguments
    return {
        "id": _id(index, call, style),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _id(index: int, call: ProbeCall, style: ProbeStyle) -> str:
    return style.ids.format(name=call.name, index=index)
