"""Calls in Python's syntax, wherever they are written: in prose, in code fences, in strings, with escapes."""

import re
from collections.abc import Iterator
from functools import partial

from inspector.checks.attempted.attempt import Attempt, Evidence, ReadArguments
from inspector.checks.attempted.brackets import Brackets
from inspector.checks.attempted.names import NamedTool, ToolNames
from inspector.formats.python_call.calls import read_calls
from inspector.model import Json, Parameter
from inspector.text import Range

_LONGEST_CUT = 4_000
_MARKDOWN_ESCAPE = re.compile(r"\\([_*\[\]<>#~&`])")
_SIGNATURE = re.compile(
    r"\s*(?:\w+\s*:\s*(?:str|int|float|bool|list|dict|tuple|set|bytes|Any|Optional|List|Dict|Union|string|number|boolean"
    r"|object|array|integer|Array|Record|Path|Callable|Literal)\b|self\b|cls\b|\*\w|\.\.\.|…|/\s*,|\w+\s*,\s*\.\.\.)"
)
_NAMED = re.compile(r"\s*\w+\s*=(?!=)")
_LITERAL = re.compile(r"[rbfu]?[\"']|[-+]?\d|[\[{(]|(?:True|False|None|true|false|null)\b|<")
_WORD = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\]]*\])?\Z")
_LIST_PAIR = re.compile(r"\[\s{0,40}([\w\\.\-]{1,160})\s{0,40},\s{0,40}(?=[\w\\]{1,80}\s?=(?!=)|\{)")


def python_calls(text: str, names: ToolNames, brackets: Brackets) -> Iterator[Attempt]:
    """The places in `text` where a tool's name has arguments in parentheses, and `[f, a=1]`, in the order found."""
    end = 0
    for at in names.heads(text):
        found = names.before(text, at) if at >= end else None
        if found is not None and found[0] >= end:
            attempt = _read_at(text, found[0], at, found[1], brackets)
            if attempt is not None:
                end = attempt.range.end
                yield attempt
    for match in _LIST_PAIR.finditer(text):
        named = names.find(match[1])
        close = brackets.end(match.start()) if named is not None else None
        if named is not None and close is not None:
            yield _attempt(named, text[match.end() : close - 1], Range(match.start(), close), "as a list")


def call_in_string(text: str, names: ToolNames) -> tuple[NamedTool, Attempt] | None:
    """The call that a whole string holds; its range counts from the beginning of the string."""
    at = text.find("(")
    found = names.before(text, at) if at > 0 else None
    if found is None or text[: found[0]].strip(" \n`\"'["):
        return None
    attempt = _read_at(text, found[0], at, found[1], Brackets(text))
    return None if attempt is None else (found[1], attempt)


def _read_at(text: str, start: int, opener: int, named: NamedTool, brackets: Brackets) -> Attempt | None:
    end = brackets.end(opener)
    if end is not None:
        return _attempt(named, text[opener + 1 : end - 1], Range(start, end), "in Python's syntax")
    stop = text.find("\n\n", opener, opener + _LONGEST_CUT)
    stop = stop if stop >= 0 else min(len(text), opener + _LONGEST_CUT)
    inner = text[opener + 1 : stop]
    if not _NAMED.match(inner) or not named.knows(_first_name(inner)):
        return None
    end = opener + 1 + len(inner.rstrip())
    attempt = _attempt(named, inner, Range(start, end), "in Python's syntax")
    attempt.arguments = attempt.read()._replace(guessed=True)
    return attempt


def _first_name(inner: str) -> list[str]:
    return [inner.split("=", 1)[0].strip().replace("\\", "")]


def _attempt(named: NamedTool, written: str, place: Range, shape: str) -> Attempt:
    return Attempt(named, place, place, shape, written, partial(_read_arguments, written, named))


def _read_arguments(written: str, named: NamedTool) -> ReadArguments:
    cleaned = _unescaped(written)
    is_slip = cleaned != written or bool(named.slip)
    evidence, arguments, guessed = _arguments(cleaned, named)
    return ReadArguments(evidence, arguments, is_slip or guessed or arguments is None)


def _unescaped(written: str) -> str:
    """The arguments without the backslashes that Markdown puts before its own signs."""
    if "\\" not in written:
        return written
    plain = _MARKDOWN_ESCAPE.sub(r"\1", written)
    return plain.replace('\\"', '"') if '=\\"' in plain or '{\\"' in plain else plain


def _arguments(written: str, named: NamedTool) -> tuple[Evidence, dict[str, Json] | None, bool]:
    """What the arguments say, their values if they can be read, and whether that took a guess."""
    if not written.strip():
        return Evidence.EMPTY, {}, False
    if _SIGNATURE.match(written):
        return Evidence.NONE, None, True
    call = read_calls(f"f({written})").calls[0]
    keywords = [one for one in call.parameters if one.name]
    positional = [one for one in call.parameters if not one.name]
    arguments = call.arguments if isinstance(call.arguments, dict) and not positional else None
    guessed = not call.valid
    if positional:
        guessed = True
        arguments = _by_order(positional, keywords, named)
    return _evidence(keywords, positional, arguments, named), arguments, guessed


def _evidence(
    keywords: list[Parameter], positional: list[Parameter], arguments: dict[str, Json] | None, named: NamedTool
) -> Evidence:
    if len(positional) == 1 and not keywords and positional[0].text.startswith("{"):
        is_known = arguments is not None and named.knows(arguments)
        return Evidence.STRONG if is_known else Evidence.MEDIUM
    if not keywords and not positional:
        return Evidence.NONE
    if keywords and named.knows(one.name for one in keywords):
        has_literal = any(not _WORD.match(one.text) or _LITERAL.match(one.text) for one in keywords)
        return Evidence.STRONG if has_literal else Evidence.MEDIUM
    if keywords:
        return Evidence.MEDIUM
    fits = not named.has_schema or len(positional) <= len(named.properties)
    if fits and any(_LITERAL.match(one.text) for one in positional):
        return Evidence.MEDIUM
    return Evidence.WEAK if fits and all(_WORD.match(one.text) for one in positional) else Evidence.NONE


def _by_order(positional: list[Parameter], keywords: list[Parameter], named: NamedTool) -> dict[str, Json] | None:
    """Arguments without names under the names that the schema has for them by its order."""
    if len(positional) == 1 and not keywords and positional[0].text.startswith("{"):
        call = read_calls(f"f(x={positional[0].text})").calls[0]
        value = call.arguments.get("x") if isinstance(call.arguments, dict) else None
        return value if isinstance(value, dict) else None
    order = list(named.properties)
    if len(positional) > len(order):
        return None
    written = [f"{name}={one.text}" for name, one in zip(order, positional, strict=False)]
    written += (f"{one.name}={one.text}" for one in keywords)
    call = read_calls(f"f({', '.join(written)})").calls[0]
    return call.arguments if isinstance(call.arguments, dict) else None
