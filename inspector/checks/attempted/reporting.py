"""The faults of attempted calls: one for each place, with the call as it would be and the fix that rewrites it."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from inspector.checks.attempted.attempt import Attempt, Evidence
from inspector.checks.attempted.context import Position
from inspector.checks.attempted.foreign_calls import ForeignCall, ForeignCalls, read_in
from inspector.checks.attempted.names import ToolNames
from inspector.checks.attempted.near_markers import NearMarkers
from inspector.checks.attempted.scanner import AttemptedCalls
from inspector.checks.tools import OfferedTools
from inspector.checks.typed_arguments import typed_by
from inspector.diagnostics import AttemptedCall, Edit, Fault, Fix
from inspector.formats.format import Format
from inspector.json_scanner.quoting import shown
from inspector.model import ToolCall
from inspector.rules.markers import ATTEMPTED_CALL, CALL_INSIDE_REASONING, FOREIGN_FORMAT, INVENTED_RESULT
from inspector.rules.rule import Rule
from inspector.text import Range

_RESULT = re.compile(
    r"\s{0,20}(?:```\w{0,20}\s{1,4})?(?:[#*]{1,2} ?)?((?:Tool )?(?:Output|Result|Response|Observation)s?(?:\*\*)?:"
    r"\s{0,20}(?:```\w{0,20}\s{1,4})?\S)",
    re.IGNORECASE,
)
_RESULT_END = re.compile(r"\n\s*\n|```")
_LONGEST_RESULT = 2_000
_LONGEST_SHOWN = 160
_LINE = 80  # characters beside a call that show whether it has lines of its own


@dataclass(frozen=True, slots=True)
class _Found:
    """A call to report: what it is, what a rewrite replaces, and how to say it."""

    call: AttemptedCall
    container: Range
    rule: Rule
    shape: str
    is_guess: bool


class CallSearch:
    """Looks through the words of a model, whose format is `own`, for calls that this format does not read."""

    def __init__(self, own: Format) -> None:
        self._own = own
        self._foreign = ForeignCalls(own)
        self._near = NearMarkers(own)
        self._offered = OfferedTools()
        self._names = ToolNames(())

    def in_text(
        self, text: str, start: int, offered: OfferedTools, beside: Iterable[Fault] = (), *, at_end: bool
    ) -> list[Fault]:
        """The faults in the text of an answer, which begins at `start`; `at_end` says that the stream ends with it.

        Those of other checks in this text, `beside`, are among them; the fault of a call takes the place of theirs.
        """
        found = self._foreign_in(text, offered)
        known = [one.container for one in found]
        found += self._shapes_in(text, offered, known)
        near = [*self._near.faults(text, start, at_end=at_end), *beside]
        if not found:
            return near
        found.sort(key=_place)
        faults = self._faults(found, text, offered)
        return [fault.moved(start) for fault in _merged(text, [one.moved(-start) for one in near], faults)]

    def in_reasoning(self, text: str, start: int, offered: OfferedTools, drafts: Sequence[Range]) -> list[Fault]:
        """The faults in reasoning, which begins at `start` and holds these `drafts` of calls in its own format."""
        found = self._shapes_in(text, offered, [draft.moved(-start) for draft in drafts])
        return [self._draft(one, offered).moved(start) for one in found]

    def in_code(self, call: ToolCall, offered: OfferedTools) -> tuple[list[ToolCall], list[Fault]]:
        """The calls of offered tools that the code of a call holds, with their faults; none where it is only code.

        `call` runs code in the format's own interpreter, which knows none of the offered tools.
        """
        place, code = call.arguments_range, call.arguments
        if place is None or not isinstance(code, str) or not offered:
            return [], []
        found = [_shape(one) for one in AttemptedCalls(self._names_of(offered)).find(code)]
        faults = [self._fault_in_code(fault, call).moved(place.start) for fault in self._faults(found, code, offered)]
        return [_call_in_code(one, call, place.start) for one in found], faults

    def _fault_in_code(self, fault: Fault, code: ToolCall) -> Fault:
        """The fault of a call in code; its fix keeps the marker before the code, so it may write only bare JSON."""
        if fault.call is None:
            return fault
        message = (
            f"A call of `{fault.call.name}` is written here as code for `{code.name}`, which does not know the tool: "
            "no tool runs."
        )
        is_bare = fault.fix is not None and fault.fix.edits[0].text.lstrip().startswith("{")
        return replace(fault, message=message, fix=fault.fix if is_bare else None, call=None)

    def in_literals(self, text: str, offered: OfferedTools) -> list[Fault]:
        """The faults in the words that JSON strings hold."""
        found = self._foreign_in(text, offered)
        found += self._shapes_in(text, offered, [one.container for one in found])
        found.sort(key=_place)
        return self._faults(found, text, offered)

    def _foreign_in(self, text: str, offered: OfferedTools) -> list[_Found]:
        find = self._names_of(offered).find
        return [
            _foreign(one, "" if (named := find(one.call.name or "")) is None else named.name)
            for one in self._foreign.find(text, (lambda name: find(name) is not None) if offered else None)
        ]

    def _shapes_in(self, text: str, offered: OfferedTools, known: Sequence[Range]) -> list[_Found]:
        if not offered:
            return []
        return [_shape(one) for one in AttemptedCalls(self._names_of(offered)).find(text, known)]

    def _names_of(self, offered: OfferedTools) -> ToolNames:
        """The names of these tools; those of the last ones are kept, for nearly all texts have the same."""
        if offered is not self._offered:
            self._offered, self._names = offered, ToolNames(offered.definitions)
        return self._names

    def _faults(self, found: Sequence[_Found], text: str, offered: OfferedTools) -> list[Fault]:
        faults: list[Fault] = []
        for _, group in groupby(found, key=_place):
            calls = list(group)
            written = [self._written([one.call], offered) for one in calls]
            together = written[0] if len(calls) == 1 else self._written([one.call for one in calls], offered)
            fix = self._fix(calls, text, together)
            faults += (
                self._fault(one, fix if one is calls[0] else None, alone)
                for one, alone in zip(calls, written, strict=True)
            )
            faults += _invented_result(text, calls[-1].container.end)
        return faults

    def _fault(self, found: _Found, fix: Fix | None, written: str | None) -> Fault:
        call = found.call
        if found.rule is FOREIGN_FORMAT:
            message = (
                f"A call of `{call.name}` is written here in the syntax of `{found.shape}`, but this model's calls are "
                f"read as `{self._own.name}`: it stays in the answer, and no tool runs."
            )
            hint = f"Serve the model with a parser for `{found.shape}`, or change the prompt that shows it this syntax."
        else:
            message = (
                f"A call of `{call.name}` is written here {found.shape}, which `{self._own.name}` does not read: it "
                "stays in the answer, and no tool runs."
            )
            hint = self._expected(written)
        return Fault(found.rule, call.range, message, hint, fix, call=call)

    def _draft(self, found: _Found, offered: OfferedTools) -> Fault:
        call = replace(found.call, is_step=False)
        message = f"A call of `{call.name}` is written inside reasoning {found.shape}: it is a draft, and no tool runs."
        hint = self._expected(self._written([call], offered))
        return Fault(CALL_INSIDE_REASONING, call.range, message, hint, call=call)

    def _expected(self, written: str | None) -> str:
        if written is None:
            return f"Write the call as `{self._own.name}` expects it."
        cut = written if len(written) <= _LONGEST_SHOWN else written[: _LONGEST_SHOWN - 1] + "…"
        return f"`{self._own.name}` expects {shown(cut)}."

    def _fix(self, group: Sequence[_Found], text: str, written: str | None) -> Fix | None:
        """The fix that puts `written` for a whole group: on lines of its own, which calls need in some formats."""
        if written is None:
            return None
        place = group[0].container
        before = text[max(place.start - _LINE, 0) : place.start]
        behind = text[place.end : place.end + _LINE]
        lead = "\n" if before.rsplit("\n", 1)[-1] else ""
        tail = "\n" if behind.split("\n", 1)[0].strip() else ""
        is_sure = not any(one.is_guess for one in group)
        return Fix((Edit(place, f"{lead}{written}{tail}"),), safe=is_sure)

    def _written(self, calls: Sequence[AttemptedCall], offered: OfferedTools) -> str | None:
        """The calls in the own format; None where one of them could not be read, or that format cannot hold it."""
        if not all(call.recovered for call in calls):
            return None
        made = [ToolCall(call.name, call.arguments, "", valid=True, range=call.range) for call in calls]
        written = self._own.write_calls(made)
        if all(map(self._own.expresses, made)):
            return written
        read = [typed_by(call, offered).call for call in read_in(written, self._own).calls]
        is_same = [(one.name, one.arguments) for one in read] == [(one.name, one.arguments) for one in made]
        return written if is_same else None


def _invented_result(text: str, start: int) -> Iterator[Fault]:
    """The result that the model writes behind its own call, up to the next empty line or code fence."""
    label = _RESULT.match(text, start)
    if label is None:
        return
    end = _RESULT_END.search(text, label.end(), label.end() + _LONGEST_RESULT)
    last = end.start() if end is not None else min(len(text), label.end() + _LONGEST_RESULT)
    place = Range(label.start(1), label.start(1) + len(text[label.start(1) : last].rstrip()))
    message = "The model writes the result of its own call, which nobody made: it is invented."
    yield Fault(INVENTED_RESULT, place, message, "Stop the generation behind the call.")


def _foreign(found: ForeignCall, name: str) -> _Found:
    call = found.call
    is_read = call.valid or call.recovered
    attempted = AttemptedCall(
        name or call.name or "", call.arguments if is_read else None, call.raw_arguments, call.range, is_read
    )
    is_guess = not call.valid or name != call.name
    return _Found(attempted, found.whole, FOREIGN_FORMAT, found.format.name, is_guess)


def _shape(found: Attempt) -> _Found:
    evidence, arguments, guessed = found.read()
    call = AttemptedCall(found.named.name, arguments, found.raw_arguments, found.range, recovered=arguments is not None)
    slip = f" {found.named.slip}" if found.named.slip else ""
    is_sure = found.position is Position.WHOLE and evidence is Evidence.STRONG and not guessed
    return _Found(call, found.container, ATTEMPTED_CALL, f"{found.shape}{slip}", is_guess=not is_sure)


def _call_in_code(found: _Found, code: ToolCall, start: int) -> ToolCall:
    call = found.call
    return ToolCall(
        call.name,
        call.arguments if call.recovered else call.raw_arguments,
        call.raw_arguments,
        valid=False,
        range=call.range.moved(start),
        recovered=call.recovered,
        span=code.span,
    )


def _place(found: _Found) -> Range:
    return found.container


def _merged(text: str, near: Iterable[Fault], faults: Sequence[Fault]) -> list[Fault]:
    """Both kinds of faults, but one for a near marker and the call right behind it; `faults` are in order."""
    kept, alone = list(faults), []
    starts = [fault.range.start for fault in faults]
    for marker in near:
        at = bisect_left(starts, marker.range.start)
        index = next((i for i in (at - 1, at) if 0 <= i < len(kept) and _belongs(text, marker, faults[i])), None)
        if index is None or kept[index] is not faults[index]:
            alone.append(marker)
        else:
            kept[index] = _joined(marker, faults[index])
    return sorted([*kept, *alone], key=lambda fault: fault.range)


def _joined(marker: Fault, call: Fault) -> Fault:
    """The fault of a near marker with the call behind it; its fix rewrites both."""
    edits = call.fix.edits if call.fix is not None else ()
    fix = None
    if len(edits) == 1:
        start = min(marker.range.start, edits[0].range.start)
        place = Range(start, max(edits[0].range.end, marker.range.end))
        fix = Fix((replace(edits[0], range=place),), safe=False)
    return replace(marker, call=call.call, fix=fix)


def _belongs(text: str, marker: Fault, call: Fault) -> bool:
    """Whether a marker's place is that of a call, or right before it."""
    if call.call is None:
        return False
    if marker.range.start < call.range.end and call.range.start < marker.range.end:
        return True
    between = call.range.start - marker.range.end
    return 0 <= between <= _LINE and not text[marker.range.end : call.range.start].strip()
