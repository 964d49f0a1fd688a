"""`muse` and `beam`: messages with a recipient in their header, as in Harmony, and parameters in tags.

`muse` (ATEM): ` to=self<|message|>` is reasoning, ` to=user` the answer, ` to=TOOL` a call in `<atem:function_calls>`
tags; `<|eom|>` or `<|eot|>` ends a message. Sources: llama.cpp:common/parsers/muse-glimmer.cpp,
vllm:vllm/parser/muse_glimmer.py.

`beam`: ` to=NAME<|channel|>analysis <|constrain|>xml<|message|>` and `<rfl:parameter>` tags; reasoning and answers as
in Harmony. Sources: vllm:vllm/parser/beam.py, sglang's parser `beam`.
"""

import re
from functools import partial

import msgspec
from msgspec.structs import replace

from weaklink.inspector.diagnostics import Edit
from weaklink.inspector.formats.chat_turns import turn_ends
from weaklink.inspector.formats.dialect import Enclosed, ReasoningTag, opening
from weaklink.inspector.formats.edited_text import Slip, read_slip
from weaklink.inspector.formats.format import DetectionPatterns
from weaklink.inspector.formats.xml.calls import XmlCallReader
from weaklink.inspector.formats.xml.format import CallTemplate, XmlCall, XmlCalls, XmlTags, xml_format
from weaklink.inspector.formats.xml.syntax import QUOTED_NAME, XmlSyntax
from weaklink.inspector.formats.xml.tag_families import invoke_tags
from weaklink.inspector.model import SpanKind
from weaklink.inspector.rules.markers import MALFORMED_HEADER
from weaklink.inspector.segmenter.events import ParseResult, SpanClosed
from weaklink.inspector.segmenter.table import HOME, Lookahead, MarkerSplit, OneOf, Repeat, State, Transition
from weaklink.inspector.text import Range

_START, _MESSAGE, _TO = "<|start|>", "<|message|>", " to="
_RECIPIENT = Repeat(r"[\w.\-]", 1, 128)
_INTO_HEADER = Transition(_START, MarkerSplit.BEFORE, "header")
_INTO_CONTENT = Transition(_MESSAGE, MarkerSplit.AFTER, HOME)
_ATEM = invoke_tags(Enclosed("<atem:function_calls>", "</atem:function_calls>"), "atem:", anywhere=True)

MUSE = xml_format(
    # The tool `f` is named `f.f`.
    replace(_ATEM, reader=XmlCallReader(_ATEM.call.syntax, unescape=partial(re.sub, r"\A([^.]*)\.\1\Z", r"\1"))),
    name="muse",
    summary=" to=RECIPIENT<|message|>; a call has <atem:invoke name=NAME> tags, in <atem:function_calls> tags",
    aliases=("muse_glimmer", "musespark1x", "atem"),
    models=("*muse-glimmer*", "*muse-spark*"),
    signs=DetectionPatterns(
        calls={r"<atem:function_calls>": 0.98, r'<atem:invoke name="': 0.98},
        hints={r"(?:\A|assistant) to=[\w.\-]{1,128}<\|message\|>": 0.98},
    ),
    results=(),
    reasoning=tuple(
        ReasoningTag("self", f"{start} to=self{_MESSAGE}", "<|eom|>", other_closers=("<|eot|>",))
        for start in (f"{_START}assistant", "")
    ),
    turns=(
        _INTO_HEADER,
        Transition(_TO, MarkerSplit.BEFORE, "header", ahead=Lookahead(_RECIPIENT, _MESSAGE)),
        *turn_ends("<|eom|>", "<|eot|>"),
    ),
    turn_states=(State("header", SpanKind.MARKUP, (_INTO_CONTENT,), "turn_header", unfinished=_MESSAGE),),
)

_CHANNEL = "<|channel|>"
_TYPE = f"{_CHANNEL}analysis <|constrain|>xml{_MESSAGE}"
_BEAM_SYNTAX = XmlSyntax(
    call=None,
    call_begins=_TO,
    shown_call=f"{_TO}NAME{_TYPE}",
    call_end="",
    parameter=Lookahead('<rfl:parameter name="', QUOTED_NAME, '">'),
    parameter_begins='<rfl:parameter name="',
    shown_parameter='<rfl:parameter name="NAME">',
    parameter_end="</rfl:parameter>",
    opener="",
    closer="<|call|>",
    own_lines=True,
    anywhere=True,
)
_TOKENS = (_CHANNEL, "<|constrain|>", _MESSAGE)
_TYPES = (
    *(_TYPE.replace(token, token * 2) for token in _TOKENS),
    _TYPE,
    *(_TYPE.replace(token, "") for token in (" <|constrain|>xml", *_TOKENS)),
)
"""What follows the recipient of a call, and what models write in its place: a token twice, or not at all."""
_INTO_CALL = Lookahead(OneOf((_RECIPIENT, _TYPES), (_RECIPIENT, _TO, _RECIPIENT, _TYPES)))
_BEAM_CALL = XmlCall(
    _TO, "<|call|>", _BEAM_SYNTAX, ahead=_INTO_CALL, is_drafted=False, other_closers=("<|end|>",), is_header=True
)
_BEAM_REASONING = f"{_CHANNEL}analysis{_MESSAGE}"

_read_parameters = XmlCallReader(_BEAM_SYNTAX)

_HEADER = re.compile(rf"\s*([\w.\-]+)((?: to=\1)?(?:{'|'.join(map(re.escape, _TYPES))}))")


def _read_beam(closed: SpanClosed) -> ParseResult:
    """See SpanReader. A header with a token too many or too few is a slip."""
    header = _HEADER.match(closed.inner_text)
    if header is None or header[2] == _TYPE:
        return _read_once(closed)
    message = f"The header of this call does not match the format: expected ` to={header[1]}{_TYPE}`."
    edit = Edit(Range(*header.span(2)), _TYPE)
    return read_slip(closed, _read_once, Slip(MALFORMED_HEADER, message, "Write the whole header.", (edit,)))


def _read_once(closed: SpanClosed) -> ParseResult:
    """See SpanReader. The tokens after the name are blanks to the reader."""
    text = closed.inner_text.replace(_TYPE, " " * len(_TYPE), 1)
    return _read_parameters(msgspec.structs.replace(closed, inner_text=text))


_WRITER = CallTemplate(
    f"{_TO}{{name}}{_TYPE}{{parameters}}",
    '<rfl:parameter name="{name}">\n{value}\n</rfl:parameter>',
    "<|end|><|start|>assistant",
)
_NAMELESS = re.compile(rf"{re.escape(_TYPE)}(?=\s{{0,8}}<rfl:parameter )")
_OUT_OF_HEADER = (
    _INTO_CONTENT,
    Transition(_TYPE, MarkerSplit.AFTER, HOME, MALFORMED_HEADER, expects=f"`{_TO}NAME` of the called tool"),
    opening(_BEAM_REASONING, f"reasoning {_BEAM_REASONING}"),
    Transition(_TO, MarkerSplit.BEFORE, f"bare {_TO}", ahead=_INTO_CALL),
)
BEAM = xml_format(
    XmlTags(XmlCalls((_BEAM_CALL,)), _read_beam, lambda calls: _WRITER(calls) + "<|call|>" * bool(calls)),
    name="beam",
    summary=" to=NAME<|channel|>analysis <|constrain|>xml<|message|> with <rfl:parameter name=KEY> tags",
    models=(),
    signs=DetectionPatterns(
        calls={r" to=[\w.\-]{1,128}<\|channel\|>analysis <\|constrain\|>xml<\|message\|>": 0.98},
        hints={r"</?rfl:parameter": 0.98},
    ),
    results=(),
    reasoning=(ReasoningTag("analysis", _BEAM_REASONING, "<|end|>"),),
    turns=(_INTO_HEADER, *turn_ends(f"{_CHANNEL}final{_MESSAGE}", "<|end|>", "<|call|>", "<|return|>")),
    turn_states=(State("header", SpanKind.MARKUP, _OUT_OF_HEADER, "turn_header", unfinished=_MESSAGE),),
    near_calls=((_NAMELESS, f"{_TO}NAME{_TYPE}"),),
)
