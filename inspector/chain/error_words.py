"""How tools say in plain words that they failed: a table of shapes, judged at the beginning and the end of a result."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from inspector.chain.languages import FAILED_BEGINNINGS, FAILED_ENDINGS, FAILED_LINES

HEAD = 2_000
"""How much of a result's beginning is judged, in code points; as much of its end is looked at for an exception."""
_SHORT = 400


class _Where(Enum):
    LINE = "the beginning of the first line, however long the result"
    SHORT = "the beginning of a result that says little else"
    WITHIN = "anywhere in the first line of a result that says little else"


@dataclass(frozen=True, slots=True)
class _Shape:
    where: _Where
    pattern: re.Pattern[str]


def _shape(where: _Where, pattern: str, flags: re.RegexFlag = re.IGNORECASE) -> _Shape:
    return _Shape(where, re.compile(pattern, flags))


# What follows a heading of errors, unless it counts none: `Errors: 0`, `errors: none`, `Errors: []`.
_NOT_NONE = r"(?!\s*(?:0\b(?!\.)|none\b|nil\b|null\b|no\b|\[\s*\]|\{\s*\}|-\s*$|n/a\b))"
_KINDS = "syntax|lint(?:er|ing)?|compil(?:er|ation|e)|parse|parsing|indentation|type|validation|build"
_CHANGE = (
    r"(?:(?:your|the|this|that) )?(?:proposed |last |code )?"
    r"(?:edit|edits|changes?|patch|patches|update|replacement|modifications?|it|this|that)"
)
_SHAPES = (
    _shape(_Where.LINE, r"traceback \(most recent call last\)"),
    _shape(_Where.LINE, r"<(?:tool_use_error|error)>"),
    _shape(_Where.LINE, r"(?:(?:fatal|internal|runtime|tool|syntax|api|http|server|unknown) )?error\s*(?::|\[|\(|$)"),
    # SWE-agent's edit tools (princeton-nlp/SWE-agent, `tools/windowed_edit_linting`) say "Your proposed edit has
    # introduced new syntax error(s)", and under a heading the linter's lines. A summary that counts none is no error.
    _shape(
        _Where.LINE,
        rf"(?:(?:{_KINDS}|fatal|runtime|tool|api|new|following|0*[1-9]\d*) ){{0,3}}errors"
        rf"(?: (?:found|detected|reported))?\s*:{_NOT_NONE}",
    ),
    _shape(
        _Where.LINE,
        rf"(?:{_CHANGE} )?(?:(?:has|have|had|would(?: have)?|will) )?(?:introduc|caus|creat|produc)(?:e|es|ed|ing) "
        rf"(?:(?:an?|some|new|the|following|\d+) ){{0,3}}(?:{_KINDS}) errors?\b",
    ),
    _shape(
        _Where.LINE,
        rf"{_CHANGE} (?:(?:was|were|has|have|could|did)(?: not|n't)(?: been| be)? (?:applied|made|accepted|saved|apply)"
        r"|(?:was|were|has been|have been) (?:rejected|refused|reverted|discarded))\b",
    ),
    _shape(_Where.LINE, r"\[error\]|\W{1,4}\s?error\s?:"),
    _shape(
        _Where.LINE,
        r"error (?:executing|calling|running|reading|parsing|fetching|opening|processing|invoking|while|when|during|"
        r"occurred|in (?:tool|function|call|argument)|code\b|\d{3}\b)",
    ),
    _shape(_Where.LINE, r"[A-Za-z_][\w.]{0,80}(?:Error|Exception)\b\s*(?::|\(|$)", re.NOFLAG),
    _shape(_Where.LINE, r"(?:exception|fatal|panic|failed|failure|err!?)\s*:"),
    _shape(_Where.LINE, rf"(?:exceptions|failures)\s*:{_NOT_NONE}"),
    _shape(
        _Where.LINE,
        r"(?:an? )?(?:\w+ )?(?:errors?|exceptions?) (?:occurred|was raised|were raised|ha(?:s|ve) occurred)",
    ),
    _shape(_Where.LINE, r"\{'(?:error|Error|exception)': *['\"{]", re.NOFLAG),
    _shape(_Where.SHORT, r"(?:the )?(?:\w+ )?failed(?: to\b|\s*[.!]?$| with\b| because\b)"),
    _shape(_Where.SHORT, r"(?:could not|couldn't|cannot|can't|can not|unable to|not able to)\b"),
    _shape(_Where.SHORT, r"(?:unknown|invalid|no such|unsupported|unrecogni[sz]ed|malformed|illegal)\s\w"),
    _shape(_Where.SHORT, r"missing (?:required|mandatory|argument|parameter|field|value|key|\d)"),
    _shape(
        _Where.SHORT,
        r"(?:http(?:/[\d.]{1,3})? )?[45]\d\d[:,]? (?:not found|bad (?:request|gateway)|internal server error|forbidden|"
        r"unauthorized|service unavailable|too many requests|gateway time-?out|conflict|unprocessable|method not)|"
        r"http (?:error )?[45]\d\d\b",
    ),
    _shape(
        _Where.SHORT, r"(?:access|permission|request|authentication|authorization) (?:was )?(?:denied|failed|refused)"
    ),
    _shape(_Where.SHORT, r"(?:unauthori[sz]ed|forbidden|not authori[sz]ed|not found|not permitted|timed? ?out)\b"),
    _shape(_Where.SHORT, r"(?:rate limit|quota) (?:was |has been )?(?:exceeded|reached)|too many requests"),
    _shape(_Where.WITHIN, r": (?:command )?not found$|command not found"),
    _shape(_Where.WITHIN, r"no such file or directory|permission denied|is a directory$|not a directory$"),
    _shape(
        _Where.WITHIN,
        r"there is no (?:tool|function)\b|\bnot (?:be )?found(?:\.?$|:)|\b(?:do|does|did)(?: not|n't) exist\.?$",
    ),
    _shape(
        _Where.WITHIN, r"\b(?:timed out|connection (?:refused|reset|closed|error)|service unavailable|network error)\b"
    ),
    _shape(
        _Where.WITHIN, r"^(?:the )?(?:tool|function|command|call|request)\b.{0,80}\b(?:failed|not found|is unknown)\b"
    ),
    *(_shape(_Where.LINE, pattern) for pattern in FAILED_LINES),
    *(_shape(_Where.SHORT, pattern) for pattern in FAILED_BEGINNINGS),
    *(_shape(_Where.WITHIN, pattern) for pattern in FAILED_ENDINGS),
)


def _any_of(where: _Where) -> re.Pattern[str]:
    """The shapes of one kind as one expression: a result that says nothing of the sort is the usual one."""
    wanted = (shape.pattern for shape in _SHAPES if shape.where is where)
    return re.compile("|".join(f"(?{'i' * bool(one.flags & re.IGNORECASE)}:{one.pattern})" for one in wanted))


_LINE, _SHORT_LINE, _WITHIN = map(_any_of, (_Where.LINE, _Where.SHORT, _Where.WITHIN))
_EXIT_CODE = re.compile(
    r"\[?(?:the )?(?:command |process |program )?"
    r"(?:(?:failed|exited|finished|completed) with (?:exit )?(?:code|status)|"
    r"exit[ _]?(?:code|status)|return ?code)(?:[:=]| is)? {0,4}(-?\d{1,10})\b|<(?:returncode|exit_code)>(-?\d{1,10})<",
    re.IGNORECASE,
)
_HEADING = re.compile(rf"^[ \t]*ERRORS?:{_NOT_NONE}[ \t]*(?P<said>\S[^\n]*|\n\s*(?P<below>\S[^\n]*))", re.MULTILINE)
_BARE_HEADING = re.compile(r"(?:\w+ ){0,2}errors?\s*:", re.IGNORECASE)
_TAGS = re.compile(r"^<(?:tool_use_error|error)>|</(?:tool_use_error|error)>$")
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\):", re.MULTILINE)
_LAST_WORDS = re.compile(r"[A-Za-z_][\w.]{0,80}(?:Error|Exception|Interrupt|Exit)\b\s*(?::|$)")


def exit_code(text: str) -> int | None:
    """The exit code that a result states on its first or its last line."""
    for line in (first_line(text), last_line(text)):
        found = _EXIT_CODE.match(line[:_SHORT])
        if found:
            return int(found[1] or found[2])
    return None


def error_line(text: str) -> str | None:
    """The line of `text` that says it is an error, None where none does. Looks at a bounded piece of either end."""
    first = first_line(text)
    says_little = len(text) <= 2 * _SHORT and len(first) <= _SHORT and text.strip().count("\n") <= 4
    if _LINE.match(first) or (says_little and (_SHORT_LINE.match(first) or _WITHIN.search(first))):
        if _BARE_HEADING.fullmatch(first):
            return _line_below(text) or first
        return last_line(text) if _TRACEBACK.match(first) else _without_tags(first)
    return _uncaught(text) or _under_heading(text)


def first_line(text: str) -> str:
    """The first line that is not blank, as far as it lies in the part that is judged."""
    return next(_lines(text[:HEAD]), "")


def last_line(text: str) -> str:
    """The last line that is not blank, likewise."""
    return next(_lines(text[-HEAD:], backwards=True), "")


def _lines(text: str, *, backwards: bool = False) -> Iterator[str]:
    lines = text.splitlines()
    return (line.strip() for line in (reversed(lines) if backwards else lines) if line.strip())


def _without_tags(line: str) -> str:
    """An error's line without the tags around it: `<tool_use_error>Error: no</tool_use_error>`."""
    return _TAGS.sub("", line) or line


def _line_below(text: str) -> str | None:
    """The second line that is not blank."""
    lines = _lines(text[:HEAD])
    next(lines, None)
    return next(lines, None)


def _under_heading(text: str) -> str | None:
    """The first line under or behind `ERRORS:` in capitals at the beginning of a line."""
    found = _HEADING.search(text[:HEAD])
    return None if found is None else (found["below"] or found["said"]).strip()


def _uncaught(text: str) -> str | None:
    """The last line of a program's output that ends in an exception nobody caught."""
    last = last_line(text)
    if _LAST_WORDS.match(last) and (_TRACEBACK.search(text[:HEAD]) or _TRACEBACK.search(text[-HEAD:])):
        return last
    return None
