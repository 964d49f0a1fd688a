"""Finds, in the words of a model, the calls of offered tools that its format does not read.

Theory of operation. Two readers look for shapes, not for names, so their cost does not grow with the number of tools:
`python_calls` goes from one `(` to the next and looks up the word before it, `json_calls` goes from one value to the
next and looks up its short strings. What carries an offered tool's name is an `Attempt`, with the evidence that its
arguments give (`Evidence`). `context` says how plainly its place is one where a call is made (`Position`): alone in
the text, a statement on its own line, behind a label, in running prose. Both together decide (`_counts`); a place in a
code fence counts as a statement only if the fence holds nothing but calls, so code of the user's own project does not.

Attempts next to each other are one group: one fix rewrites all of them, with the list, fence or quotes around them.
Every reader takes linear time: a call is read once, and the search for closing brackets has a budget for each text.
"""

import re
from collections.abc import Iterable, Sequence, Set
from itertools import groupby

from inspector.checks.attempted.attempt import Attempt, Evidence
from inspector.checks.attempted.brackets import Brackets
from inspector.checks.attempted.context import Fence, Fences, Position, position_of
from inspector.checks.attempted.json_calls import json_calls
from inspector.checks.attempted.names import ToolNames
from inspector.checks.attempted.python_calls import python_calls
from inspector.checks.attempted.tag_calls import tag_calls
from inspector.text import Range

_LINE = 100  # characters before a call that are read
_BETWEEN = re.compile(r"[\s,;\]\[`\"'”“\\]{0,80}")
_BEFORE_GROUP = re.compile(r"(?:[\w, ]{1,60}=\s?)?(?:print\(\s*)?[\[`\"'\\ (]*\Z")
_BEHIND_GROUP = re.compile(r"[ \t]*[\]`\"'\\)]*")
_OTHER_CODE = re.compile(
    r"^\s*(?:def|class|for|if|elif|else|while|with|return|try|except|async|const|let|var)\b", re.MULTILINE
)
_HARMLESS_LINE = re.compile(
    r"\s*(?:(?:#|//).*|(?:from|import)\s.*|print\(.*\)|[\[\](){},;`\"'\\\s]*|(?:python|json|tool_code)"
    r"|[\w, ]+=\s*[\w\"'.\[\]]*)\s*"
)
_ALONE_BEFORE = re.compile(r"[\s\[`\"'\\(]*")
_ALONE_BEHIND = re.compile(r"[\s\]`\"',;.\\)]*")


class AttemptedCalls:
    """Looks through the words of a model for calls of the offered tools in a shape that its format does not read."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names

    def find(self, text: str, taken: Sequence[Range] = ()) -> list[Attempt]:
        """The attempted calls in `text`, in order, none of them within `taken` (in order), which is known already."""
        if not self._names or ("(" not in text and "{" not in text and "[" not in text and "</" not in text):
            return []
        if not self._names.occur_in(text):
            return []
        brackets = Brackets(text)
        found = list(_outside(taken, tag_calls(text, self._names))) if "</" in text else []
        covered = sorted([*taken, *(one.range for one in found)])
        found += json_calls(text, self._names, brackets, covered)
        covered = sorted([*taken, *(one.range for one in found)])
        found += _outside(covered, sorted(python_calls(text, self._names, brackets), key=_start))
        return _judged(text, _without_overlaps(sorted(found, key=_start))) if found else []


def _start(attempt: Attempt) -> Range:
    return attempt.range


def _outside(covered: Sequence[Range], attempts: Iterable[Attempt]) -> Iterable[Attempt]:
    """The attempts that overlap none of the ranges; both are in order."""
    ranges = iter(covered)
    current = next(ranges, None)
    for attempt in attempts:
        while current is not None and current.end <= attempt.range.start:
            current = next(ranges, None)
        if current is None or current.start >= attempt.range.end:
            yield attempt


def _without_overlaps(attempts: Sequence[Attempt]) -> list[Attempt]:
    kept: list[Attempt] = []
    for attempt in attempts:
        if not kept or attempt.range.start >= kept[-1].range.end:
            kept.append(attempt)
    return kept


def _judged(text: str, attempts: list[Attempt]) -> list[Attempt]:
    """The attempts that count, each with its position and the container that a rewrite replaces."""
    fences = Fences(text)
    defined = _Defined(text)
    previous, previous_end = Position.NONE, -1
    for attempt in attempts:
        place = attempt.container
        attempt.position = position_of(text, place, previous_end, previous)
        previous, previous_end = attempt.position, place.end
    pure = {
        fence.range.start
        for fence, group in groupby(attempts, key=lambda one: fences.at(one.range.start))
        if fence is not None and _judge_fence(text, fence, list(group))
    }
    for attempt in attempts:
        if attempt.position is Position.STATEMENT and _is_alone(text, attempt.container):
            attempt.position = Position.WHOLE
    counted = [one for one in attempts if _counts(one, text) and not defined.has(one)]
    _set_containers(text, counted, fences, pure)
    return counted


def _judge_fence(text: str, fence: Fence, attempts: list[Attempt]) -> bool:
    """Set the positions of the attempts in a code fence by what else it holds; whether that is nothing but calls."""
    if not fence.may_hold_calls:
        for attempt in attempts:
            attempt.position = Position.NONE
        return False
    is_pure = _holds_only_calls(text, fence, attempts)
    for attempt in attempts:
        if is_pure and attempt.position is not Position.NONE:
            attempt.position = Position.STATEMENT
            if "fence" not in attempt.shape:
                attempt.shape += " in a code fence"
        elif not (attempt.named.is_distinctive and not attempt.named.is_folded and attempt.evidence is Evidence.STRONG):
            attempt.position = Position.NONE
    return is_pure


def _holds_only_calls(text: str, fence: Fence, attempts: Sequence[Attempt]) -> bool:
    pieces: list[str] = []
    at = fence.inner.start
    for attempt in attempts:
        pieces += (text[at : attempt.container.start], "\0")
        at = max(at, attempt.container.end)
    rest = "".join([*pieces, text[at : fence.inner.end]])
    if _OTHER_CODE.search(rest):
        return False
    return all("\0" in line or _HARMLESS_LINE.fullmatch(line) for line in rest.split("\n"))


def _is_alone(text: str, place: Range) -> bool:
    before, behind = _ALONE_BEFORE.match(text), _ALONE_BEHIND.match(text, place.end)
    return before is not None and before.end() >= place.start and behind is not None and behind.end() == len(text)


class _Defined:
    """Whether the text itself defines or imports a function of a name: then its calls are code and no attempts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, bool] = {}

    def has(self, attempt: Attempt) -> bool:
        """Whether the text defines the name by which an attempt calls its tool."""
        if "Python" not in attempt.shape:
            return False
        name = attempt.named.written.rpartition(".")[2]
        if name not in self._known:
            word = re.escape(name)
            definition = rf"\b(?:def|function|func|fn|class)\s{{1,4}}{word}\b|\bimport\s[^\n]{{0,200}}\b{word}\b"
            self._known[name] = name in self._text and re.search(definition, self._text) is not None
        return self._known[name]


def _counts(attempt: Attempt, text: str) -> bool:
    """Whether an attempt is one, by what its arguments say and where it is."""
    position, named = attempt.position, attempt.named
    if position is Position.NONE or (position is Position.INLINE and not _may_be_strong(attempt)):
        return False
    evidence, start = attempt.evidence, attempt.container.start
    is_listed = text[start : start + 1] == "[" or text[max(start - _LINE, 0) : start].rstrip()[-1:] == "["
    if evidence is Evidence.NONE:
        return False
    if named.is_folded and not named.is_distinctive and "Python" in attempt.shape:
        return evidence is Evidence.STRONG and position >= Position.LABELLED
    if "tags" in attempt.shape:
        return evidence is Evidence.STRONG
    if "JSON" in attempt.shape or "list" in attempt.shape or "string" in attempt.shape:
        return evidence >= Evidence.STRONG or position >= Position.LABELLED
    match position:
        case Position.WHOLE:
            return evidence > Evidence.EMPTY or is_listed or not named.has_required
        case Position.STATEMENT:
            if evidence >= Evidence.MEDIUM:
                return evidence is Evidence.STRONG or not named.is_builtin
            is_sure = named.is_distinctive or is_listed
            return is_sure and (evidence is Evidence.WEAK or is_listed or not named.has_required)
        case Position.LABELLED:
            return evidence is Evidence.STRONG or is_listed or (named.is_distinctive and evidence is Evidence.MEDIUM)
        case _:
            return evidence is Evidence.STRONG


def _may_be_strong(attempt: Attempt) -> bool:
    """Whether the arguments may be strong evidence: without being read, only those that name something may."""
    return "Python" not in attempt.shape or "=" in attempt.raw_arguments or "{" in attempt.raw_arguments


def _set_containers(text: str, attempts: Sequence[Attempt], fences: Fences, pure: Set[int]) -> None:
    """Let the containers of attempts next to each other, or in one fence of calls, be one, with what is around them."""
    group: list[Attempt] = []
    last: Fence | None = None
    for attempt in attempts:
        fence = fences.at(attempt.range.start)
        is_together = fence is not None and fence.range.start in pure and fence is last
        last = fence
        if group and not is_together and not _follows(text, group[-1], attempt):
            _contain(text, group, fences, pure)
            group = []
        group.append(attempt)
    if group:
        _contain(text, group, fences, pure)


def _follows(text: str, first: Attempt, second: Attempt) -> bool:
    if first.container == second.container:
        return True
    match = _BETWEEN.match(text, first.container.end)
    return match is not None and match.end() >= second.container.start and "```" not in match[0]


def _contain(text: str, group: Sequence[Attempt], fences: Fences, pure: Set[int]) -> None:
    start, end = group[0].container.start, max(one.container.end for one in group)
    fence = fences.at(start)
    line = text[max(start - _LINE, 0) : start].rsplit("\n", 1)[-1]
    before, behind = _BEFORE_GROUP.search(line), _BEHIND_GROUP.match(text, end)
    if fence is not None and fence.range.start in pure:
        start, end = fence.range.start, fence.range.end
    elif before is not None and before[0].strip() and group[0].container == group[0].range:
        start -= len(before[0].lstrip())
        end = behind.end() if behind is not None else end
    for attempt in group:
        attempt.container = Range(start, end)
