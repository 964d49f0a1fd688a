"""Reads calls whose code stands in a block of its own behind the JSON: `{"arguments": {"code": ""}}<code>...</code>`.

Source: QwenLM/Qwen-Agent:qwen_agent/llm/fncall_prompts/nous_fncall_prompt.py (its mode for code tools).
"""

import re
from dataclasses import dataclass

import msgspec

from inspector.segmenter.events import SpanClosed
from inspector.segmenter.readings import Reading, SpanReader

_BLOCK = re.compile(r"\s*<code>\n?(?P<code>[\s\S]*?)\n?</code>\s*\Z")


@dataclass(frozen=True, slots=True)
class CodeBlockReader:
    """A SpanReader that puts the text of a trailing `<code>` block into the call's empty `code` argument."""

    call: SpanReader

    def __call__(self, closed: SpanClosed) -> Reading:
        """See SpanReader."""
        text = closed.inner_text
        at = text.rfind("<code>") if text.rstrip().endswith("</code>") else -1
        first = text.find("<code>") if at >= 0 else -1
        block = _BLOCK.match(text, len(text[:first].rstrip())) if first >= 0 else None
        if block is None:
            return self.call(closed)
        reading = self.call(msgspec.structs.replace(closed, inner_text=text[: block.start()], call=None))
        calls = reading.calls
        if len(calls) != 1 or not isinstance(calls[0].arguments, dict) or calls[0].arguments.get("code") != "":
            return self.call(closed)
        filled = msgspec.structs.replace(calls[0], arguments={**calls[0].arguments, "code": block["code"]})
        return Reading(calls=(filled,), faults=reading.faults, complete=reading.complete)
