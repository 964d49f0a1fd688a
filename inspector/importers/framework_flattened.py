r"""Requests that some instrumentations wrote down as one text, where another kept what was said.

Agno's spans hold each message as Python shows it (`role='user' content='...' name=None ...`); OpenLIT's join all
messages to one text (`system: ...\nuser: ...`) and write Python's `None` for an answer that has no words.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from inspector.importers.source import JsonObject
from inspector.importers.spans import ModelCall, OperationKind, TracedSpan
from inspector.model import BodyState, Generation, Json, Part, Role

_JOINED = re.compile(r"(?:system|developer|user|human|assistant|tool): ")
_TEXT = r"'[^'\\]*+(?:\\.[^'\\]*+)*'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*\""
_LONGEST = 1 << 20
_SHOWN = re.compile(
    rf"role=(?P<role>{_TEXT}) content=(?P<content>None|{_TEXT}) name=(?P<name>None|{_TEXT}) "
    rf"tool_call_id=(?P<tool_call_id>None|{_TEXT}) "
    rf"tool_calls=(?P<tool_calls>None|\[(?:[^'\"\]]++|{_TEXT})*\])(?= \w+=)",
    re.DOTALL,
)


def message_shown(text: str) -> JsonObject | None:
    """The message that Python's way to show an object stands for; None where the text is none, or beyond 1 MiB."""
    if not text.startswith("role=") or len(text) > _LONGEST or (found := _SHOWN.match(text)) is None:
        return None
    members: JsonObject = {}
    for name, shown in found.groupdict().items():
        try:
            value: Json = ast.literal_eval(shown)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
        members[name] = value
    return members


def without_flattened(spans: Iterable[TracedSpan]) -> list[TracedSpan]:
    """The spans; one within another of a model loses what is but joined or Python's `None`: there the other counts."""
    listed = list(spans)
    outer = {span.id: span.call for span in listed if span.kind is OperationKind.MODEL and span.call is not None}
    return [
        replace(span, call=_without(span.call, outer[span.parent_id]))
        if span.call is not None and span.parent_id in outer and span.parent_id != span.id
        else span
        for span in listed
    ]


def _without(call: ModelCall, outer: ModelCall) -> ModelCall:
    turns, answer = call.request.turns, call.answer
    if len(turns) == 1 and len(outer.request.turns) > 1 and _JOINED.match(_words(turns[0].parts)):
        call = replace(call, request=replace(call.request, turns=()))
    if answer.role is Role.ASSISTANT and _words(answer.parts) == "None" and _words(outer.answer.parts) != "None":
        known = replace(answer.generation or Generation(), body=BodyState.COMPLETE)
        call = replace(call, answer=replace(answer, parts=(Part("text", ""),), generation=known))
    return call


def _words(parts: tuple[Part, ...]) -> str:
    return parts[0].text if len(parts) == 1 else ""
