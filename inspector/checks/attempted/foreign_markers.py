"""F309 and F314: calls in another format's syntax, and misspelled or cut markers of a call.

Every text of a model is searched, so the search must be cheap for a text without foreign calls: first a search for the
literal that all call syntaxes with the same first character begin with, then one expression for all of these, which
skips from one such character to the next. The text is parsed in another format only if one of its syntaxes matches.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby

import msgspec
from msgspec import Struct

from weaklink.inspector.diagnostics import Edit, Fault, Fix
from weaklink.inspector.formats.format import DetectionPatterns, Format, literal_beginning, literals_of
from weaklink.inspector.formats.markers import lane_of, markers_of
from weaklink.inspector.formats.registry import formats
from weaklink.inspector.model import Role, Span, SpanKind, ToolCall
from weaklink.inspector.rules.markers import NEAR_MARKER
from weaklink.inspector.segmenter.assembler import Assembler
from weaklink.inspector.segmenter.events import ParseEvent
from weaklink.inspector.text import Range, shown

_MAX_OPENER_CHARS = 120
_PARTS_OF_CALLS = (SpanKind.TOOL_CALL, SpanKind.MARKUP)
_TURN = "turn"  # prefix of the labels of markup between turns
_BARE_OBJECT = re.compile(r'\s*\{\s*"name"\s*:\s*"[\w.\-]{1,96}"\s*,\s*"(?:arguments|parameters)"\s*:\s*\{')
_READS_BARE_OBJECTS = "llama3"
_MIN_CALL_CHARS = len("[f()]")
_LINE_START = r"(?m)^[ \t]*(?:\*\*)?"
_STEM = re.compile(r"\W+\w*?[^\W_]+[\W_]")
_MIN_CUT_CHARS = 3
_MAX_BRACKET_CHARS = 2  # characters of a marker that is only brackets
_WORD = re.compile(r"\S{0,40}")
_TAG_END = re.compile(r"[^\s>\]]{0,40}(?: \w{1,20}[|｜]?)?[>\]]|[^\s>\]]{0,40}")
_MAX_CUT_CHARS = 400
_DISTINCTIVE = re.compile(r"""\[?\s*\{\s*["']\w{2}|\[[A-Za-z_][\w.]{1,63}\(""")
_FENCE = "```"
_IN_PROSE = " \n.,:;-*_'\"()"  # signs that most texts have
_TOKEN_SIGN = "<|"  # the beginning of special tokens
BRACKETS = "<{["
"""Nearly all call syntax has one of these characters."""


class _CallSyntax(Struct, frozen=True):
    pattern: re.Pattern[str]
    format: Format


class _CallSyntaxes(Struct, frozen=True):
    """Call syntaxes that all begin with `literal` and contain `sign`; `any_of` finds the first of them."""

    sign: str
    literal: str
    any_of: re.Pattern[str]
    each: tuple[_CallSyntax, ...]

    def first(self, text: str, *, quoted: bool) -> tuple[int, Format] | None:
        """The start of the first call, and its format; a call that is quoted as code counts only if `quoted`."""
        for match in self.any_of.finditer(text):
            if quoted or not is_quoted(text, match.start()):
                syntax = next(sign for sign in self.each if sign.pattern.match(text, match.start()))
                return match.start(), syntax.format
        return None


class ForeignCall(Struct, frozen=True):
    """A call in another format's syntax: as that format parses it, the range of its run of calls, the format."""

    call: ToolCall
    whole: Range
    format: Format


class ForeignCalls:
    """Searches the text of a model whose calls are parsed as `own` for calls of other formats."""

    def __init__(self, own: Format) -> None:
        self._own = own
        self._signs = _call_syntaxes(own, formats())
        self._whole_signs = _whole_text_syntaxes(own, formats())
        self.signs = frozenset((sign.sign, sign.literal) for sign in self._signs)
        """Pairs of literals: a text without brackets, and without both literals of any pair, has no such call."""

    def find(self, text: str, offered: Callable[[str | None], object] | None = None) -> list[ForeignCall]:
        """The calls in `text` in the syntax of another format, in order.

        Calls that are quoted as code do not count, unless `offered` finds the tool that they name. Of several foreign
        syntaxes, the first in the text is used.
        """
        if len(text) < _MIN_CALL_CHARS:
            return []
        calls = self._whole(text)
        present = [sign for sign in self._signs if sign.sign in text and sign.literal in text] if not calls else ()
        if not present:
            return calls
        calls = _marked(text, present, quoted=False)
        if calls or offered is None:
            return calls
        return [call for call in _marked(text, present, quoted=True) if offered(call.call.name) is not None]

    def _whole(self, text: str) -> list[ForeignCall]:
        """The calls of a text that has nothing but calls, in a format without markers around them."""
        content = text.strip()
        if content[:1] not in ("[", "{") or content[-1:] not in ("]", "}"):
            return []
        whole = Range(first := text.index(content), first + len(content))
        for sign in self._whole_signs:
            calls = _calls(text, 0, sign.format) if sign.pattern.match(text) else []
            if calls and all(call.whole == whole for call in calls):
                return calls
        return []


def _marked(text: str, syntaxes: Sequence[_CallSyntaxes], *, quoted: bool) -> list[ForeignCall]:
    """The calls from the first sign of another format on, which may be in a code fence only if `quoted`."""
    firsts = [first for syntax in syntaxes if (first := syntax.first(text, quoted=quoted)) is not None]
    if not firsts:
        return []
    sign_start, dialect = min(firsts, key=lambda first: first[0])
    return _calls(text, _opener_before(text, sign_start, dialect), dialect)


def _opener_before(text: str, sign_start: int, dialect: Format) -> int:
    """The start of the marker that opens the call whose sign is at `sign_start`, else `sign_start`."""
    first = max(sign_start - _MAX_OPENER_CHARS, 0)
    return min(
        (begin for opener in markers_of(dialect).call_openers if (begin := text.rfind(opener, first, sign_start)) >= 0),
        default=sign_start,
    )


def read_in(text: str, dialect: Format) -> Assembler:
    """The result of parsing a text in a format."""
    assembler = Assembler(dialect.readers)
    lane = lane_of(dialect, Role.ASSISTANT)
    events: Sequence[ParseEvent] | None = lane.read(text) if lane is not None else None
    if events is None:
        parser = dialect.new_parser("", Role.ASSISTANT)
        events = [*parser.feed(text), *parser.close()]
    assembler.add(events)
    return assembler


def _calls(text: str, start: int, dialect: Format) -> list[ForeignCall]:
    """The calls of a text from `start` on in `dialect` that name a tool; one in open reasoning is no part of a run."""
    assembler = read_in(text[start:], dialect)
    runs = _runs(assembler.spans)
    return [
        ForeignCall(_moved(call, start), runs.get(call.span, call.range).moved(start), dialect)
        for call in assembler.calls
        if call.name and len(call.range)
    ]


def _runs(spans: Sequence[Span]) -> dict[int, Range]:
    """For the index of each call's span, the run of calls and their markup that it is part of."""
    runs: dict[int, Range] = {}
    for _, group in groupby(enumerate(spans), key=lambda numbered_span: numbered_span[1].kind in _PARTS_OF_CALLS):
        run = list(group)
        while run and run[-1][1].kind is SpanKind.MARKUP and run[-1][1].label.startswith(_TURN):
            run.pop()
        if run:
            whole = Range(run[0][1].range.start, run[-1][1].range.end)
            runs.update((index, whole) for index, span in run if span.kind is SpanKind.TOOL_CALL)
    return runs


def _moved(call: ToolCall, distance: int) -> ToolCall:
    return msgspec.structs.replace(call, range=call.range.moved(distance)) if distance else call


@lru_cache(maxsize=64)
def _call_syntaxes(own: Format, known: tuple[Format, ...]) -> tuple[_CallSyntaxes, ...]:
    """The call syntaxes of the other formats, by their beginnings, without those that `own` has too."""
    taken = set(_patterns(own))
    alike: dict[str, list[tuple[str, _CallSyntax]]] = {}
    for format_ in known:
        for pattern in _patterns(format_):
            literal = literal_beginning(pattern)
            if pattern not in taken and len(literal) > 1:
                taken.add(pattern)
                key = literal if literal[0].isalnum() else literal[0]
                alike.setdefault(key, []).append((pattern, _CallSyntax(re.compile(pattern), format_)))
    return tuple(_alike(key[0], signs) for key, signs in alike.items())


def _alike(first: str, syntaxes: list[tuple[str, _CallSyntax]]) -> _CallSyntaxes:
    patterns = [pattern for pattern, _ in syntaxes]
    literal = _common_beginning(list(map(literal_beginning, patterns)))
    rarest = {rarest_sign(literals_of(pattern)) for pattern in patterns}
    sign = rarest.pop() if len(rarest) == 1 else rarest_sign([literal])
    return _CallSyntaxes(sign, literal, re.compile(_any_of(first, patterns)), tuple(syntax for _, syntax in syntaxes))


@lru_cache(maxsize=64)
def _whole_text_syntaxes(own: Format, known: tuple[Format, ...]) -> tuple[_CallSyntax, ...]:
    """The signs of the other formats whose calls are the whole text."""
    signs = [
        _CallSyntax(re.compile(pattern), format_)
        for format_ in known
        if format_ is not own
        for pattern in _patterns(format_)
        if pattern.startswith(r"\A")
    ]
    bare = (
        _CallSyntax(_BARE_OBJECT, format_)
        for format_ in known
        if format_ is not own and format_.name == _READS_BARE_OBJECTS
    )
    return (*signs, *bare)


def rarest_sign(literals: Sequence[str]) -> str:
    """What to search for first if a text must contain all of these: a bracket or other single sign, else a word.

    The search for a character is several times as fast as for a word.
    """
    together = "".join(literals)
    signs = (sign for sign in together if not (sign.isalnum() or sign in _IN_PROSE))
    longest = max(literals, key=len)
    return next(filter(together.__contains__, BRACKETS), next(signs, longest))


def _common_beginning(texts: Sequence[str]) -> str:
    """The common beginning of the texts."""
    first, last = min(texts), max(texts)
    size = next((index for index, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:size]


def _any_of(first: str, patterns: list[str]) -> str:
    """One expression for patterns that begin with the same character, which is put before the alternatives."""
    skipped = [pattern[2:] if pattern[0] == "\\" else pattern[1:] for pattern in patterns]
    return re.escape(first) + "(?:" + "|".join(skipped) + ")"


def _patterns(format_: Format) -> tuple[str, ...]:
    """The patterns of a format's calls, without the anchor to the start of a line."""
    signs = format_.confidence
    return tuple(sign.removeprefix(_LINE_START) for sign in signs.calls) if isinstance(signs, DetectionPatterns) else ()


_BARS = "|｜‖¦│∣"
"""The bars in special tokens, and what models, tokenizers and proxies write for them."""

_BEFORE_MENTIONS = (" ", "`", '"', "'", "(")
_ANY_BARS = f"[{_BARS}]{{1,3}}"
_PLAIN = tuple(str.maketrans(signs, plain) for signs, plain in (("▁", "_"), ("｜▁", "|_")))


class NearMarkers:
    """Searches the text of a model for what is nearly one of its format's markers of calls."""

    def __init__(self, own: Format) -> None:
        markers = markers_of(own)
        self._openers, self._bare, self._headers = markers.call_openers, markers.bare_calls, markers.headers
        self._cuts = _cut_openers(self._openers)
        self._stems = _stems(self._openers)
        self._markers = tuple(sorted(marker for marker in markers.all if len(marker) > _MAX_BRACKET_CHARS))
        self._beginnings = (*markers.call_openers, *markers.wrappers)
        self._other_bars = _other_bars(self._beginnings, markers.all)
        self._near_calls = own.near_calls
        signs = (sign for sign, _ in (*self._stems, *self._headers))
        self.signs = frozenset((rarest_sign([sign]), sign) for sign in signs) | _first_signs(self._cuts)
        """Pairs as in ForeignCalls; without them and brackets, `faults` finds only what `is_nearly_called` finds."""

    def is_nearly_called(self, text: str) -> bool:
        """Whether one of the format's own expressions for what is nearly a call matches in `text`."""
        return any(sign.search(text) is not None for sign, _ in self._near_calls)

    def faults(self, text: str, start: int, *, at_end: bool) -> list[Fault]:
        """The near markers in `text`, which begins at `start`; `at_end` means that the stream ends with it."""
        cut = self._cut(text) if at_end else None
        near = self._near_markers(text, len(text) if cut is None else cut.range.start)
        near.sort(key=lambda fault: fault.range)
        return [fault.moved(start) for fault in ((cut, *near) if cut is not None else near)]

    def _cut(self, text: str) -> Fault | None:
        """The beginning of a call at the end of the text."""
        if text.endswith(self._cuts):
            cut = next(filter(text.endswith, self._cuts))
            opener = next(opener for opener in self._openers if opener.startswith(cut))
            message = f"The stream ends within `{cut}`: `{opener}` would have opened a call, but no call followed."
        elif cut := self._last_opener(text):
            message = f"The stream ends after `{cut.rstrip()}`, which opens calls, and no call followed."
        elif cut := self._cut_header(text):
            message = f"The stream ends within {shown(cut)}, the header of a call."
        elif cut := self._cut_value(text):
            message = f"The stream ends within {shown(cut)}, which begins like a call, but is none."
        else:
            return None
        cut_range = Range(len(text) - len(cut), len(text))
        return Fault(NEAR_MARKER, cut_range, message, "Raise the output token limit.")

    def _last_opener(self, text: str) -> str:
        """The end of the text from a whole opener on; `""` if there is none, or a sentence only names it."""
        written = text.rstrip()
        opener = next(
            (beginning for beginning in self._beginnings if _is_distinctive(beginning) and written.endswith(beginning)),
            "",
        )
        start = len(written) - len(opener)
        return text[start:] if opener and text[start - 1 : start] not in _BEFORE_MENTIONS else ""

    def _cut_header(self, text: str) -> str:
        """The end of the text from a marker on whose header it cuts off; `""` if there is none."""
        for marker, ahead in self._headers:
            start = text.rfind(marker, max(len(text) - ahead.longest - len(marker), 0))
            if (
                start >= 0
                and ahead.cut_short.match(text, start + len(marker)) is not None
                and not is_quoted(text, start)
            ):
                return text[start:]
        return ""

    def _near_markers(self, text: str, end: int) -> list[Fault]:
        """What is nearly a marker in `text` up to `end`: one fault for each opener that was meant."""
        faults: list[Fault] = []
        for sign, opener in self._near_calls:
            match = sign.search(text)
            if match is not None and not is_quoted(text, match.start()):
                faults.append(self._near(Range(*match.span()), match[0], opener))
        barred = self._other_bars.search(text, 0, end) if self._other_bars is not None else None
        if barred is not None and not is_quoted(text, barred.start()):
            near = barred[0]
            faults.append(self._near(Range(*barred.span()), near, self._meant(near, self._openers[0])))
        stems = self._stems if barred is None else ()
        present = [(text.find(stem), stem, opener) for stem, opener in stems if stem in text]
        reported: set[str] = set()
        for start, stem, opener in sorted(present):
            if start >= end or opener in reported or is_quoted(text, start):
                continue
            word = _matched(_WORD, text, start)
            if any(word.startswith(marker) for marker in self._markers) or self._begins_another(word, opener):
                continue
            near = self._near_tag(text, start, stem, opener)
            reported.add(opener)
            if not any(fault.range.start < start + len(near) and start < fault.range.end for fault in faults):
                faults.append(self._near(Range(start, start + len(near)), near, self._meant(near, opener)))
        return faults

    def _near(self, near_range: Range, near: str, marker: str) -> Fault:
        message = f"{shown(near)} is nearly `{marker}`, but not that marker; it is read as text here."
        fix = Fix((Edit(near_range, marker),), safe=False) if marker.startswith(self._beginnings) else None
        return Fault(NEAR_MARKER, near_range, message, f"Write `{marker}` if you meant a call.", fix)

    def _near_tag(self, text: str, start: int, stem: str, opener: str) -> str:
        """The text at `start` in place of a marker: up to as many closing signs as `opener` has after its stem."""
        end = start + len(stem)
        for _ in range(max(1, sum(opener.count(sign, len(stem)) for sign in ">]"))):
            end += len(_matched(_TAG_END, text, end))
        return text[start:end]

    def _meant(self, near: str, opener: str) -> str:
        """The marker that was meant: `opener`, or the most similar one of those that open calls, or close anything."""
        alike = [marker for marker in self._markers if "/" in marker] if "/" in near else self._beginnings
        return max(
            (opener, *sorted(alike)),
            key=lambda candidate: SequenceMatcher(None, candidate.lower(), near.lower()).ratio(),
        )

    def _begins_another(self, word: str, opener: str) -> bool:
        return not opener.startswith(word) and any(marker.startswith(word) for marker in self._markers)

    def _cut_value(self, text: str) -> str:
        """The text, if it is only the distinctive beginning of a call without an opening marker, else `""`."""
        value = text.strip()
        if not self._bare or len(value) > _MAX_CUT_CHARS or not _DISTINCTIVE.match(value):
            return ""
        ways = ((bracket, ahead) for bracket, ahead in self._bare if value.startswith(bracket))
        is_cut = any(ahead.cut_short.match(value, len(bracket)) for bracket, ahead in ways)
        return text[text.index(value) :] if is_cut else ""


def _matched(sign: re.Pattern[str], text: str, start: int) -> str:
    match = sign.match(text, start)
    return match[0] if match is not None else ""


def _is_distinctive(beginning: str) -> bool:
    """Whether an opener's beginning is unlike any word, and more than a mere sign."""
    if beginning[0].isalnum():
        return _TOKEN_SIGN in beginning
    return any(map(str.isalnum, beginning))


def _first_signs(beginnings: Sequence[str]) -> frozenset[tuple[str, str]]:
    """For each opener's beginning, a pair for its first character that is not part of a word."""
    firsts = (
        next(character for character in beginning if not (character.isalnum() or character == " "))
        for beginning in beginnings
    )
    return frozenset((first, first) for first in firsts)


def _stems(openers: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The distinctive beginning of each opener: up to its first sign after letters; in capitals too."""
    stems: dict[str, str] = {}
    for opener in openers:
        match = _STEM.match(opener)
        if match is not None and 5 <= len(match[0]) < len(opener):
            stems.setdefault(match[0], opener)
            for plain in _PLAIN:
                stems.setdefault(match[0].translate(plain), opener)
            stems.setdefault(match[0].upper(), opener)
    return tuple(stems.items())


def _other_bars(openers: Sequence[str], markers: Iterable[str]) -> re.Pattern[str] | None:
    """Matches an opener whose bars are others, or several, or have a space after them; None if none has bars."""
    barred = [opener for opener in openers if opener[:1] == "<" and {"|", "｜"} & {*opener}]
    if not barred:
        return None
    own = "|".join(re.escape(marker) for marker in sorted(markers) if marker[:1] == "<")
    alike = "|".join(map(_with_any_bars, barred))
    return re.compile(f"(?!{own})<(?:{alike})")


def _with_any_bars(opener: str) -> str:
    pieces = (re.sub("[▁_]", "[▁_ ]", re.escape(piece)) for piece in re.compile(f"[{_BARS}]").split(opener[1:]))
    return f"{_ANY_BARS} ?".join(pieces)


def _cut_openers(openers: Sequence[str]) -> tuple[str, ...]:
    """Every beginning of an opener that no word begins with, the longest first."""
    beginnings = {opener[:length] for opener in openers for length in range(_MIN_CUT_CHARS, len(opener))}
    return tuple(sorted(filter(_is_distinctive, beginnings), key=lambda beginning: (-len(beginning), beginning)))


def is_quoted(text: str, position: int) -> bool:
    """Whether the `position` is in a code fence that it does not open itself, or directly after a backtick."""
    return bool(text.count(_FENCE, 0, position) & 1) or text[position - 1 : position] == "`"
