"""The parser API that users of function-calling code know: a thin layer over formats, for whole texts."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.detection import detect_format
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.segmentation import segment
from weaklink.inspector.text import Range

_NOWHERE = Range(0, 0)


class BaseParser(Protocol):
    """Parses the calls in a model's text, and writes a call as that model would."""

    def parse(self, text: str) -> list[ToolCall]:
        """Every call in `text`, malformed ones too (`valid` false)."""
        ...

    def format(self, tool_call: ToolCall) -> str:
        """The exact text that the model would emit for this call."""
        ...


_Parser = TypeVar("_Parser", bound=type[BaseParser])


class FormatCallParser:
    """A BaseParser over one of weaklink's formats, whose name is `name`."""

    def __init__(self, over: Format) -> None:
        self.name = over.name
        self._format = over

    def parse(self, text: str) -> list[ToolCall]:
        """See BaseParser."""
        return list(segment(text, self.name).calls)

    def format(self, tool_call: ToolCall) -> str:
        """See BaseParser. Raises ValueError if the format cannot express the call."""
        if not self._format.expresses(tool_call):
            raise ValueError(f"`{self.name}` cannot express this call of `{tool_call.name}`")
        return self._format.write_calls([tool_call])


class ToolCallParser:
    """Finds parsers: by a model's name, by a format's name, or a registered custom parser."""

    _registered: dict[str, type[BaseParser]] = {}  # noqa: RUF012  # filled by `register`, shared on purpose

    @classmethod
    def auto_detect(cls, model_name: str) -> BaseParser:
        """The parser of the format that models of this name use; of `hermes` if the name is not recognised."""
        return FormatCallParser(detect_format(model=model_name).format)

    @classmethod
    def create(cls, name: str) -> BaseParser:
        """The parser registered under `name`, else that of the format with this name. Raises UnknownFormatError."""
        registered = cls._registered.get(name)
        return registered() if registered is not None else FormatCallParser(find_format(name))

    @classmethod
    def register(cls, name: str) -> Callable[[_Parser], _Parser]:
        """Class decorator: register a parser under `name`. Raises ValueError if a format has that name."""
        try:
            find_format(name)
        except UnknownFormatError:
            pass
        else:
            raise ValueError(f"a format named `{name}` already exists")

        def keep(parser: _Parser) -> _Parser:
            cls._registered[name] = parser
            return parser

        return keep


def make_call(name: str, arguments: dict[str, Json], *, id: str | None = None) -> ToolCall:
    """A call that is not part of any text yet, ready to be written."""
    return ToolCall(name, arguments, "", valid=True, range=_NOWHERE, id=id)


def write_calls(calls: Sequence[ToolCall], format: str) -> str:
    """The exact text that models of this format emit for these calls. Raises UnknownFormatError."""
    return find_format(format).write_calls(calls)
