"""The template of a format, by its name."""

from types import MappingProxyType

from inspector.formats.completion import is_api
from inspector.formats.format import Format
from inspector.formats.templates.apis import CLAUDE_API_TEMPLATE, GEMINI_API_TEMPLATE, OPENAI_TEMPLATE
from inspector.formats.templates.chatml import HERMES_TEMPLATE, JSON_SCHEMA_TEMPLATE, QWEN_TEMPLATE
from inspector.formats.templates.claude import CLAUDE_TEMPLATE
from inspector.formats.templates.gemini import GEMINI_TEMPLATE
from inspector.formats.templates.llama3 import FUNCTIONARY_TEMPLATE, LLAMA3_TEMPLATE, PYTHONIC_TEMPLATE
from inspector.formats.templates.mistral import MISTRAL_TEMPLATE
from inspector.formats.templates.react import REACT_TEMPLATE
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
"""The templates of text, by the format's name."""
API_TEMPLATES = MappingProxyType({"claude": CLAUDE_API_TEMPLATE, "gemini": GEMINI_API_TEMPLATE})
"""The templates of those that are an API's JSON and have a text side too."""


def find_template(format: Format) -> Template | None:
    """The format's template; None where none is known, as for most of the further formats."""
    if format.name in API_TEMPLATES and is_api(format):
        return API_TEMPLATES[format.name]
    return TEMPLATES.get(format.name)
