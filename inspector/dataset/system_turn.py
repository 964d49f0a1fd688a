"""Rewrites how a conversation tells the model its tools: a block in the system turn, or a field of the request."""

from dataclasses import dataclass

from inspector.formats.format import Format
from inspector.formats.template import Template
from inspector.formats.templates.registry import find_template
from inspector.model import Role, SpanKind, ToolDefinition
from inspector.segmentation import segment
from inspector.text import Range


@dataclass(frozen=True, slots=True)
class ToolsTold:
    """Where a system turn tells the tools.

    `range` is the place of the block; `is_whole` that the family's words around the definitions belong to it.
    """

    tools: tuple[ToolDefinition, ...]
    range: Range
    is_whole: bool


def find_told(text: str, source: Format) -> ToolsTold | None:
    """The block in a system turn that tells the tools as `source` does; None where there is none."""
    found = segment(text, source.name, role=Role.SYSTEM)
    template = find_template(source)
    block = template.tools_block.search(text) if template is not None and template.tools_block is not None else None
    if block is not None and (found.definitions or block.end() > block.start()):
        return ToolsTold(found.definitions, Range(*block.span()), is_whole=True)
    span = next((one for one in found.spans if one.kind is SpanKind.TOOL_DEFINITIONS), None)
    return ToolsTold(found.definitions, span.range, is_whole=False) if span is not None and found.definitions else None


def retold(text: str, told: ToolsTold | None, tools: tuple[ToolDefinition, ...], template: Template) -> str:
    """The system turn's text with the tools as the template tells them; without them where a field holds them."""
    block = "" if template.offered is not None or not tools else template.tools(tools)
    if told is None:
        return template.join(text, block) if block else text
    before, behind = text[: told.range.start], text[told.range.end :]
    if block:
        return f"{before}{block}{behind}"
    return "\n\n".join(part for part in (before.rstrip(), behind.lstrip()) if part)
