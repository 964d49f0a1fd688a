"""Reads what is between `<tool_call>` and its closer by the body, since several families share these markers.

A JSON object is the way of Hermes and Qwen, `<function=NAME>` that of Qwen3-Coder and Step, a bare name before
`<arg_key>` that of GLM (llama.cpp:models/templates; vllm:vllm/tool_parsers). A model that writes the body of another
family names a tool all the same, and a server with the parser of its own family reads none.
"""

import re
from dataclasses import dataclass

import msgspec

from inspector.diagnostics import Fault
from inspector.formats.arg_tags import arg_syntax
from inspector.formats.function_tags import FunctionTags
from inspector.formats.xml_parameters import XmlCallReader
from inspector.rules.markers import FOREIGN_FORMAT
from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading, SpanReader
from inspector.text import Range

_FUNCTION = re.compile(r"\s*(<function=)[^<>\n=]{1,128}(?:>|[ \t]*\n|<)")
_NAME_AND_KEY = re.compile(r"\s*([A-Za-z0-9_.\-]{1,128})\s*<arg_key>")


@dataclass(frozen=True, slots=True)
class _Family:
    """The body of one family: how it begins, who writes it so, and its reader."""

    begins: re.Pattern[str]
    format: str
    reader: SpanReader


FUNCTION_BODY = _Family(_FUNCTION, "qwen3_coder", FunctionTags("<tool_call>", "</tool_call>").reader)
ARG_KEY_BODY = _Family(_NAME_AND_KEY, "glm45", XmlCallReader(arg_syntax()))
"""The bodies that are no JSON; readers of families that write in tags know a JSON body themselves."""


@dataclass(frozen=True, slots=True)
class SharedOpenerReader:
    """A SpanReader that hands the body of one of the `others` to its family's reader, and all else to `own`.

    `expected` says in words what `own` reads. Calls of another family are `recovered` and not `valid`.
    """

    own: SpanReader
    expected: str
    others: tuple[_Family, ...] = (FUNCTION_BODY, ARG_KEY_BODY)

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        if closed.call is None and closed.span.label == "tool_call":
            for family in self.others:
                begins = family.begins.match(closed.inner_text)
                if begins is not None:
                    return self._of(family, begins, closed)
        return self.own(closed)

    def _of(self, family: _Family, begins: re.Match[str], closed: SpanClosed) -> Reading:
        reading = family.reader(closed)
        message = f"The call is written as `{family.format}` writes it; this format expects {self.expected} here."
        hint = f"Give the server the parser for `{family.format}`, or the model the template of this format."
        fault = Fault(FOREIGN_FORMAT, Range(*begins.span(1)).moved(closed.span.inner.start), message, hint)
        calls = tuple(
            msgspec.structs.replace(call, valid=False, recovered=call.valid or call.recovered) for call in reading.calls
        )
        return msgspec.structs.replace(reading, calls=calls, faults=(fault, *reading.faults))
