"""Calls that the server itself could not read and only speaks of: Gemini's `MALFORMED_FUNCTION_CALL`."""

import re

from inspector.diagnostics import Fault
from inspector.model import Decoded, Literal, ToolCall
from inspector.rules.json_syntax import MALFORMED_JSON
from inspector.segmenter.reading import Reading
from inspector.text import Range

# The words are `Malformed function call: ` and what the model wrote, mostly `print(default_api.NAME(...))`.
_INTRO = re.compile(r"\s*Malformed function call:?\s*")
_NAME = re.compile(r"\bdefault_api[.:]([A-Za-z_][\w.-]*)")


def read_refused(said: Literal, place: Range) -> Reading:
    """The call that a server's words tell of; `place` is the string that holds them."""
    decoded = Decoded((said,))
    match = _INTRO.match(said.text)
    written = said.text[match.end() :] if match is not None else said.text
    found = _NAME.search(written)
    name = found[1] if found is not None else None
    what = f"the call of `{name}`" if name else "a call"
    call = ToolCall(
        name,
        written,
        written,
        valid=False,
        range=place,
        name_range=decoded.place(Range(*found.span(1)).moved(len(said.text) - len(written))) if found else None,
    )
    fault = Fault(
        MALFORMED_JSON,
        decoded.place(Range(0, len(said.text))) if said.raw else place,
        f"The server could not read {what} and dropped it: only these words tell what the model wrote.",
        "Ask again; a simpler schema or fewer tools make it rarer.",
    )
    return Reading(calls=(call,), faults=(fault,), complete=True)
