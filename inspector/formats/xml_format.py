"""Makes a Format of a dialect whose calls hold parameters in tags, and says which calls it can hold."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from inspector.formats.format import Format, Signs
from inspector.formats.span_readings import ReasoningReader, read_definitions, read_result
from inspector.formats.writing import is_json_call, json_of
from inspector.formats.xml_table import XmlCalls
from inspector.model import Json, Role, SpanKind, ToolCall
from inspector.segmenter.events import FormatParser, SpanClosed
from inspector.segmenter.machine import Machine
from inspector.segmenter.readings import Reading, SpanReader
from inspector.segmenter.table import Table

_PLAIN_NAME = re.compile(r"[\w.-]{1,128}")


@dataclass(frozen=True, slots=True)
class LabelledReader:
    """A SpanReader that leaves each span to the reader for its label."""

    readers: Mapping[str, SpanReader]

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        return self.readers[closed.span.label](closed)


def xml_format(
    *,
    name: str,
    summary: str,
    aliases: tuple[str, ...],
    models: tuple[str, ...],
    signs: Signs,
    calls: XmlCalls,
    table: Table,
    reader: SpanReader,
    write_calls: Callable[[Sequence[ToolCall]], str],
    is_typed: bool = False,
    read_results: SpanReader = read_result,
    read_tools: SpanReader = read_definitions,
) -> Format:
    """A Format over `table`.

    `is_typed` says that the wire tells the types of values, so that they need not be texts.
    """

    def new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        return Machine(table, role=role.value, prompt=prompt)

    def expresses(call: ToolCall) -> bool:
        if call.id is not None or not is_json_call(call) or not isinstance(call.arguments, dict):
            return False
        are_texts = all(isinstance(value, str) for value in call.arguments.values())
        if are_texts and _is_plain(call.arguments, call.name or ""):
            return True
        return (are_texts or is_typed) and _reads_back(call, write_calls, new_parser, reader)

    own = [call for call in calls.calls if call.is_drafted]
    return Format(
        name=name,
        summary=summary,
        aliases=aliases,
        models=models,
        confidence=signs,
        new_parser=new_parser,
        readers=MappingProxyType(
            {
                SpanKind.TOOL_CALL: reader,
                SpanKind.TOOL_RESULT: read_results,
                SpanKind.TOOL_DEFINITIONS: read_tools,
                SpanKind.REASONING: ReasoningReader([call.opener for call in own], [call.closer for call in own]),
            }
        ),
        write_calls=write_calls,
        expresses=expresses,
    )


def value_text(value: Json) -> str:
    """A value as such dialects write it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json_of(value)


def arguments_of(call: ToolCall) -> dict[str, Json]:
    """The call's arguments by name; empty where they could not be read."""
    return call.arguments if isinstance(call.arguments, dict) else {}


def _is_plain(arguments: dict[str, Json], name: str) -> bool:
    """Whether nothing in the call could be taken for a marker."""
    names = all(map(_PLAIN_NAME.fullmatch, (name, *arguments)))
    return names and not any(mark in value_text(value) for value in arguments.values() for mark in "<[]\n")


def _reads_back(
    call: ToolCall,
    write_calls: Callable[[Sequence[ToolCall]], str],
    new_parser: Callable[[], FormatParser],
    reader: SpanReader,
) -> bool:
    """Whether two such calls in a row, once written, read as what they were."""
    parser = new_parser()
    events = (*parser.feed(write_calls([call, call])), *parser.close())
    closed = (event for event in events if isinstance(event, SpanClosed) and event.span.kind is SpanKind.TOOL_CALL)
    read = [found for event in closed for found in reader(event).calls]
    return [(one.name, one.arguments, one.valid) for one in read] == [(call.name, call.arguments, True)] * 2
