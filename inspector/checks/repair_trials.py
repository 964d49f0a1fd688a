"""Tries fixes: what repairs nothing is dropped, and a fix stays safe only if nothing is wrong with the repaired text.

Theory of operation. A check offers a fix for the fault that it sees, and marks it as safe if the text can mean nothing
else. What the whole text means afterwards depends on everything around the place: another marker, a second fault, the
end of the stream. So each safe fix is applied alone, and the text is parsed again. It stays safe if its fault is gone,
no other fault of the payloads or markers appeared, and every valid call is there with the same name and arguments. Then
all of them are applied together; those that conflict are not safe.

Where the call that they edit cannot be read even then, they are not safe; and no fix at all is offered where the call
is not what a model means with all fixes, suggestions included, nor with this one alone: it is not valid, its payload
still has an error, its name is no name, or a value that the fix touches has swallowed syntax (`Oslo'`, `x", "y`, half
a marker). Neither is a fix that deletes what may be a call. Its hint goes too if the fix leaves its fault, or brings
new ones. A fix that completes the payload of a cut call also writes the markers that close it.

Cost: a text without fixes is not parsed again. Else it is parsed once for each, up to `_MAX_PARSED_CHARS` or
`_MIN_TRIALS` trials, whichever is more. If that is not enough for every fix, groups of them are tried, and a group
that fails is tried in halves; a fix without a trial is not safe.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from msgspec import Struct, structs

from weaklink.inspector.diagnostics import AttemptedCall, Edit, Fault, Fix, edited, without_clashes
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.rules.json_syntax import (
    DUPLICATE_KEY,
    MALFORMED_PARAMETERS,
    MISSING_QUOTE,
    NOT_A_CALL,
    TRAILING_DATA,
    UNBALANCED_BRACKET,
)
from weaklink.inspector.rules.markers import MALFORMED_HEADER, STRAY_END_MARKER, UNTERMINATED_SPAN
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import Range

_MAX_PARSED_CHARS = 250_000
_MIN_TRIALS = 8
_SYNTAX = ("J", "F", "C")


class TrialResult(Struct, frozen=True):
    """The faults and calls found by parsing a text."""

    faults: Sequence[Fault]
    calls: Sequence[ToolCall]


def with_tried_fixes(
    text: str,
    faults: Sequence[Fault],
    read: Callable[[str], TrialResult],
    *,
    has_calls: bool = True,
    before: TrialResult | None = None,
    markers: Iterable[str] = (),
) -> list[Fault]:
    """The faults found in `text`, with every safe fix that fails its trial turned into a suggestion.

    `read` parses a repaired text under the same conditions as the first; it must not raise. Without `has_calls`, the
    first parse found no call that a repair could change. `before` is the result of `read` for `text`, if known;
    `markers` are those of the format.
    """
    fixes = [fault for fault in faults if fault.fix is not None and fault.fix.edits]
    if not fixes:
        return list(faults)
    trials = _Trials(
        text, read, has_calls, before, tuple(marker for marker in markers if len(marker) >= _MIN_MARKER_CHARS)
    )
    sound = trials.sound([fault for fault in fixes if fault.fix is not None and fault.fix.safe])
    safe = set(map(id, trials.repairing(sound)))
    useless = trials.useless(fixes)
    without_fix, without_hint = set(map(id, useless)), trials.harmful(useless)
    tried = [
        structs.replace(fault, fix=None, hint=None if id(fault) in without_hint else fault.hint)
        if id(fault) in without_fix
        else fault
        if id(fault) in safe
        else _suggested(fault)
        for fault in faults
    ]
    return [_closing_too(fault, text, read) for fault in tried] if _is_cut(tried) else tried


def _is_cut(faults: Iterable[Fault]) -> bool:
    """Whether a span is not closed, and nothing can close it before its payload is completed."""
    return any(fault.rule is UNTERMINATED_SPAN and fault.fix is None for fault in faults)


def _closing_too(fault: Fault, text: str, read: Callable[[str], TrialResult]) -> Fault:
    """The fault; a fix that completes the payload at the end of a cut text also writes the markers that follow."""
    last = fault.fix.edits[-1] if fault.fix is not None and fault.fix.edits else None
    if fault.fix is None or last is None or last.range.start < len(text.rstrip()) or not last.text.strip():
        return fault
    repaired = edited(text, fault.fix.edits)
    rest = len(text) - last.range.end
    start = len(repaired) - rest - len(last.text)
    for _ in range(_MAX_CLOSERS):
        closing = next((fix for left in read(repaired).faults if (fix := _closing_fix(left, start)) is not None), None)
        if closing is None:
            break
        repaired = edited(repaired, closing.edits)
    edits = (*fault.fix.edits[:-1], Edit(last.range, repaired[start : len(repaired) - rest]))
    return structs.replace(fault, fix=Fix(edits, safe=fault.fix.safe))


def _closing_fix(fault: Fault, start: int) -> Fix | None:
    """The fix of a fault that closes a call, or the fence around its arguments, at an offset or after it."""
    is_closing = fault.rule in (UNTERMINATED_SPAN, MALFORMED_HEADER) and fault.fix is not None
    return (
        fault.fix if is_closing and fault.fix and all(edit.range.start >= start for edit in fault.fix.edits) else None
    )


def _suggested(fault: Fault) -> Fault:
    return structs.replace(fault, fix=Fix(fault.fix.edits, safe=False)) if fault.fix is not None else fault


@dataclass(slots=True)
class _Trials:
    text: str
    read: Callable[[str], TrialResult]
    has_calls: bool
    known: TrialResult | None
    markers: tuple[str, ...]
    left: int = field(init=False)
    _before: tuple[Counter[str], list[ToolCall]] | None = None

    def __post_init__(self) -> None:
        self.left = max(_MIN_TRIALS, _MAX_PARSED_CHARS // max(len(self.text), 1))

    @property
    def before(self) -> tuple[Counter[str], list[ToolCall]]:
        """The unchanged text: the number of faults of each relevant rule, and the valid calls."""
        if self._before is None:
            result = self.known or self.read(self.text)
            self._before = _codes(result.faults), _valid(result.calls)
        return self._before

    def sound(self, safe: list[Fault]) -> list[Fault]:
        """The faults whose fixes may be applied, each alone and all together.

        Of fixes that clash, only one is applied at a time, so they need not be sound together.
        """
        if len(safe) * 2 >= self.left:
            return self._sound_together(without_clashes(safe))
        alone = [fault for fault in safe if self._is_sound([fault])]
        if len(alone) < 2:
            return alone
        kept = self._sound_together(without_clashes(alone))
        for fault in alone:
            together = without_clashes([*kept, fault])
            if fault not in kept and (fault not in together or self._is_sound(together)):
                kept.append(fault)
        return kept

    def repairing(self, sound: list[Fault]) -> list[Fault]:
        """Those of the sound fixes after which their calls are valid, if all of them are applied."""
        broken = self._in_broken_calls(sound) if sound else set()
        return [fault for fault in sound if id(fault) not in broken]

    def useless(self, fixes: list[Fault]) -> list[Fault]:
        """The faults whose fixes leave a call that no model means: with all others that do not, and alone."""
        kept = without_clashes(fixes)
        for _ in range(_MAX_ROUNDS):
            broken = self._in_broken_calls(kept)
            kept = [fault for fault in kept if id(fault) not in broken]
            if not broken:
                break
        useful = set(map(id, kept))
        for fault in islice((fix for fix in fixes if id(fix) not in useful), _MAX_ALTERNATIVES):
            if self.left <= 0 or self._in_broken_calls([fault]):
                continue
            together = without_clashes([*kept, fault])
            if len(together) <= len(kept):
                useful.add(id(fault))  # instead of one of the others
            elif not kept or not self._in_broken_calls(together):
                kept = together
                useful.add(id(fault))
        return [fix for fix in fixes if id(fix) not in useful]

    def harmful(self, useless: list[Fault]) -> set[int]:
        """The ids of those of the useless fixes that leave their fault, or bring new ones."""
        return {id(fault) for fault in useless if self.left > 0 and not self._is_sound([fault])}

    def _in_broken_calls(self, group: list[Fault]) -> set[int]:
        """The ids of the faults whose fixes leave a call, after the whole group's edits, that no model means."""
        if self.left <= 0:
            return set()
        self.left -= 1
        edits = [(edit, fault) for fault in without_clashes(group) if fault.fix is not None for edit in fault.fix.edits]
        edits.sort(key=lambda owned: owned[0].range)
        text = edited(self.text, [edit for edit, _ in edits])
        after = self.read(text)
        errors = sorted(fault.range.start for fault in after.faults if _is_of_payload(fault))
        repeats = sorted(fault.range.start for fault in after.faults if fault.rule is DUPLICATE_KEY)
        calls = [
            _RepairedCall(call, text, errors, self.markers)
            for call in sorted(after.calls, key=lambda call: call.range.start)
        ]
        starts = [repaired.call.range.start for repaired in calls]
        broken, distance = self._moving_brackets(edits), 0
        for edit, owner in edits:
            start = edit.range.start + distance
            distance += len(edit.text) - len(edit.range)
            written = Range(start, start + len(edit.text))
            first = max(bisect_right(starts, start) - 1, 0)
            edited_calls = calls[first : bisect_right(starts, written.end)] or calls[first : first + 1]
            is_outside = not edited_calls or not edited_calls[0].contains([start])
            if (
                not all(repaired.is_meant_with(written, owner.call) for repaired in edited_calls)
                or (owner.rule is MALFORMED_PARAMETERS and any(repaired.contains(repeats) for repaired in edited_calls))
                or (
                    (owner.call is not None or (owner.rule is NOT_A_CALL and edit.text == "]"))
                    and _is_within_brackets(text, written)
                )
                or (owner.rule in _AMBIGUOUS and not edited_calls)
                or (errors and _is_of_payload(owner) and is_outside)
                or (
                    owner.rule is TRAILING_DATA
                    and _is_needed(
                        edit.range.of(self.text),
                        text[max(start - _MAX_BALANCED_CHARS, 0) : start],
                        is_outside=is_outside,
                    )
                )
            ):
                broken.add(id(owner))
        attempts = {id(fault) for _, fault in edits if fault.call is not None}
        if attempts and (
            not _errors(after.faults) <= self.before[0] - _codes(group)
            or (any(fault.rule is STRAY_END_MARKER for fault in after.faults) and _has_call_outside(text, after.calls))
        ):
            broken |= attempts
        return broken

    def _moving_brackets(self, edits: list[tuple[Edit, Fault]]) -> set[int]:
        """The ids of faults whose fixes add a bracket and delete one nearby: one between them may be missing."""
        adding = [edit.range.start for edit, fault in edits if fault.rule is UNBALANCED_BRACKET and edit.text]
        moving = [edit.range.start for edit, fault in edits if fault.rule is TRAILING_DATA and not edit.text]
        if not any(abs(start - end) < _MAX_BALANCED_CHARS for start in adding[:1] for end in moving[-1:]):
            return set()
        return {id(fault) for _, fault in edits if fault.rule in (UNBALANCED_BRACKET, TRAILING_DATA)}

    def _sound_together(self, group: list[Fault]) -> list[Fault]:
        """As many of a group as are sound together: a part that is not is tried in halves."""
        kept: list[Fault] = []
        todo = [group]
        while todo:
            part = todo.pop()
            if part and self._is_sound([*kept, *part]):
                kept += part
            elif len(part) > 1:
                half = len(part) // 2
                todo += [part[half:], part[:half]]
        return kept

    def _is_sound(self, group: list[Fault]) -> bool:
        """Whether these faults are gone after their fixes, and nothing is worse; False if no trial is left."""
        if self.left <= 0:
            return False
        self.left -= 1
        edits = (edit for fault in group if fault.fix is not None for edit in fault.fix.edits)
        after = self.read(edited(self.text, edits))
        remaining = _codes(after.faults)
        if not remaining and not self.has_calls:
            return True
        codes, valid = self.before
        return remaining <= codes - _codes(group) and _in_order(valid, _valid(after.calls))


def _is_needed(removed: str, before: str, *, is_outside: bool) -> bool:
    """Whether what a fix deletes may be a call, or, outside calls, the brackets before it do not add up.

    `before` is the repaired text before it: what else is repaired there must not count against this fix.
    """
    if _LETTER.search(removed) and _CALL_SIGN.search(removed):
        return True
    unmatched = {closer: before.count(opener) - before.count(closer) for opener, closer in _PAIRS.items()}
    return is_outside and any(count < 0 or (count > 0 and closer in removed) for closer, count in unmatched.items())


def _is_of_payload(fault: Fault) -> bool:
    return fault.rule.code.startswith("J") and fault.rule.severity is Severity.ERROR


class _RepairedCall:
    """A call in a repaired text, and whether a model may mean it.

    `errors` are the sorted offsets of the text's errors; `markers` those of the format.
    """

    def __init__(self, call: ToolCall, text: str, errors: Sequence[int], markers: Sequence[str]) -> None:
        self.call = call
        self._text, self._errors, self._markers = text, errors, markers

    def contains(self, offsets: Sequence[int]) -> bool:
        """Whether one of the sorted offsets is within the call."""
        index = bisect_left(offsets, self.call.range.start)
        return index < len(offsets) and offsets[index] < self.call.range.end

    def is_meant_with(self, written: Range, attempt: AttemptedCall | None) -> bool:
        """Whether a model may mean this call, of which a fix has written a range; an `attempt` shows what it means."""
        marker = written.of(self._text).strip()
        is_attempt = attempt is not None and (attempt.name, attempt.arguments) == (self.call.name, self.call.arguments)
        if not (self._is_whole or is_attempt) or _repeats_half(self._text, written):
            return False
        if marker == "]" and self._has_doubled_brackets:
            return False
        return not any(self._touches(spelled, written) for spelled in self._doubtful)

    @cached_property
    def _is_whole(self) -> bool:
        name = self.call.name
        return self.call.valid and bool(name and _NAME.fullmatch(name)) and not self.contains(self._errors)

    @cached_property
    def _doubtful(self) -> list[str]:
        """The spellings of values that look as if they had swallowed syntax, the first few of them."""
        strings = (value for value in _values(self.call.arguments) if isinstance(value, str))
        doubtful = (
            string for string in strings if _has_swallowed(string) or any(marker in string for marker in self._markers)
        )
        return [
            spelled
            for string in islice(doubtful, _MAX_DOUBTFUL)
            for spelled in {string, write_json(string)[1:-1], string.replace("'", "\\'")} - {""}
        ]

    @cached_property
    def _has_doubled_brackets(self) -> bool:
        """Whether a value is an array of one array: its second bracket may be a slip."""
        values = _values(self.call.arguments)
        return any(isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) for value in values)

    def _touches(self, spelled: str, written: Range) -> bool:
        """Whether a string is where a fix has written, or beside it."""
        if len(spelled) > _MAX_COMPARED_CHARS:
            return True
        start = max(self.call.range.start, written.start - len(spelled))
        return self._text.find(spelled, start, min(self.call.range.end, written.end + len(spelled))) >= 0


def _values(value: Json) -> Iterator[Json]:
    """A value, and the keys and values within it."""
    values = [value]
    while values:
        value = values.pop()
        yield value
        if isinstance(value, dict):
            values += [*value, *value.values()]
        elif isinstance(value, list):
            values += value


def _has_call_outside(text: str, calls: Sequence[ToolCall]) -> bool:
    """Whether what looks like a call is outside the calls."""
    ends = [0, *(call.range.end for call in calls)]
    starts = [*(call.range.start for call in calls), len(text)]
    return any(_CALL_LIKE.search(text, end, start) for end, start in zip(ends, starts, strict=True))


def _is_within_brackets(text: str, written: Range) -> bool:
    """Whether a rewritten call is only a part of something in brackets, or of a list."""
    return _OPENS.search(text, max(written.start - _MAX_SPACE_CHARS, 0), written.start) is not None or (
        _CLOSES.match(text, written.end) is not None
    )


def _repeats_half(text: str, written: Range) -> bool:
    r"""Whether half of what a fix has written was already there, misspelt; of `\"`, its backslash (`{\text": 1`)."""
    marker = written.of(text).strip()
    if marker == '\\"':
        return text[written.start - 2 : written.start].startswith("\\")
    return len(marker) >= _MIN_MARKER_CHARS and (
        text.startswith(marker[1:], written.end) or text.endswith(marker[:-1], 0, written.start)
    )


def _has_swallowed(string: str) -> bool:
    """Whether a string looks as if it had swallowed syntax around it, or were a misspelt literal."""
    return (
        string.count('"') % 2 == 1
        or len(_APOSTROPHES.findall(string)) % 2 == 1
        or bool(_SYNTAX_WITHIN.search(string))
        or _is_unbalanced(string)
        or any(_is_nearly(string.strip().lower(), literal) for literal in ("true", "false", "null", "none"))
    )


def _is_unbalanced(string: str) -> bool:
    open_brackets: list[str] = []
    for sign in _BRACKETS.findall(string):
        if sign in _PAIRS:
            open_brackets.append(_PAIRS[sign])
        elif not open_brackets or open_brackets.pop() != sign:
            return True
    return bool(open_brackets)


def _is_nearly(word: str, literal: str) -> bool:
    """Whether a word is a literal with one letter more or less."""
    longer, shorter = (word, literal) if len(word) > len(literal) else (literal, word)
    return len(longer) == len(shorter) + 1 and any(
        longer[:index] + longer[index + 1 :] == shorter for index in range(len(longer))
    )


_MIN_MARKER_CHARS = 4
_MAX_BALANCED_CHARS = 2_000
_MAX_SPACE_CHARS = 100
_MAX_DOUBTFUL = 20
_MAX_ROUNDS = 6
_MAX_CLOSERS = 3
_MAX_ALTERNATIVES = 24
_MAX_COMPARED_CHARS = 2_000
_AMBIGUOUS = (MISSING_QUOTE, TRAILING_DATA, UNBALANCED_BRACKET)
_NAME = re.compile(r"[^\s(){}\[\]\"'<>=,;|]+")
_CALL_LIKE = re.compile(r"\w\(|['\"]:")
_LETTER = re.compile(r"[^\W\d]")
_CALL_SIGN = re.compile(r"[(){\[]|['\"]\s*:")
_APOSTROPHES = re.compile(r"(?<!\w)'|'(?!\w)")
_SYNTAX_WITHIN = re.compile(r"<\||\|>|<escape>|\A[^\W\d]\w*:[\w'\"\[{]|\w(['\"])[^'\"]*\1\Z")
_OPENS = re.compile(r"(?:[(\[{,]|['\"]:)\s*\Z")
_CLOSES = re.compile(r"\s*[)\]},]")
_BRACKETS = re.compile(r"[(){}\[\]]")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def _codes(faults: Sequence[Fault]) -> Counter[str]:
    """The number of faults of each relevant rule."""
    return Counter(fault.rule.code for fault in faults if _counts(fault))


def _errors(faults: Sequence[Fault]) -> Counter[str]:
    """Those of the errors that make a call unreadable: prose behind a call in free text does not."""
    errors = (fault.rule for fault in faults if _counts(fault) and fault.rule.severity is Severity.ERROR)
    return Counter(rule.code for rule in errors if rule is not TRAILING_DATA)


def _counts(fault: Fault) -> bool:
    """Whether a fault is relevant, that is about syntax: a repair may allow the first schema check, or cause notes."""
    return fault.rule.code.startswith(_SYNTAX) and fault.rule.severity is not Severity.INFO


def _valid(calls: Sequence[ToolCall]) -> list[ToolCall]:
    return [call for call in calls if call.valid]


def _in_order(before: Sequence[ToolCall], after: Sequence[ToolCall]) -> bool:
    """Whether all earlier calls are still there, in their order."""
    rest = iter(after)
    return all(any(_is_same(call, other) for other in rest) for call in before)


def _is_same(call: ToolCall, other: ToolCall) -> bool:
    """Whether two calls mean the same, regardless of their spelling."""
    if call.name != other.name:
        return False
    return call.raw_arguments == other.raw_arguments or write_json(call.arguments) == write_json(other.arguments)
