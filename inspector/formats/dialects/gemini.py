"""`gemini`: calls in fences of `tool_code`, results in fences of `tool_outputs`; or the API's JSON.

Sources: Google's guides to function calling with Gemma, google-gemini cookbooks, vllm:examples/
tool_chat_template_gemma3_pythonic.jinja. Gemini models write `print(default_api.f(x=1))` in such fences, Gemma `f(x=1)`
or a list of calls; some write JSON. A fence of any other language is text. The API's own parts are read elsewhere.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from weaklink.inspector.apis.gemini import GeminiShapes
from weaklink.inspector.formats.api.parser import api_or_text
from weaklink.inspector.formats.chat_turns import last_words
from weaklink.inspector.formats.dialect import Enclosed, Transitions, dialect_format, enclosed_state
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.python.calls import PythonCallReader
from weaklink.inspector.formats.python.follower import PYTHON
from weaklink.inspector.formats.python.writing import is_python_call, write_call
from weaklink.inspector.formats.span_readers import ReasoningReader
from weaklink.inspector.model import SpanKind, ToolCall
from weaklink.inspector.segmenter.table import Lookahead, MarkerSplit, Repeat, State, Transition

_FENCE, _NAMESPACE = "```", "default_api."
CALL_OPENER = "```tool_code"
"""The marker that opens a fence of calls."""

_CALL, _RESULT = Enclosed(CALL_OPENER, _FENCE), Enclosed("```tool_outputs", _FENCE)
_LINE_ENDS = Lookahead(Repeat(r"[ \t]"), ("\n", "\r\n"))


def _call_states(transitions: Transitions) -> Iterator[State]:
    # A fence opens and closes with the same marker, so one within a call's strings is ambiguous until the call ends.
    yield enclosed_state("call", SpanKind.TOOL_CALL, _CALL, transitions.out_of_call, PYTHON)
    yield enclosed_state("result", SpanKind.TOOL_RESULT, _RESULT, transitions.turns)


def _expresses(call: ToolCall) -> bool:
    """Whether a fence of `tool_code` can express the call: `print` is a wrapper there, not a tool."""
    return is_python_call(call) and call.name != "print" and not (call.name or "").startswith(_NAMESPACE)


_TEXT_SIDE = dialect_format(
    PythonCallReader(namespace=_NAMESPACE),
    ReasoningReader((CALL_OPENER,), (_FENCE,)),
    name="gemini",
    summary="calls in fences of `tool_code`, in Python's syntax or JSON; or the Gemini API's JSON",
    aliases=("gemma3", "tool_code"),
    models=("*gemini*", "*gemma-3-*", "*gemma3*"),
    signs=DetectionPatterns(calls={r"```tool_code[ \t]*\r?\n": 0.95}, hints={r"```tool_outputs|default_api\.": 0.6}),
    calls=(Transition(CALL_OPENER, MarkerSplit.BEFORE, "call", ahead=_LINE_ENDS),),
    call_states=_call_states,
    into_results=(Transition(_RESULT.opener, MarkerSplit.BEFORE, "result", ahead=_LINE_ENDS),),
    turns=last_words("<eos>"),
    write_calls=lambda calls: "\n".join((CALL_OPENER, *map(write_call, calls), _FENCE)),
    expresses=_expresses,
)
GEMINI = replace(_TEXT_SIDE, new_parser=api_or_text(GeminiShapes, _TEXT_SIDE.new_parser))
