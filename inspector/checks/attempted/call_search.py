"""Finds attempted calls in a model's text and reports each place once, with the fix that rewrites it.

Theory of operation. The readers search for shapes, not for names, so their cost does not grow with the number of
tools: `python_calls` goes from one `(` to the next and looks up the word before it, `json_calls` goes from one value to
the next and looks up its short strings. `labelled_calls` goes from one name to the next, in texts that have a sign of a
label, a tag or a pair. A place with an offered tool's name becomes an `Attempt`, with the evidence that its arguments
give (`Evidence`); `judging` decides which of them count.

Most texts cost only a few searches for single characters (`_signs`), and one for a name before a `(`: each shape of a
call, and each foreign or misspelled marker, must have one of these.

Attempts next to each other are one group: one fix rewrites all of them, with the list, fence or quotes around them.
Every reader takes linear time: a call is read once, and the search for closing brackets has a budget for each text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from msgspec import Struct, structs

from weaklink.inspector.checks.attempted import call_shapes
from weaklink.inspector.checks.attempted.attempt import (
    Attempt,
    CallPosition,
    Evidence,
    NamedTool,
    ToolNames,
    may_count,
    may_hold_name,
)
from weaklink.inspector.checks.attempted.foreign_markers import (
    BRACKETS,
    ForeignCall,
    ForeignCalls,
    NearMarkers,
    read_in,
)
from weaklink.inspector.checks.attempted.judging import judged_attempts
from weaklink.inspector.checks.attempted.labelled_calls import WITHOUT_TOKENS, labelled_calls, may_hold_labels
from weaklink.inspector.checks.tools import OfferedTools
from weaklink.inspector.checks.typed_arguments import typed_by
from weaklink.inspector.diagnostics import AttemptedCall, Edit, Fault, Fix
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import registered_formats
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import ToolCall
from weaklink.inspector.rules.markers import (
    ATTEMPTED_CALL,
    CALL_INSIDE_REASONING,
    FOREIGN_FORMAT,
    INVENTED_RESULT,
    NEAR_MARKER,
)
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range, shown

_RESULT = re.compile(
    r"\s{0,20}(?:```\w{0,20}\s{1,4})?(?:[#*]{1,2} ?)?((?:Tool )?(?:Output|Result|Response|Observation)s?(?:\*\*)?:"
    r"\s{0,20}(?:```\w{0,20}\s{1,4})?\S)",
    re.IGNORECASE,
)
"""A result that a model writes itself, right after its call: `Output: 3`, `**Tool Result:** ok`."""

_TOKEN = re.compile(r"<\||\|>")
_RESULT_END = re.compile(r"\n\s*\n|```")
_MAX_RESULT_CHARS = 2_000
_MAX_SHOWN_CHARS = 160
_LINE = 80  # characters beside a call that show whether it has lines of its own


class _ReportedCall(Struct, frozen=True):
    """A call to report: the call, the range that a rewrite replaces, the rule, and the wording."""

    call: AttemptedCall
    container: Range
    rule: Rule
    shape: str
    is_guess: bool


def call_search(own: Format) -> "CallSearch":
    """The search for calls that a format does not parse; created once for each format."""
    return _call_search(own, registered_formats())


@lru_cache(maxsize=128)
def _call_search(own: Format, registered: tuple[Format, ...]) -> "CallSearch":
    """See `call_search`; `registered` is only part of the cache key: a registration changes what is foreign."""
    return CallSearch(own)


@lru_cache(maxsize=16)
def _tool_names(offered: OfferedTools) -> ToolNames:
    """The names of offered tools, for look-ups in the spellings of models."""
    return ToolNames(offered.definitions)


class CallSearch:
    """Searches the text of a model, whose format is `own`, for calls that this format does not parse.

    It keeps nothing of a text: one object serves all texts of a format.
    """

    def __init__(self, own: Format) -> None:
        self._own = own
        self._foreign = ForeignCalls(own)
        self._near = NearMarkers(own)
        others = sorted(sign for sign in self._foreign.signs | self._near.signs if sign[0] not in BRACKETS)
        self._signs = (*((bracket, bracket) for bracket in BRACKETS), *others)

    def in_text(
        self, text: str, start: int, offered: OfferedTools, beside: Sequence[Fault] = (), *, at_end: bool
    ) -> list[Fault]:
        """The faults in the text of an answer, which begins at `start`; `at_end` means that the stream ends with it.

        `beside` are the faults of other checks in this text. They are included, unless the fault of a call replaces
        them.
        """
        has_signs = self._has_signs(text)
        if not (has_signs or beside or (offered.definitions and (may_hold_name(text) or may_hold_labels(text)))):
            return []
        calls = self._foreign_in(text, offered) if has_signs else []
        calls += self._shapes_in(text, offered, [call.container for call in calls])
        near = self._near.faults(text, start, at_end=at_end) if has_signs else []
        near += beside
        if not (calls or near):
            return near
        calls.sort(key=_range)
        faults = self._faults(calls, text, offered)
        merged = _merged(text, [fault.moved(-start) for fault in near], faults)
        return [self._with_call_after(fault, text, offered).moved(start) for fault in merged]

    def _has_signs(self, text: str) -> bool:
        """Whether `text` may hold a foreign call or a near marker: a cheap test that most texts fail."""
        for sign, literal in self._signs:  # a loop costs half of `any`
            if sign in text and literal in text:
                return True
        return bool(self._own.near_calls) and self._near.is_nearly_called(text)

    def in_reasoning(self, text: str, start: int, offered: OfferedTools, drafts: Sequence[Range]) -> list[Fault]:
        """The faults in reasoning, which begins at `start` and has these `drafts` of calls in its own format."""
        calls = self._shapes_in(text, offered, [draft.moved(-start) for draft in drafts] if drafts else ())
        return [self._draft(call, offered).moved(start) for call in calls] if calls else []

    def in_code(self, call: ToolCall, offered: OfferedTools) -> tuple[list[ToolCall], list[Fault]]:
        """The calls of offered tools in the code of a call, with their faults; none if it is only code.

        `call` runs code in the format's own interpreter, which does not know the offered tools.
        """
        code_range, code = call.arguments_range, call.arguments
        if code_range is None or not isinstance(code, str) or not offered:
            return [], []
        calls = [_shape(attempt) for attempt in attempted_calls(code, _tool_names(offered))]
        faults = [
            self._fault_in_code(fault, call).moved(code_range.start) for fault in self._faults(calls, code, offered)
        ]
        return [_call_in_code(reported, call, code_range.start) for reported in calls], faults

    def _fault_in_code(self, fault: Fault, code: ToolCall) -> Fault:
        """The fault of a call in code; its fix keeps the marker before the code, so it may write only bare JSON."""
        if fault.call is None:
            return fault
        message = (
            f"A call of `{fault.call.name}` is written here as code for `{code.name}`, which does not know the tool: "
            "no tool runs."
        )
        is_bare = fault.fix is not None and fault.fix.edits[0].text.lstrip().startswith("{")
        return structs.replace(fault, message=message, fix=fault.fix if is_bare else None, call=None)

    def in_payload(self, call: ToolCall, offered: OfferedTools) -> tuple[list[ToolCall], list[Fault]]:
        """The calls in another shape between the markers of a call that could not be read, with their faults.

        They replace `call`, which has no name; none if the payload has no such call.
        """
        text, start = call.arguments, call.range.start
        if call.name is not None or call.recovered or not isinstance(text, str) or len(text) != len(call.range):
            return [], []
        calls = self._foreign_in(text, offered)
        calls += self._shapes_in(text, offered, [reported.container for reported in calls])
        calls.sort(key=_range)
        faults = [self._fault_in_payload(reported, offered).moved(start) for reported in calls]
        return [_call_in_code(reported, call, start) for reported in calls], faults

    def _fault_in_payload(self, reported: _ReportedCall, offered: OfferedTools) -> Fault:
        shape = f"in the syntax of `{reported.shape}`" if reported.rule is FOREIGN_FORMAT else reported.shape
        message = (
            f"A call of `{reported.call.name}` is written {shape} between the markers of a call, where "
            f"`{self._own.name}` does not read it: a server that reads only this format runs no tool."
        )
        return Fault(
            reported.rule, reported.call.range, message, self._expected(self._written([reported.call], offered))
        )

    def in_literals(self, text: str, offered: OfferedTools) -> list[Fault]:
        """The faults in the texts of JSON strings."""
        calls = self._foreign_in(text, offered)
        calls += self._shapes_in(text, offered, [call.container for call in calls])
        calls.sort(key=_range)
        return self._faults(calls, text, offered)

    def _foreign_in(self, text: str, offered: OfferedTools) -> list[_ReportedCall]:
        def find(name: str | None) -> NamedTool | None:
            return _tool_names(offered).find(name or "")

        foreign = self._foreign.find(text, find if offered.definitions else None)
        if not foreign:
            return []
        typed = (structs.replace(call, call=typed_by(call.call, offered).call) for call in foreign)
        return [_foreign(call, find(call.call.name)) for call in typed]

    def _shapes_in(self, text: str, offered: OfferedTools, known: Sequence[Range]) -> list[_ReportedCall]:
        if not offered.definitions or (known and known[0].of(text) == text.strip()):
            return []
        attempts = attempted_calls(text, _tool_names(offered), known)
        return [_shape(attempt) for attempt in attempts] if attempts else []

    def _faults(self, reported_calls: Sequence[_ReportedCall], text: str, offered: OfferedTools) -> list[Fault]:
        faults: list[Fault] = []
        for _, group in groupby(reported_calls, key=_range):
            calls = list(group)
            written = self._written([call.call for call in calls], offered)
            fix = self._fix(calls, text, written)
            for reported in calls:
                shows_all = len(calls) == 1 or reported.rule is FOREIGN_FORMAT
                alone = written if shows_all else self._written([reported.call], offered)
                faults.append(self._fault(reported, fix if reported is calls[0] else None, alone))
            faults += _invented_result(text, calls[-1].container.end)
        return faults

    def _fault(self, reported: _ReportedCall, fix: Fix | None, written: str | None) -> Fault:
        call = reported.call
        if reported.rule is FOREIGN_FORMAT:
            message = (
                f"A call of `{call.name}` is written here in the syntax of `{reported.shape}`, but weaklink reads this "
                f"model's calls as `{self._own.name}`: a server that reads only `{self._own.name}` runs no tool."
            )
            hint = f"Serve the model with a parser for `{reported.shape}`, or change the prompt that shows this syntax."
        else:
            message = (
                f"A call of `{call.name}` is written here {reported.shape}, which `{self._own.name}` does not read: a "
                f"server that reads only `{self._own.name}` runs no tool."
            )
            hint = self._expected(written)
            if WITHOUT_TOKENS in reported.shape:
                hint = f"Servers that decode with `skip_special_tokens=True` remove them: turn this option off. {hint}"
        return Fault(reported.rule, call.range, message, hint, fix, call=call)

    def _with_call_after(self, marker: Fault, text: str, offered: OfferedTools) -> Fault:
        """The fault of a near marker, with the call after it that the right marker would open, if there is one.

        Its fix is kept only if it results in a call.
        """
        if marker.rule is not NEAR_MARKER or marker.call is not None or marker.fix is None:
            return marker
        edit = marker.fix.edits[0]
        call = next(iter(read_in(edit.text + text[edit.range.end :], self._own).calls), None)
        if call is None or not call.name or not (call.valid or call.recovered):
            return structs.replace(marker, fix=None)
        named = _tool_names(offered).find(call.name) if offered else None
        if named is None:
            return marker
        call = typed_by(call, offered).call
        call_range = call.range.moved(edit.range.end - len(edit.text))
        call_range = Range(max(call_range.start, edit.range.end), call_range.end)
        attempted = AttemptedCall(named.name, call.arguments, call.raw_arguments, call_range, recovered=True)
        return structs.replace(marker, call=attempted)

    def _draft(self, reported: _ReportedCall, offered: OfferedTools) -> Fault:
        call = structs.replace(reported.call, is_step=False)
        message = f"A call of `{call.name}` is written inside reasoning {reported.shape}: it is a draft."
        hint = self._expected(self._written([call], offered))
        return Fault(CALL_INSIDE_REASONING, call.range, message, hint, call=call)

    def _expected(self, written: str | None) -> str:
        if written is None:
            return f"Write the call as `{self._own.name}` expects it."
        cut = written if len(written) <= _MAX_SHOWN_CHARS else written[: _MAX_SHOWN_CHARS - 1] + "…"
        return f"`{self._own.name}` expects {shown(cut)}."

    def _fix(self, group: Sequence[_ReportedCall], text: str, written: str | None) -> Fix | None:
        """The fix that inserts `written` for a whole group, on separate lines, which some formats require.

        None beside words if servers read a reply with words as no call: the fix would help nobody.
        """
        container = group[0].container
        outside = text[: container.start] + text[container.end :]
        is_beside_words = bool(outside.strip()) and "{" not in outside
        if written is None or (self._own.calls_only and is_beside_words):
            return None
        before = text[max(container.start - _LINE, 0) : container.start]
        after = text[container.end : container.end + _LINE]
        lead = "\n" if before.rsplit("\n", 1)[-1] else ""
        tail = "\n" if after.split("\n", 1)[0].strip() else ""
        is_sure = not any(call.is_guess for call in group)
        return Fix((Edit(container, f"{lead}{written}{tail}"),), safe=is_sure)

    def _written(self, calls: Sequence[AttemptedCall], offered: OfferedTools) -> str | None:
        """The calls in the own format; None if one of them could not be read, or the format cannot express it.

        A value with a special token is a text that was cut at the wrong place.
        """
        if not all(call.recovered and _TOKEN.search(write_json(call.arguments)) is None for call in calls):
            return None
        rebuilt = [ToolCall(call.name, call.arguments, "", valid=True, range=call.range) for call in calls]
        written = self._own.write_calls(rebuilt)
        if all(map(self._own.expresses, rebuilt)):
            return written
        read = [typed_by(call, offered).call for call in read_in(written, self._own).calls]
        is_same = [(call.name, call.arguments) for call in read] == [(call.name, call.arguments) for call in rebuilt]
        return written if is_same else None


def _invented_result(text: str, start: int) -> Iterator[Fault]:
    """The result that the model writes after its own call, up to the next empty line or code fence."""
    label = _RESULT.match(text, start)
    if label is None:
        return
    end = _RESULT_END.search(text, label.end(), label.end() + _MAX_RESULT_CHARS)
    last = end.start() if end is not None else min(len(text), label.end() + _MAX_RESULT_CHARS)
    result_range = Range(label.start(1), label.start(1) + len(text[label.start(1) : last].rstrip()))
    message = "The model writes the result of its own call, but no tool ran: the result is invented."
    yield Fault(INVENTED_RESULT, result_range, message, "Stop the generation after the call.")


def _foreign(foreign: ForeignCall, named: NamedTool | None) -> _ReportedCall:
    call, name = foreign.call, "" if named is None else named.name
    is_read = call.valid or call.recovered
    attempted = AttemptedCall(
        name or call.name or "", call.arguments if is_read else None, call.raw_arguments, call.range, is_read
    )
    is_guess = not call.valid or name != call.name
    return _ReportedCall(attempted, foreign.whole, FOREIGN_FORMAT, foreign.format.name, is_guess)


def _shape(attempt: Attempt) -> _ReportedCall:
    evidence, arguments, guessed = attempt.read()
    call = AttemptedCall(
        attempt.named.name, arguments, attempt.raw_arguments, attempt.range, recovered=arguments is not None
    )
    slip = f" {attempt.named.slip}" if attempt.named.slip else ""
    is_sure = attempt.position is CallPosition.WHOLE and evidence is Evidence.STRONG and not guessed
    return _ReportedCall(call, attempt.container, ATTEMPTED_CALL, f"{attempt.shape}{slip}", is_guess=not is_sure)


def _call_in_code(reported: _ReportedCall, code: ToolCall, start: int) -> ToolCall:
    call = reported.call
    return ToolCall(
        call.name,
        call.arguments if call.recovered else call.raw_arguments,
        call.raw_arguments,
        valid=False,
        range=call.range.moved(start),
        recovered=call.recovered,
        span=code.span,
    )


def _range(call: _ReportedCall) -> Range:
    return call.container


def _merged(text: str, near: Iterable[Fault], faults: Sequence[Fault]) -> list[Fault]:
    """Both kinds of faults; a near marker and the call directly after it become one. `faults` are in order."""
    kept, alone = list(faults), []
    starts = [fault.range.start for fault in faults]
    for marker in near:
        following = bisect_left(starts, marker.range.start)
        index = next(
            (i for i in (following - 1, following) if 0 <= i < len(kept) and _belongs(text, marker, faults[i])), None
        )
        if index is None or kept[index] is not faults[index]:
            if not any(_rewrites(fault, marker) for fault in faults):
                alone.append(marker)
        else:
            kept[index] = _joined(marker, faults[index])
    return sorted([*kept, *alone], key=lambda fault: fault.range)


def _rewrites(call: Fault, marker: Fault) -> bool:
    """Whether the fix of a call replaces a near marker too: both have one cause."""
    edits = call.fix.edits if call.fix is not None else ()
    return any(edit.range.covers(marker.range) for edit in edits)


def _joined(marker: Fault, call: Fault) -> Fault:
    """The fault of a near marker with the call after it; its fix rewrites both."""
    edits = call.fix.edits if call.fix is not None else ()
    fix = None
    if len(edits) == 1:
        start = min(marker.range.start, edits[0].range.start)
        whole = Range(start, max(edits[0].range.end, marker.range.end))
        fix = Fix((structs.replace(edits[0], range=whole),), safe=False)
    return structs.replace(marker, call=call.call, fix=fix)


def _belongs(text: str, marker: Fault, call: Fault) -> bool:
    """Whether a marker overlaps a call, or is directly before it."""
    if call.call is None:
        return False
    if marker.range.overlaps(call.range):
        return True
    between = call.range.start - marker.range.end
    return 0 <= between <= _LINE and not text[marker.range.end : call.range.start].strip()


def attempted_calls(text: str, names: ToolNames, taken: Sequence[Range] = ()) -> list[Attempt]:
    """The calls of tools in `text` in a shape that no format parses, in order, none within `taken` (in order).

    Most texts have none: they lack a tool's name before `(`, and a name next to the brackets of other shapes.
    """
    heads = names.heads(text) if may_hold_name(text) else []
    values = call_shapes.may_hold_values(text) and names.occur_in(text)
    attempts = list(_outside(taken, call_shapes.tag_calls(text, names))) if "<" in text and "</" in text else []
    labels = names.occurrences(text) if values or may_hold_labels(text) else []
    if not (heads or values or labels):
        return judged_attempts(text, attempts) if attempts else []
    brackets = call_shapes.Brackets(text)
    labelled = list(labelled_calls(text, labels, brackets)) if labels else []
    if not (values or labelled or attempts or may_count(text, heads)):
        return []
    if values:
        attempts += call_shapes.json_calls(text, names, brackets, _with(taken, attempts))
    if labelled:
        attempts += _outside(_with(taken, attempts), labelled)
    if values:
        attempts += _outside(_with(taken, attempts), call_shapes.named_objects(text, names, brackets))
    calls = list(call_shapes.python_calls(text, heads, brackets)) if heads else []
    if values:
        calls += call_shapes.named_lists(text, names, brackets)
        calls.sort(key=_start)
    attempts += _outside(_with(taken, attempts), calls) if calls else ()
    return judged_attempts(text, _without_overlaps(attempts)) if attempts else []


def _with(taken: Sequence[Range], attempts: Sequence[Attempt]) -> Sequence[Range]:
    """The known ranges and those of the attempts found since, in order."""
    return sorted([*taken, *(attempt.range for attempt in attempts)]) if attempts else taken


def _start(attempt: Attempt) -> Range:
    return attempt.range


def _outside(covered: Sequence[Range], attempts: Iterable[Attempt]) -> Iterable[Attempt]:
    """The attempts that overlap none of the ranges; both are in order."""
    if not covered:
        return attempts
    kept: list[Attempt] = []
    index = 0
    for attempt in attempts:
        while index < len(covered) and covered[index].end <= attempt.range.start:
            index += 1
        if index == len(covered) or covered[index].start >= attempt.range.end:
            kept.append(attempt)
    return kept


def _without_overlaps(attempts: list[Attempt]) -> list[Attempt]:
    """Of attempts that overlap, only the first."""
    if len(attempts) == 1:
        return attempts
    kept: list[Attempt] = []
    for attempt in sorted(attempts, key=_start):
        if not kept or attempt.range.start >= kept[-1].range.end:
            kept.append(attempt)
    return kept
