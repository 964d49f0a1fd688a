"""A verdict as Markdown of at most 2,000 bytes, for an agent or an issue: what broke, where, why, what to change.

Text of the trace is quoted in code fences, with control characters made visible, and cut so that the rest always fits.
"""

import re
import shlex

from weaklink.inspector.chain.steps import Break, Status
from weaklink.inspector.diagnostics import Diagnostic, Fix, Location
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import Trace
from weaklink.inspector.text import LineIndex
from weaklink.ui.views.diagnostic import BreakFacts, cause_of, place_words
from weaklink.ui.views.styled_text import counted, visible_line

MAX_BYTES = 2_000
_TITLE, _SENTENCE, _AROUND, _EDIT = 160, 300, 120, 120  # code points
_OPEN, _CLOSE = "\u27e6", "\u27e7"  # around the characters of the fault
_TICKS = re.compile(r"`+")


def brief(id_: int, title: str, trace: Trace, inspection: Inspection, *, where: str = "") -> str:
    """The verdict on a trace. `where` is its database, if commands must name it."""
    chain = inspection.chain
    broken = chain.broken
    database = f" --db {shlex.quote(where)}" if where else ""
    turns = f" --turns {max(broken.turn - 1, 1)}-{broken.turn + 1}" if broken is not None else ""
    look = [f"weaklink show {id_}{turns}{database}"]
    look += [f"weaklink rules {broken.code}"] if broken is not None and broken.code else []
    lines = [f"# Trace {id_}: {_headline(inspection)}", ""]
    lines += [f"Task: {_cut(title, _TITLE)}", f"Look: {', '.join(f'`{command}`' for command in look)}", ""]
    lines += _without_break(inspection) if broken is None else _of_break(trace, inspection, broken)
    return _bounded("\n".join(lines))


def _headline(inspection: Inspection) -> str:
    chain = inspection.chain
    steps = counted(len(chain.steps), "call")
    if chain.broken is not None:
        return f"broken at step {chain.broken.step} of {len(chain.steps)}, turn {chain.broken.turn}"
    reason = f" ({chain.abort_reason})" if chain.status is Status.ABORTED and chain.abort_reason else ""
    return f"{chain.status}{reason}, {steps}"


def _of_break(trace: Trace, inspection: Inspection, broken: Break) -> list[str]:
    step = inspection.chain.steps[broken.step - 1]
    cause = cause_of(broken, step, inspection)
    where = cause.location if cause is not None else step.result_location or step.location
    lines = [f"Broke: {_cut(broken.message, _SENTENCE)}", *_characters(trace, where)]
    if cause is not None:
        lines.append(f"Rule: {cause.rule.code} {cause.rule.name}. {_cut(cause.rule.summary, _SENTENCE)}")
        lines += _change(trace, cause)
    facts = BreakFacts(trace, inspection)
    lines.append(f"Afterwards: {facts.consequence}")
    if facts.words is not None:
        turn, words = facts.words
        lines.append(f"The agent in turn {turn}: {_quoted(_cut(words, _TITLE))}")
    lines.append(f"Certainty: {inspection.chain.certainty or 'high'}")
    return lines


def _without_break(inspection: Inspection) -> list[str]:
    failed = [step for step in inspection.chain.steps if step.outcome.failed]
    lines = [f"Step {step.number} was {step.outcome} and {step.recovery or 'left open'}." for step in failed[:5]]
    lines += [f"{len(failed) - 5} more failed steps."] if len(failed) > 5 else []
    codes = dict.fromkeys(diagnostic.rule.code for diagnostic in inspection.diagnostics)
    lines += [f"Diagnostics: {', '.join(list(codes)[:12])}"] if codes else []
    return lines or ["No call failed."]


def _characters(trace: Trace, where: Location) -> list[str]:
    """The line of a place, with its characters in brackets."""
    part = trace.turns[where.turn - 1].part(where.part) if where.turn <= len(trace.turns) else None
    if part is None:
        return []
    text, start, end = part.text, where.range.start, where.range.end
    shown_end = min(end, start + _AROUND)
    before, after = text[max(start - _AROUND, 0) : start], text[shown_end : shown_end + _AROUND // 2]
    inside = text[start:shown_end] + ("\u2026" if shown_end < end else "")
    quote = f"{before.rpartition(chr(10))[2]}{_OPEN}{inside}{_CLOSE}{after.partition(chr(10))[0]}"
    return [f"Characters {start} to {end} of {place_words(where, LineIndex(text))}:", _fenced(visible_line(quote))]


def _change(trace: Trace, cause: Diagnostic) -> list[str]:
    fault = cause.fault
    lines = [f"Smallest change: {_cut(fault.hint, _SENTENCE)}"] if fault.hint else []
    part = trace.turns[cause.location.turn - 1].part(cause.location.part)
    if fault.fix is not None and part is not None:
        lines += _edits(fault.fix, part.text)
    return lines


def _edits(fix: Fix, text: str) -> list[str]:
    kind = "Fix" if fix.safe else "Suggestion"
    lines = []
    for edit in fix.edits[:3]:
        old, new = edit.range.of(text), edit.text
        if len(old) <= _EDIT and len(new) <= _EDIT:
            lines.append(
                f"{kind}: at {edit.range.start} replace {_quoted(old)} by {_quoted(new)}"
                if old
                else f"{kind}: at {edit.range.start} insert {_quoted(new)}"
            )
    return lines


def _cut(text: str, longest: int) -> str:
    shown = visible_line(" ".join(text[: 2 * longest].split()))
    return shown if len(shown) <= longest else shown[: longest - 1].rstrip() + "\u2026"


def _quoted(text: str) -> str:
    """The text as inline code; nothing in it can end the code."""
    ticks = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{visible_line(text)}{space}{ticks}" if text else "nothing"


def _fenced(text: str) -> str:
    ticks = "`" * max(max(map(len, _TICKS.findall(text)), default=0) + 1, 3)
    return f"{ticks}text\n{text}\n{ticks}"


def _bounded(text: str) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= MAX_BYTES:
        return text + "\n"
    return raw[: MAX_BYTES - 4].decode("utf-8", "ignore") + "\u2026\n"
