"""Tool definitions, calls and results, each with the place it was read from."""

from dataclasses import dataclass

import msgspec

from inspector.json_text import write_json
from inspector.model.decoded import Decoded
from inspector.model.json import Json
from inspector.text import Range


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that was offered to the model: its name, what it does, and the JSON Schema of its arguments.

    `parameters` is the schema as it stands in the source, None where there is none; `raw` the whole definition's text;
    `range` where it was read in a part's text, None where it came in a structured field.
    """

    name: str
    description: str = ""
    parameters: Json = None
    raw: str = ""
    range: Range | None = None


class Parameter(msgspec.Struct, frozen=True):
    """One argument of a call whose arguments do not stand in one JSON text.

    `text` is its value exactly as written, `range` and `name_range` where value and name stand. `typed` says that the
    wire itself tells the value's type; where it does not, the value is a text, or holds texts, until the tool's schema
    says more.
    """

    name: str
    text: str
    range: Range
    name_range: Range | None = None
    typed: bool = False


class ToolCall(msgspec.Struct, frozen=True):
    """One call that the model wrote.

    `name` is None where it could not be read. `raw_arguments` is the exact text of the arguments; `arguments` their
    decoded value, or that same text where nothing could read it. `valid`: strict in its own format, and names a tool.
    `recovered`: not valid, but a repair could read it. `range` is the call's own text, `span` the index of the
    top-level span that holds it. `parameters` tells the arguments one by one where they do not stand in one JSON text;
    `raw_arguments` is then the text that holds them all. `decoded` is there where the arguments stand in JSON strings:
    `raw_arguments` is then their value, and `arguments_range` holds their raw characters, from the first string to the
    last. Made for every call, hence a msgspec structure.
    """

    name: str | None
    arguments: Json
    raw_arguments: str
    valid: bool
    range: Range
    id: str | None = None
    recovered: bool = False
    span: int = 0
    name_range: Range | None = None
    arguments_range: Range | None = None
    parameters: tuple[Parameter, ...] = ()
    decoded: Decoded | None = None

    def place(self, within: Range) -> Range:
        """Where in the text a range of `raw_arguments` stands; without known arguments, the whole call."""
        if self.decoded is not None:
            return self.decoded.place(within)
        return self.range if self.arguments_range is None else within.moved(self.arguments_range.start)


def arguments_key(arguments: Json) -> str:
    """A text that two calls' arguments share if they are the same, in whatever order."""
    if isinstance(arguments, dict):
        return write_json(dict(sorted(arguments.items())))
    return write_json(arguments)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One result that was handed back to the model: `content` is its exact text, `range` that text's place.

    `call_id`, `name` and `is_error` are None where the source does not say.
    """

    content: str
    range: Range
    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None
    span: int = 0
