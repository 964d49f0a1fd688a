"""Renders one chat template with several contexts, as a process of its own; `renderer` starts it.

A template is a program from outside. jinja2's immutable sandbox keeps it from Python's internals and from the caller's
values, but not from endless loops or from huge texts: `{% for %}` in `{% for %}`, `"a" * 10 ** 9`. So this process has
limits on its CPU time and its memory, where the platform has such limits, and its parent stops it after a time.

The environment is that of `transformers` (src/transformers/utils/chat_template_utils.py): blocks are trimmed, `tojson`
writes plain JSON without HTML escapes, loops have `break` and `continue`, `{% generation %}` is transparent, and there
are `raise_exception` and `strftime_now`. Differing from it, an attribute error in one context does not end the others.

Standard input is one JSON object with `template` and `contexts`; standard output a JSON list with `text` or `error` for
each context.
"""

import json
import sys
from datetime import datetime
from typing import Any

MAX_CPU_S, MAX_MEMORY_BYTES = 20, 1 << 30
MAX_OUTPUT_CHARS = 32_000_000


def main() -> None:
    """Render what standard input contains."""
    _set_limits()
    from jinja2.exceptions import TemplateError  # noqa: PLC0415  # after the limits

    request = json.loads(sys.stdin.buffer.read())
    try:
        template = _environment().from_string(request["template"])
    except (TemplateError, RecursionError, MemoryError) as error:
        answers = [{"error": _reason(error)}] * len(request["contexts"])
    else:
        answers = [_rendered(template, context) for context in request["contexts"]]
    sys.stdout.write(json.dumps(answers))


def _set_limits() -> None:
    try:
        import resource  # noqa: PLC0415  # only on POSIX
    except ImportError:
        return
    for kind, limit in ((resource.RLIMIT_CPU, MAX_CPU_S), (resource.RLIMIT_AS, MAX_MEMORY_BYTES)):
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):  # the platform knows the limit, but does not support it, or it is lower already
            continue


def _rendered(template: Any, context: dict[str, Any]) -> dict[str, str]:
    try:
        text = template.render(**context)
    except Exception as error:  # noqa: BLE001  # foreign code: a template may raise anything
        return {"error": _reason(error)}
    return {"text": text} if len(text) <= MAX_OUTPUT_CHARS else {"error": "the rendered text is too long"}


def _reason(error: BaseException) -> str:
    line = getattr(error, "lineno", None)
    where = f" (line {line})" if line else ""
    return f"{type(error).__name__}: {str(error)[:500]}{where}"


def _environment() -> Any:
    from jinja2 import nodes  # noqa: PLC0415  # after the limits
    from jinja2.exceptions import TemplateError  # noqa: PLC0415  # the same
    from jinja2.ext import Extension, loopcontrols  # noqa: PLC0415  # the same
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415  # the same

    class GenerationBlock(Extension):
        """`{% generation %}` marks what a model writes; its content is rendered as if it were not there."""

        tags = {"generation"}  # noqa: RUF012  # jinja2 declares it so

        def parse(self, parser: Any) -> Any:
            """See Extension."""
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

        def _content(self, caller: Any) -> str:
            return str(caller())

    def tojson(
        value: Any,
        ensure_ascii: bool = False,  # noqa: FBT001, FBT002  # the signature that templates call
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,  # noqa: FBT001, FBT002  # the same
    ) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    def strftime_now(format: str) -> str:
        return datetime.now().strftime(format)  # noqa: DTZ005  # as transformers does: the local time

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals.update(raise_exception=raise_exception, strftime_now=strftime_now)
    return environment


if __name__ == "__main__":
    main()
