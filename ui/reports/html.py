"""Parts of a self-contained HTML page: head, content policy, style sheet, and text with spans and faults marked."""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from itertools import pairwise

from weaklink.inspector.diagnostics import Fault, Location
from weaklink.inspector.inspected import PartInspection
from weaklink.inspector.model import Span, SpanKind, ToolCall
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.text import LineIndex, Range
from weaklink.ui.views.colours import DARK, LIGHT
from weaklink.ui.views.places import NO_STEPS, StepPlaces
from weaklink.ui.views.status import GLYPHS, call_head
from weaklink.ui.views.styled_text import Run, Style, counted, quoted, style_of, visible

_FOLDED_CHARS, _FOLDED_DEFINITION_CHARS, _PREVIEW_CHARS = 3_000, 300, 80
MAX_TEXT_CHARS, MAX_SPANS, MAX_FAULTS = 1_000_000, 5_000, 1_000
"""The limits of one trace on a page; of a longer text, only the beginnings of spans and the text around faults."""

_BEGINNING, _AROUND = 500, 300  # characters of a span in a long text, and on either side of a fault

_STYLES = tuple(style for style in Style if style not in (Style.PLAIN, Style.STRONG))
"""The styles with a colour of their own; the others have that of the page."""

_RULES = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1b1f24; --line: #d5d9e0; --soft: #f5f6f8; }
@media (prefers-color-scheme: dark) { :root { --page: #15181d; --ink: #e3e6eb; --line: #363c46; --soft: #1d2127; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 1rem 0; } h1 span { font-weight: 400; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; border-top: 1px solid var(--line); padding-top: .5rem; }
h3 span, h4 { font-weight: 400; font-size: .85rem; margin: .5rem 0 .25rem; }
section + section { border-top: 3px double var(--line); margin-top: 3rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; } p { margin: .2rem 0; }
code, pre { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { margin: 0; white-space: pre-wrap; tab-size: 4; }
.map { white-space: pre-wrap; font-size: 15px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 400; } th, td.brief { white-space: nowrap; }
.break { border: 1px solid var(--error); border-left-width: 5px; padding: .5rem .75rem; margin: 1rem 0; }
.span { display: grid; grid-template-columns: 8.5rem minmax(0, 1fr); border-left: 4px solid currentColor;
  background: var(--soft); margin: 0 0 2px; }
.span > .label { padding: .35rem .5rem; font-size: .8rem; } .span > .label small { display: block; }
.span > .body { padding: .35rem .75rem .35rem 0; color: var(--ink); }
summary { cursor: pointer; color: var(--dim); }
mark { background: color-mix(in srgb, currentColor 18%, transparent); font-weight: 700;
  text-decoration: underline wavy 2px; }
.faults { list-style: none; margin: .4rem 0; padding: 0; }
.faults li { border-left: 3px solid currentColor; padding: .1rem 0 .1rem .6rem; margin: .3rem 0; }
.call { margin: .3rem 0; }
.child { border-bottom: 1px dotted currentColor; }
.strong { font-weight: 700; } .key { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; }
nav ol, nav ul { padding-left: 1.25rem; } a { color: var(--info); } footer { margin-top: 3rem; color: var(--dim); }
@media (max-width: 40rem) { .span { grid-template-columns: minmax(0, 1fr); } .span > .body { padding-left: .5rem; } }
"""


def policy_for(style: str) -> str:
    """A Content-Security-Policy: a browser loads nothing, runs nothing, and applies no style except this one."""
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"


def head_html(title: str, style: str, *, generator: str = "") -> str:
    """A page up to and including the start tag of its body. `generator` names the kind of page for programs."""
    made_by = f'<meta name="generator" content="{escaped(generator)}">\n' if generator else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy_for(style)}">\n'
        f'<meta name="referrer" content="no-referrer">\n{made_by}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )


def escaped(text: str) -> str:
    """Untrusted text as HTML that shows it: nothing in it is markup, and nothing is invisible."""
    return escape(visible(text))


def runs_html(line: Iterable[Run]) -> str:
    """Styled runs as HTML, each in an element with the class of its style."""
    return "".join(
        escape(run.text) if run.style is Style.PLAIN else f'<span class="{run.style}">{escape(run.text)}</span>'
        for run in line
    )


class PageBudget:
    """How much of one trace still fits into a page; the text at `kept`, such as the break, always fits."""

    def __init__(self, characters: int = 0, kept: Location | None = None) -> None:
        self.is_long = characters > MAX_TEXT_CHARS
        self.kept = kept
        self._spans, self._faults = MAX_SPANS, MAX_FAULTS

    def keeps(self, turn: int, part: str, where: Range) -> bool:
        """Whether the kept text begins in this range of a part."""
        location = self.kept
        return (
            location is not None
            and (location.turn, location.part) == (turn, part)
            and where.start <= location.range.start <= where.end
        )

    def takes(self, *, is_kept: bool) -> bool:
        """Count one more span, or turn without spans. Returns whether it fits."""
        self._spans -= 1
        return is_kept or self._spans >= 0

    def of(self, faults: Sequence[Fault], *, is_kept: bool) -> Sequence[Fault]:
        """The faults that fit, in order; with `is_kept`, also the faults of the kept text."""
        fit = faults[: max(self._faults, 0)]
        self._faults -= len(fit)
        if is_kept and self.kept is not None and len(fit) < len(faults):
            fit = [*fit, *(fault for fault in faults[len(fit) :] if fault.range == self.kept.range)]
        return fit


def part_html(
    text: str,
    part: PartInspection,
    faults: Sequence[Fault],
    steps: StepPlaces = NO_STEPS,
    room: PageBudget | None = None,
) -> Iterator[str]:
    """The spans of a part below each other, each with its faults and calls; blank text between them is left out.

    A sentence counts what does not fit into `room`.
    """

    def call_html(call: ToolCall) -> str:
        return f'<div class="call">{runs_html(call_head(call, steps.of_call(part.turn, part.part, call)))}</div>'

    room = room or PageBudget()
    ordered = sorted(faults, key=lambda fault: fault.range)
    lines = LineIndex(text)
    by_span: defaultdict[int, list[ToolCall]] = defaultdict(list)
    for call in part.calls:
        by_span[call.span].append(call)
    next_fault = 0
    open_: list[Fault] = []
    left_out: list[Span] = []
    left_faults = 0
    for index, span in enumerate(part.spans):
        is_last = index == len(part.spans) - 1
        span_faults = []
        while next_fault < len(ordered) and (is_last or ordered[next_fault].range.start < span.range.end):
            span_faults.append(ordered[next_fault])
            next_fault += 1
        calls = by_span.get(index, [])
        if (
            not (span_faults or calls or len(part.spans) == 1)
            and span.kind is SpanKind.TEXT
            and not span.range.of(text).strip()
        ):
            continue
        is_kept = room.keeps(part.turn, part.part, span.range)
        if not room.takes(is_kept=is_kept):
            left_out.append(span)
            left_faults += len(span_faults)
            continue
        yield from _left_out_html(left_out, left_faults)
        left_out, left_faults = [], 0
        shown = room.of(span_faults, is_kept=is_kept)
        open_ = [fault for fault in open_ if fault.range.end > span.range.start] + list(shown)
        yield from _span_html(text, span, open_, [call_html(call) for call in calls], is_long=room.is_long)
        yield from faults_html(shown, lines, left_out=len(span_faults) - len(shown))
        yield "</div></div>\n"
    yield from _left_out_html(left_out, left_faults)
    if not part.spans:
        yield from map(call_html, part.calls)
        shown = room.of(ordered, is_kept=False)
        yield from faults_html(shown, lines, left_out=len(ordered) - len(shown))


def _left_out_html(spans: Sequence[Span], faults: int) -> Iterator[str]:
    if spans:
        size = sum(len(span.range) for span in spans)
        with_faults = f", with {counted(faults, 'fault')}" if faults else ""
        yield f'<p class="dim">… {counted(len(spans), "span")} left out ({size:,} characters{with_faults})</p>\n'


def faults_html(faults: Sequence[Fault], lines: LineIndex | None = None, *, left_out: int = 0) -> Iterator[str]:
    """A list of faults: severity, code, position, message and help; and the number of faults left out."""
    if not faults and not left_out:
        return
    yield '<ul class="faults">'
    for fault in faults:
        severity = fault.rule.severity
        head = f"{GLYPHS[severity]} {severity}[{fault.rule.code}]"
        yield f'<li class="{severity}"><strong class="{severity}">{head}</strong> <strong>{fault.rule.name}</strong>'
        yield f"{_place(fault, lines)}: {runs_html(quoted(fault.message))}"
        yield from (f"<p>note: {runs_html(quoted(related.message))}</p>" for related in fault.related)
        if fault.hint:
            yield f'<p><span class="hint">help:</span> {runs_html(quoted(fault.hint))}</p>'
        yield "</li>"
    if left_out:
        yield f'<li class="info">… {counted(left_out, "more fault")} left out</li>'
    yield "</ul>\n"


def _span_html(text: str, span: Span, faults: Sequence[Fault], calls: Sequence[str], *, is_long: bool) -> Iterator[str]:
    """A span's label, text and calls; the body element stays open so that faults can follow."""
    kind = style_of(span.kind)
    name = f"{kind} <small>{escaped(span.label)}</small>" if span.label not in ("", kind) else f"{kind}"
    yield f'<div class="span {kind}"><div class="label {kind}">{name}</div><div class="body">'
    folded = len(span.range) > (_FOLDED_DEFINITION_CHARS if span.kind is SpanKind.TOOL_DEFINITIONS else _FOLDED_CHARS)
    if folded:
        begins = escaped(
            text[span.range.start : span.range.start + 4 * _PREVIEW_CHARS].strip().replace("\n", " ")[:_PREVIEW_CHARS]
        )
        yield f"<details{' open' if faults else ''}><summary>{counted(len(span.range), 'character')}: "
        yield f"<code>{begins} …</code></summary>"
    yield "<pre>"
    shown_to = span.range.start
    for window in _windows(span, faults) if is_long else [span.range]:
        yield _gap_html(window.start - shown_to)
        yield from _pieces(text, span, faults, window)
        shown_to = window.end
    yield _gap_html(span.range.end - shown_to)
    yield "</pre>"
    yield "</details>" if folded else ""
    yield from calls


def _gap_html(length: int) -> str:
    return f'<span class="dim">\n… {counted(length, "character")} left out …\n</span>' if length else ""


def _windows(span: Span, faults: Sequence[Fault]) -> Iterator[Range]:
    """The beginning of a span and the text around its faults, in order; of a long fault, both ends."""
    whole = span.range
    edges = sorted(
        {edge for fault in faults for edge in (fault.range.start, fault.range.end) if whole.start <= edge <= whole.end}
    )
    start, end = whole.start, min(whole.start + _BEGINNING, whole.end)
    for edge in edges:
        if edge - _AROUND > end:
            yield Range(start, end)
            start = edge - _AROUND
        end = max(end, min(edge + _AROUND, whole.end))
    yield Range(start, whole.end if whole.end - end <= _AROUND else end)


def _pieces(text: str, span: Span, faults: Sequence[Fault], whole: Range) -> Iterator[str]:
    """The text of a range of the span, with markers, children and faults in separate elements."""
    faults = [fault for fault in faults if fault.range.start <= whole.end and fault.range.end >= whole.start]
    cuts = {whole.start, whole.end}
    pending = sorted(
        ((_shown(fault.range, span.range), fault) for fault in faults), key=lambda placed: placed[0].start, reverse=True
    )
    for other in (span.inner, *(child.range for child in span.children), *(range_ for range_, _ in pending)):
        cuts |= {cut for cut in (other.start, other.end) if whole.start < cut < whole.end}
    marking: list[tuple[Range, Fault]] = []
    children = list(reversed(span.children))
    for start, end in pairwise(sorted(cuts)):
        while pending and pending[-1][0].start <= start:
            marking.append(pending.pop())
        marking = [placed for placed in marking if placed[0].end > start]
        while children and children[-1].range.end <= start:
            children.pop()
        piece = _classed_html(text[start:end], start, span, children)
        yield _marked(piece, [fault for _, fault in marking]) if marking else piece


def _classed_html(piece: str, start: int, span: Span, children: Sequence[Span]) -> str:
    if not span.inner.start <= start < span.inner.end:
        return f'<span class="markup">{escaped(piece)}</span>'
    if children and children[-1].range.start <= start:
        child = children[-1]
        name = child.label or child.kind.value
        return f'<span class="child {child.kind}" title="{escaped(name)}">{escaped(piece)}</span>'
    return escaped(piece)


def _marked(piece: str, faults: Sequence[Fault]) -> str:
    worst = min((fault.rule.severity for fault in faults), key=list(Severity).index)
    tooltip = "; ".join(f"{fault.rule}: {visible(fault.message)}" for fault in faults)
    return f'<mark class="{worst}" title="{escape(tooltip)}">{piece}</mark>'


def _shown(range_: Range, span: Range) -> Range:
    """A fault's range within its span, at least one character wide, so that it is visible."""
    start = max(min(range_.start, span.end - 1), span.start)
    return Range(start, max(range_.end, start + 1))


def _place(fault: Fault, lines: LineIndex | None) -> str:
    if lines is None:
        return ""
    line, column = lines.position(fault.range.start)
    return f' <span class="dim">line {line} column {column}</span>'


def style_sheet() -> str:
    """The whole style sheet; it needs no other resources."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    light, dark = (" ".join(f"--{style}: {palette.of[style]};" for style in _STYLES) for palette in (LIGHT, DARK))
    yield f":root {{ {light} }}"
    yield f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    yield _RULES.strip()
    yield from (f".{style} {{ color: var(--{style}); }}" for style in _STYLES)
    for severity in (Style.ERROR, Style.WARNING, Style.INFO):
        yield f"mark.{severity} {{ color: var(--{severity}); text-decoration-color: var(--{severity}); }}"
        yield f".faults li.{severity} {{ border-left-color: var(--{severity}); color: var(--ink); }}"
