"""Reads a call that a server refused, in the text of its answer or of its error; see `inspector.apis.refused_calls`."""

from weaklink.inspector.apis.located_pieces import RefusedCall
from weaklink.inspector.apis.refused_calls import GEMINI_REFUSES, refused_call
from weaklink.inspector.diagnostics import Fault
from weaklink.inspector.formats.api.call_reading import StructuredResult, literal
from weaklink.inspector.formats.api.units import Unit, UnitKind
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.model import Decoded, Span, SpanKind, ToolCall
from weaklink.inspector.rules.json_syntax import MALFORMED_JSON
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.segmenter.events import ParseResult
from weaklink.inspector.text import Range

_MAX_REASON = 120
_NAME = lazy_pattern(
    r"""(?x)
    \bdefault_api[.:] ([A-Za-z_][\w.-]*)     # Gemini: print(default_api.get_weather(...))
    | <function= ([A-Za-z_][\w.-]*)          # Llama: <function=get_weather>{...}
    | "name"\s*:\s* "([A-Za-z_][\w.-]*)"     # {"name": "get_weather", ...}
    """
)
_HINT = "Retry the request; a simpler schema or fewer tools make this less frequent."


def read_error(text: str) -> StructuredResult | None:
    """A server's error as it came on the wire, if it refuses a call; None for every other error."""
    whole = Range(0, len(text))
    if text[-len(GEMINI_REFUSES) :].upper() == GEMINI_REFUSES:  # a finish reason alone
        fault = Fault(MALFORMED_JSON, whole, _sentence(None, text, is_known=False), _HINT)
        return _reading(whole, whole, ToolCall(None, "", "", valid=False, range=whole), fault)
    start = text.find("{")
    unit = Unit(UnitKind.VALUE, 0, text, Range(max(start, 0), len(text)), text)
    for node in read_json(text, unit.json).nodes if start >= 0 else ():
        piece = refused_call(node)
        if piece is not None:
            return _reading(whole, piece.range, *_call_and_fault(piece, unit))
    return None


def read_refused(piece: RefusedCall, unit: Unit) -> ParseResult:
    """The call that a server refused, and its fault; ranges are in the whole text."""
    call, fault = _call_and_fault(piece, unit)
    return ParseResult(calls=(call,), faults=(fault,), complete=True)


def _call_and_fault(piece: RefusedCall, unit: Unit) -> tuple[ToolCall, Fault]:
    content, call_range = literal(piece.node, unit), piece.range.moved(unit.base)
    decoded = Decoded((content,))
    written = piece.written.of(content.text)
    match = _NAME.search(written)
    name = match[match.lastindex or 0] if match is not None else None
    named = Range(*match.span(match.lastindex or 0)).moved(piece.written.start) if match is not None else None
    name_range = None if named is None else decoded.place(named)
    call = ToolCall(name, written, written, valid=False, range=call_range, name_range=name_range)
    shown = decoded.place(piece.written if written else Range(0, len(content.text))) if content.raw else call_range
    return call, Fault(MALFORMED_JSON, shown, _sentence(name, piece.reason, is_known=bool(written)), _HINT)


def _reading(whole: Range, call_range: Range, call: ToolCall, fault: Fault) -> StructuredResult:
    markup = (Range(0, call_range.start), Range(call_range.end, whole.end))
    before, after = (Span(SpanKind.MARKUP, part, part, label="api") for part in markup)
    spans = (before, Span(SpanKind.TOOL_CALL, call_range, call_range, label="api"), after)
    return StructuredResult(tuple(span for span in spans if len(span.range)), (call,), (fault,))


def _sentence(name: str | None, reason: str, *, is_known: bool) -> str:
    what = f"the call of `{name}`" if name else "a call"
    words = " ".join(reason[:_MAX_REASON].split()).rstrip(".")
    known = "only this text shows what the model wrote" if is_known else "what the model wrote is not known"
    return f"The server refused {what} and returned `{words}` instead: {known}."
