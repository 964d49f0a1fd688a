"""Reads a call with parameters in tags the short way: one in perfect order, with no tag of the format in its values."""

from collections.abc import Callable

from inspector.formats.xml_syntax import XmlSyntax
from inspector.formats.xml_walk import trimmed
from inspector.json_scanner import read_json
from inspector.model import Json, Parameter, ToolCall
from inspector.text import Range


def regular_call(
    text: str, syntax: XmlSyntax, unescape: Callable[[str], str], distance: int, span: Range
) -> ToolCall | None:
    """The one call of a text in perfect order; None where anything at all is unusual.

    The text begins with the syntax's `lead`, `distance` code points into the whole text; `span` is the call's span.
    `unescape` gives the name that a tag's text stands for.
    """
    begin = len(text) - len(text.lstrip())
    head = syntax.head.match(text, begin)
    if head is None:
        return None
    at = first = head.end()
    last = at
    kind_at = syntax.parameter.whole.groups
    arguments: dict[str, Json] = {}
    parameters: list[Parameter] = []
    while (found := syntax.regular.match(text, at)) is not None:
        if syntax.end_tag is not None and found[kind_at + 3] != found[1]:
            return None
        start, last = found.span(kind_at + 1)
        if syntax.own_lines:
            start, last = trimmed(text, start, last)
        written = text[start:last]
        value: Json = written
        kind = found[kind_at] if syntax.text_type else ""
        if kind and kind != syntax.text_type:
            reading = read_json(written)
            if not reading.strict or reading.faults:
                return None
            value = reading.nodes[0].value()
        name = unescape(found[1].strip())
        arguments[name] = value
        named = Range(found.start(1) + distance, found.end(1) + distance)
        parameters.append(Parameter(name, written, Range(start + distance, last + distance), named, bool(kind)))
        at, last = found.end(), found.end(kind_at + 2)
    end = syntax.tail.match(text, at)
    if end is None or len(arguments) < len(parameters) or not head[1].strip():
        return None
    stop = at + len(syntax.call_end) if syntax.call_end else len(text.rstrip())
    place = Range(first + distance, last + distance) if parameters else None
    return ToolCall(
        unescape(head[1].strip()),
        arguments,
        text[first:last] if parameters else "",
        valid=True,
        range=Range(max(begin + distance, span.start), stop + distance),
        name_range=Range(head.start(1) + distance, head.end(1) + distance),
        arguments_range=place,
        parameters=tuple(parameters),
    )
