"""Renders chat templates as `transformers.apply_chat_template` does, in a process with bounds on time and memory."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from msgspec import Struct

from weaklink.inspector.errors import ChatTemplateError
from weaklink.inspector.model import Json

_TIMEOUT_S = 30.0  # more than the sandbox's own limit of CPU time, for platforms without such a limit
_SANDBOX = "weaklink.inspector.chat_templates.sandbox"


class ChatTemplate(Struct, frozen=True):
    """A chat template: its Jinja source, where it came from, and the special tokens that it may name.

    `response` is the response template beside it, None without one; `source` is "" if there is that alone.
    """

    source: str
    origin: str
    special_tokens: dict[str, str] = {}
    response: Json = None


class Rendering(Struct, frozen=True):
    """One rendered text, or the error that the template raised instead."""

    text: str = ""
    error: str = ""


def render_all(template: ChatTemplate, contexts: Sequence[dict[str, Json]]) -> list[Rendering]:
    """Render the template once with each context: `messages`, `tools`, `add_generation_prompt` and its own variables.

    The list has as many items as there are contexts. Raises ChatTemplateError if there is a response template alone, if
    jinja2 is not installed, or if the template needs more time or memory than it may have.
    """
    if not template.source:
        raise ChatTemplateError(f"{template.origin} has no `chat_template`.")
    if find_spec("jinja2") is None:
        raise ChatTemplateError("Chat templates need jinja2: pip install 'weaklink[templates]'.")
    variables = [{"tools": None, "documents": None, **template.special_tokens, **context} for context in contexts]
    request = json.dumps({"template": template.source, "contexts": variables})
    try:
        # -P: no module of the current folder takes the place of an installed one.
        ended = subprocess.run(  # this Python, a module of ours
            [sys.executable, "-P", "-m", _SANDBOX],
            input=request.encode(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ChatTemplateError(f"The chat template {template.origin} takes too long to render.") from error
    if ended.returncode:
        raise ChatTemplateError(f"The chat template {template.origin} takes too much time or memory to render.")
    return [Rendering(**answer) for answer in json.loads(ended.stdout)]
