"""A part of a turn as HTML: its spans coloured and named, its faults marked and said below."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise

from inspector.diagnostics import Fault
from inspector.inspection import PartInspection
from inspector.model import Span, SpanKind, ToolCall
from inspector.rules.rule import Severity
from inspector.text import LineIndex, Range
from ui.views.call import call_head
from ui.views.palette import GLYPHS, Style, style_of
from ui.views.run import Run
from ui.views.step_places import NO_STEPS, StepPlaces
from ui.views.visible import visible
from ui.views.wording import counted, quoted

_LONG, _LONG_DEFINITIONS, _GLANCE = 3_000, 300, 80


def escaped(text: str) -> str:
    """Text from outside as HTML that shows it: nothing in it is markup, nothing is invisible."""
    return escape(visible(text))


def runs_html(line: Iterable[Run]) -> str:
    """Styled runs, each in an element of the class of its style."""
    return "".join(
        escape(run.text) if run.style is Style.PLAIN else f'<span class="{run.style}">{escape(run.text)}</span>'
        for run in line
    )


def part_html(text: str, part: PartInspection, faults: Sequence[Fault], steps: StepPlaces = NO_STEPS) -> Iterator[str]:
    """The spans of a part one below the other, each with its faults and calls; blank text between them is left out."""

    def call_html(call: ToolCall) -> str:
        return f'<div class="call">{runs_html(call_head(call, steps.of_call(part.turn, part.part, call)))}</div>'

    ordered = sorted(faults, key=lambda fault: fault.range)
    lines = LineIndex(text)
    by_span: defaultdict[int, list[ToolCall]] = defaultdict(list)
    for call in part.calls:
        by_span[call.span].append(call)
    waiting = 0
    open_: list[Fault] = []
    for index, span in enumerate(part.spans):
        is_last = index == len(part.spans) - 1
        own = []
        while waiting < len(ordered) and (is_last or ordered[waiting].range.start < span.range.end):
            own.append(ordered[waiting])
            waiting += 1
        open_ = [fault for fault in open_ if fault.range.end > span.range.start] + own
        calls = by_span.get(index, [])
        if own or calls or len(part.spans) == 1 or not _is_gap(text, span):
            yield from _span_html(text, span, open_, [call_html(call) for call in calls])
            yield from faults_html(own, lines)
            yield "</div></div>\n"
    if not part.spans:
        yield from map(call_html, part.calls)
        yield from faults_html(ordered, lines)


def faults_html(faults: Sequence[Fault], lines: LineIndex | None = None) -> Iterator[str]:
    """A list of faults in words: severity, code, place, message and help."""
    if not faults:
        return
    yield '<ul class="faults">'
    for fault in faults:
        severity = fault.rule.severity
        said = f"{GLYPHS[severity]} {severity}[{fault.rule.code}]"
        yield f'<li class="{severity}"><strong class="{severity}">{said}</strong> <strong>{fault.rule.name}</strong>'
        yield f"{_place(fault, lines)}: {runs_html(quoted(fault.message))}"
        yield from (f"<p>note: {runs_html(quoted(one.message))}</p>" for one in fault.related)
        if fault.hint:
            yield f'<p><span class="hint">help:</span> {runs_html(quoted(fault.hint))}</p>'
        yield "</li>"
    yield "</ul>\n"


def _span_html(text: str, span: Span, faults: Sequence[Fault], calls: Sequence[str]) -> Iterator[str]:
    """A span's label, text and calls; its body stays open for what is to be said below."""
    kind = style_of(span.kind)
    name = f"{kind} <small>{escaped(span.label)}</small>" if span.label not in ("", kind) else f"{kind}"
    yield f'<div class="span {kind}"><div class="label {kind}">{name}</div><div class="body">'
    folded = len(span.range) > (_LONG_DEFINITIONS if span.kind is SpanKind.TOOL_DEFINITIONS else _LONG)
    if folded:
        begins = escaped(span.range.of(text)[:_GLANCE].strip().replace("\n", " "))
        yield f"<details{' open' if faults else ''}><summary>{counted(len(span.range), 'character')}: "
        yield f"<code>{begins} …</code></summary>"
    yield "<pre>"
    yield from _pieces(text, span, faults)
    yield "</pre>"
    yield "</details>" if folded else ""
    yield from calls


def _pieces(text: str, span: Span, faults: Sequence[Fault]) -> Iterator[str]:
    """The span's text: markers, children and faults in elements of their own."""
    whole = span.range
    cuts = {whole.start, whole.end}
    waiting = sorted(((_shown(fault.range, whole), fault) for fault in faults), key=_start, reverse=True)
    for other in (span.inner, *(child.range for child in span.children), *(place for place, _ in waiting)):
        cuts |= {cut for cut in (other.start, other.end) if whole.start < cut < whole.end}
    marking: list[tuple[Range, Fault]] = []
    children = list(reversed(span.children))
    for start, end in pairwise(sorted(cuts)):
        while waiting and waiting[-1][0].start <= start:
            marking.append(waiting.pop())
        marking = [placed for placed in marking if placed[0].end > start]
        while children and children[-1].range.end <= start:
            children.pop()
        piece = _in_its_class(text[start:end], start, span, children)
        yield _marked(piece, [fault for _, fault in marking]) if marking else piece


def _in_its_class(piece: str, at: int, span: Span, children: Sequence[Span]) -> str:
    if not span.inner.start <= at < span.inner.end:
        return f'<span class="markup">{escaped(piece)}</span>'
    if children and children[-1].range.start <= at:
        child = children[-1]
        name = child.label or child.kind.value
        return f'<span class="child {child.kind}" title="{escaped(name)}">{escaped(piece)}</span>'
    return escaped(piece)


def _marked(piece: str, faults: Sequence[Fault]) -> str:
    worst = min((fault.rule.severity for fault in faults), key=list(Severity).index)
    said = "; ".join(f"{fault.rule}: {visible(fault.message)}" for fault in faults)
    return f'<mark class="{worst}" title="{escape(said)}">{piece}</mark>'


def _shown(place: Range, span: Range) -> Range:
    """A fault's place, within its span and at least one character wide, so that it can be seen."""
    start = max(min(place.start, span.end - 1), span.start)
    return Range(start, max(place.end, start + 1))


def _start(placed: tuple[Range, Fault]) -> int:
    return placed[0].start


def _place(fault: Fault, lines: LineIndex | None) -> str:
    if lines is None:
        return ""
    line, column = lines.position(fault.range.start)
    return f' <span class="dim">line {line} column {column}</span>'


def _is_gap(text: str, span: Span) -> bool:
    return span.kind is SpanKind.TEXT and not span.range.of(text).strip()
