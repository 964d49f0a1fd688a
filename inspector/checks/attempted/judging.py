"""Decides which attempted calls of a text count, by the evidence of their arguments and by their position.

`position_of` grades how clearly a position is one where a call is made (`CallPosition`): alone in the text, a statement
on its own line, after a label, in running prose. Position and evidence together decide (`_counts`). A position in a
code fence counts as a statement only if the fence has nothing but calls, so code of the user's own project does not.
"""

import re
from collections.abc import Sequence, Set
from itertools import groupby

from weaklink.inspector.checks.attempted.attempt import Attempt, CallPosition, Evidence, Fence, Fences, position_of
from weaklink.inspector.checks.attempted.labelled_calls import NEVER_INLINE, WITHOUT_TOKENS
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import Range

_LINE_SCANNER = 100  # characters before a call that are read
_BETWEEN = lazy_pattern(r"[\s,;\]\[`\"'”“\\]{0,80}")
_BEFORE_GROUP = lazy_pattern(r"(?:[\w, ]{1,60}=\s?)?(?:print\(\s*)?[\[`\"'\\ (]*\Z")
_AFTER_GROUP = lazy_pattern(r"[ \t]*[\]`\"'\\)]*")
_OTHER_CODE = lazy_pattern(
    r"^\s*(?:def|class|for|if|elif|else|while|with|return|try|except|async|const|let|var)\b", re.MULTILINE
)
_HARMLESS_LINE = lazy_pattern(
    r"\s*(?:(?:#|//).*|(?:from|import)\s.*|print\(.*\)|[\[\](){},;`\"'\\\s]*|(?:python|json|tool_code)"
    r"|[\w, ]+=\s*[\w\"'.\[\]]*)\s*"
)
"""A line beside calls that runs nothing: a comment, an import, `print(x)`, only brackets and quotes, `x = y.z`."""
_DEFINES = ("def", "func", "fn", "class", "import")  # the keywords of definitions begin with these
_ALONE_BEFORE = lazy_pattern(r"[\s\[`\"'\\(]*")
_ALONE_AFTER = lazy_pattern(r"[\s\]`\"',;.\\)]*")


def judged_attempts(text: str, attempts: list[Attempt]) -> list[Attempt]:
    """The attempts that count, each with its position and the container that a rewrite replaces."""
    previous, previous_end = CallPosition.NONE, -1
    may_count = False
    for attempt in attempts:
        container = attempt.container
        attempt.position = position_of(text, container, previous_end, previous)
        if attempt.position is CallPosition.NONE and attempt.shape.endswith(WITHOUT_TOKENS):
            attempt.position = CallPosition.INLINE  # the text before the removed tokens is now directly before the call
        previous = attempt.position
        previous_end = container.end
        may_count = may_count or previous > CallPosition.INLINE
    fences = Fences(text)
    if not (may_count or fences or any(map(_may_be_inline, attempts))):
        return []
    defined = _Defined(text)
    in_fences = groupby(attempts, key=lambda attempt: fences.at(attempt.range.start)) if fences else ()
    pure = {
        fence.range.start for fence, group in in_fences if fence is not None and _judge_fence(text, fence, list(group))
    }
    for attempt in attempts:
        if attempt.position is CallPosition.STATEMENT and _is_alone(text, attempt.container):
            attempt.position = CallPosition.WHOLE
    counted = [attempt for attempt in attempts if _counts(attempt, text) and not defined.has(attempt)]
    _set_containers(text, counted, fences, pure)
    return counted


def _judge_fence(text: str, fence: Fence, attempts: list[Attempt]) -> bool:
    """Set the positions of a code fence's attempts by its other content; returns whether it has only calls."""
    if not fence.may_hold_calls:
        for attempt in attempts:
            attempt.position = CallPosition.NONE
        return False
    is_pure = _holds_only_calls(text, fence, attempts)
    for attempt in attempts:
        if is_pure and attempt.position is not CallPosition.NONE:
            attempt.position = CallPosition.STATEMENT
            if "fence" not in attempt.shape:
                attempt.shape += " in a code fence"
        elif not (attempt.named.is_distinctive and not attempt.named.is_folded and attempt.evidence is Evidence.STRONG):
            attempt.position = CallPosition.NONE
    return is_pure


def _holds_only_calls(text: str, fence: Fence, attempts: Sequence[Attempt]) -> bool:
    pieces: list[str] = []
    position = fence.inner.start
    for attempt in attempts:
        pieces += (text[position : attempt.container.start], "\0")
        position = max(position, attempt.container.end)
    rest = "".join([*pieces, text[position : fence.inner.end]])
    if _OTHER_CODE.search(rest):
        return False
    return all("\0" in line or _HARMLESS_LINE.fullmatch(line) for line in rest.split("\n"))


def _is_alone(text: str, container: Range) -> bool:
    before, after = _ALONE_BEFORE.match(text), _ALONE_AFTER.match(text, container.end)
    return before is not None and before.end() >= container.start and after is not None and after.end() == len(text)


class _Defined:
    """Finds the functions that the text itself defines or imports: their calls are code and no attempts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, bool] = {}

    def has(self, attempt: Attempt) -> bool:
        """Whether the text defines the name by which an attempt calls its tool."""
        if "Python" not in attempt.shape:
            return False
        name = attempt.named.written.rpartition(".")[2]
        if name not in self._known:
            self._known[name] = self._is_defined(name)
        return self._known[name]

    def _is_defined(self, name: str) -> bool:
        if name not in self._text or not any(map(self._text.__contains__, _DEFINES)):
            return False
        word = re.escape(name)
        definition = rf"\b(?:def|function|func|fn|class)\s{{1,4}}{word}\b|\bimport\s[^\n]{{0,200}}\b{word}\b"
        return re.search(definition, self._text) is not None


def _counts(attempt: Attempt, text: str) -> bool:
    """Whether an attempt counts, by the evidence of its arguments and its position."""
    position, named = attempt.position, attempt.named
    if position < CallPosition.LABELLED and not _may_be_inline(attempt):
        return False
    evidence, start = attempt.evidence, attempt.container.start
    is_listed = text[start : start + 1] == "[" or text[max(start - _LINE_SCANNER, 0) : start].rstrip()[-1:] == "["
    if evidence is Evidence.NONE:
        return False
    if named.is_folded and not named.is_distinctive and "Python" in attempt.shape:
        return evidence is Evidence.STRONG and position >= CallPosition.LABELLED
    if "tags" in attempt.shape:
        return evidence is Evidence.STRONG
    if "JSON" in attempt.shape or "list" in attempt.shape or "string" in attempt.shape:
        return evidence >= Evidence.STRONG or position >= CallPosition.LABELLED
    match position:
        case CallPosition.WHOLE:
            return evidence > Evidence.EMPTY or is_listed or not named.has_required
        case CallPosition.STATEMENT:
            if evidence >= Evidence.MEDIUM:
                return evidence is Evidence.STRONG or not named.is_builtin
            is_sure = named.is_distinctive or is_listed
            return is_sure and (evidence is Evidence.WEAK or is_listed or not named.has_required)
        case CallPosition.LABELLED:
            return evidence is Evidence.STRONG or is_listed or (named.is_distinctive and evidence is Evidence.MEDIUM)
        case _:
            return evidence is Evidence.STRONG


def _may_be_inline(attempt: Attempt) -> bool:
    """Whether a call may count in running prose, where its arguments must be strong evidence.

    Before the arguments are read, only named ones qualify. An object after a name may also be the tool's result, so it
    is no evidence within a sentence.
    """
    if attempt.position is not CallPosition.INLINE or attempt.shape.startswith(NEVER_INLINE):
        return False
    return "Python" not in attempt.shape or "=" in attempt.raw_arguments or "{" in attempt.raw_arguments


def _set_containers(text: str, attempts: Sequence[Attempt], fences: Fences, pure: Set[int]) -> None:
    """Merge the containers of adjacent attempts, or of those in one fence of calls, with the text around them."""
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
    start, end = group[0].container.start, max(attempt.container.end for attempt in group)
    fence = fences.at(start)
    line = text[max(start - _LINE_SCANNER, 0) : start].rsplit("\n", 1)[-1]
    before, after = _BEFORE_GROUP.search(line), _AFTER_GROUP.match(text, end)
    if fence is not None and fence.range.start in pure:
        start, end = fence.range.start, fence.range.end
    elif before is not None and before[0].strip() and group[0].container == group[0].range:
        start -= len(before[0].lstrip())
        end = after.end() if after is not None else end
    for attempt in group:
        attempt.container = Range(start, end)
