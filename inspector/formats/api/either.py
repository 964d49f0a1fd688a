"""Joins an API's JSON with a dialect's text: one format whose raw text may be either."""

from collections.abc import Callable

from inspector.formats.api.parser import ApiOrText
from inspector.formats.api.pieces import ApiShapeReader
from inspector.formats.format import NewParser
from inspector.model import Role
from inspector.segmenter.events import FormatParser


def either(shapes: Callable[[], ApiShapeReader], text_side: NewParser) -> NewParser:
    """Makes parsers that read an API's JSON where the model's text is that, and else as `text_side` does.

    Turns of somebody else than the model are always text: what a tool gave may well look like an API's message.
    """

    def new_parser(prompt: str = "", role: Role = Role.ASSISTANT) -> FormatParser:
        text = text_side(prompt, role)
        return ApiOrText(shapes, text) if role is Role.ASSISTANT else text

    return new_parser
