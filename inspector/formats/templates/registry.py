"""The template of a format, by its name."""

from types import MappingProxyType

from inspector.formats.format import Format
from inspector.formats.templates.chatml import HERMES_TEMPLATE, JSON_SCHEMA_TEMPLATE, QWEN_TEMPLATE
from inspector.formats.templates.families import (
    CLAUDE_TEMPLATE,
    GEMINI_TEMPLATE,
    MISTRAL_TEMPLATE,
    OPENAI_TEMPLATE,
    REACT_TEMPLATE,
)
from inspector.formats.templates.llama3 import FUNCTIONARY_TEMPLATE, LLAMA3_TEMPLATE, PYTHONIC_TEMPLATE
from inspector.formats.templates.template import Template

TEMPLATES = MappingProxyType(
    {
        "hermes": HERMES_TEMPLATE,
        "mistral": MISTRAL_TEMPLATE,
        "llama3": LLAMA3_TEMPLATE,
        "qwen": QWEN_TEMPLATE,
        "functionary": FUNCTIONARY_TEMPLATE,
        "openai": OPENAI_TEMPLATE,
        "claude": CLAUDE_TEMPLATE,
        "gemini": GEMINI_TEMPLATE,
        "pythonic": PYTHONIC_TEMPLATE,
        "react": REACT_TEMPLATE,
        "json_schema": JSON_SCHEMA_TEMPLATE,
    }
)
"""The templates by the format's name."""


def find_template(format: Format) -> Template | None:
    """The format's template; None where none is known, as for most of the further formats."""
    return TEMPLATES.get(format.name)
