"""Traces as one self-contained HTML page: no script, font, image or network request."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from msgspec.structs import replace

from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.diagnostics import Diagnostic, Fault, Related
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.model import ToolCall, Trace, Turn
from weaklink.inspector.version import __version__
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.reports.html import (
    MAX_FAULTS,
    MAX_SPANS,
    MAX_TEXT_CHARS,
    PageBudget,
    escaped,
    faults_html,
    head_html,
    part_html,
    policy_for,
    runs_html,
    style_sheet,
)
from weaklink.ui.views.diagnostic import break_lines, side_words
from weaklink.ui.views.dissect.side import initial_position
from weaklink.ui.views.layers import TraceLayers, layer_words, with_before
from weaklink.ui.views.minimap import LEGEND, minimap
from weaklink.ui.views.status import UNNAMED, call_brief, outcome_words, status_run, step_glyph
from weaklink.ui.views.styled_text import counted, visible_line
from weaklink.ui.views.trace import TurnContents, ending, fault_counts, heading_of, result_words, trace_facts
from weaklink.ui.views.trace_summary import reason_words, trace_title
from weaklink.ui.views.turn import error_words

STYLE = style_sheet()
"""The style of the page."""
POLICY = policy_for(STYLE)
"""The page's Content-Security-Policy: a browser loads nothing, runs nothing, and applies no style except ours."""

_MAP_CELLS = 400
_CELL_CHARS = 160
_CLASSES = (' class="brief"', ' class="brief"', "", ' class="brief"', "")
_UNWRAPPED = 100_000
_LEGEND = " · ".join(LEGEND).replace("  ", " · ")


def html_page(
    traces: Iterable[tuple[int, Trace, Inspection]], *, title: str, contents: Sequence[TraceSummary] = ()
) -> Iterator[str]:
    """The page in pieces; only one trace at a time is in memory. Several `contents` are listed at the top."""
    yield head_html(title, STYLE)
    if len(contents) > 1:
        yield f"<nav>\n<h1>{len(contents):,} traces</h1>\n<ul>\n{''.join(map(_entry, contents))}</ul>\n</nav>\n"
    for id, trace, inspection in traces:
        yield from trace_html(id, trace, inspection)
    yield f"<footer>Written by weaklink {__version__}.</footer>\n</body>\n</html>\n"


def _entry(summary: TraceSummary) -> str:
    broken = summary.broken
    status = runs_html([status_run(summary.status, broken)])
    reason = runs_html(reason_words(summary))
    why = f", broke at {reason}" if broken else f", {reason}" if reason else ""
    return f'<li>{status} <a href="#trace-{summary.id}">{summary.id} {escaped(trace_title(summary))}</a>{why}</li>\n'


def trace_html(id: int, trace: Trace, inspection: Inspection) -> Iterator[str]:
    """The section of one trace; its element has the id `trace-N`."""
    yield f'<section class="trace" id="trace-{id}">\n<h1>trace {id} <span>{escaped(heading_of(trace))}</span></h1>\n'
    characters = sum(len(part.text) for turn in trace.turns for part in turn.parts)
    room = PageBudget(characters, initial_position(inspection))
    yield from _facts(trace, inspection)
    yield from _bounds(characters, inspection)
    yield from _break(trace, inspection)
    yield from chain_html(id, inspection.chain)
    yield from _layers(id, trace, inspection)
    of_turns = TurnContents(trace, inspection)
    left_out = 0
    for number, turn in enumerate(trace.turns, 1):
        if not room.takes(is_kept=room.kept is not None and room.kept.turn == number):
            left_out += 1
            continue
        yield from _turns_left_out(left_out)
        left_out = 0
        yield f'<article id="trace-{id}-turn-{number}">\n'
        yield from _turn(turn, number, of_turns, room)
        yield "</article>\n"
    yield from _turns_left_out(left_out)
    yield "</section>\n"


def _turns_left_out(count: int) -> Iterator[str]:
    if count:
        yield f'<p class="dim">… {counted(count, "turn")} left out</p>\n'


def _bounds(characters: int, inspection: Inspection) -> Iterator[str]:
    """A note on what the page leaves out of a trace that is too long."""
    spans = sum(len(part.spans) for part in inspection.parts)
    faults = len(inspection.diagnostics)
    if characters <= MAX_TEXT_CHARS and spans <= MAX_SPANS and faults <= MAX_FAULTS:
        return
    texts = "the beginning of each text and the text around faults; " if characters > MAX_TEXT_CHARS else ""
    yield f"<p>This trace is too long for one page ({characters:,} characters, {counted(spans, 'span')}, "
    yield f"{counted(faults, 'fault')}). Shown: {texts}the first {MAX_SPANS:,} spans and turns, the first "
    yield f"{MAX_FAULTS:,} faults, and always the break. <code>weaklink web</code> and <code>weaklink tui</code> show "
    yield "everything.</p>\n"


def _facts(trace: Trace, inspection: Inspection) -> Iterator[str]:
    chain, counts = inspection.chain, fault_counts(inspection)
    status = runs_html([status_run(chain.status, chain.broken)])
    status_text = " ".join(word for word in (ending(chain), f"· {counts}" if counts else "") if word)
    yield f"<dl>\n<dt>status</dt><dd>{status} {escape(status_text)}</dd>\n"
    for name, words in trace_facts(trace, inspection):
        yield f"<dt>{name}</dt><dd>{escaped(words)}</dd>\n"
    if inspection.parts:
        shown = runs_html(minimap(trace, inspection, _MAP_CELLS))
        yield f'<dt>map</dt><dd><code class="map">{shown}</code><p class="dim">{escape(_LEGEND)}</p></dd>\n'
    yield "</dl>\n"


def _break(trace: Trace, inspection: Inspection) -> Iterator[str]:
    if inspection.chain.broken is not None:
        yield '<div class="break">'
        for line in break_lines(trace, inspection, _UNWRAPPED, quote_width=0):
            yield f"<p>{runs_html(line)}</p>"
        yield "</div>\n"


def chain_html(id: int, chain: Chain) -> Iterator[str]:
    """The steps of a chain as a table; nothing if it has none."""
    if not chain.steps:
        return
    yield "<h2>chain</h2>\n<table>\n<thead><tr>"
    yield "".join(f"<th>{head}</th>" for head in ("step", "turn", "call", "outcome", "result"))
    yield "</tr></thead>\n<tbody>\n"
    broken = chain.broken.step if chain.broken is not None else 0
    shown = [step for step in chain.steps if step.number <= MAX_FAULTS or step.number == broken]
    for step in shown:
        glyph, turn = step_glyph(step), step.location.turn
        cells = (
            str(step.number),
            f'<a href="#trace-{id}-turn-{turn}">{turn}</a>',
            _call_html(step.call),
            f'<span class="{glyph.style}">{glyph.text} {escape(outcome_words(step))}</span>',
            f"<code>{runs_html(result_words(step, _CELL_CHARS))}</code>",
        )
        written = zip(cells, _CLASSES, strict=True)
        yield f"<tr>{''.join(f'<td{name}>{content}</td>' for content, name in written)}</tr>\n"
    yield "</tbody>\n</table>\n"
    if len(shown) < len(chain.steps):
        yield f'<p class="dim">… {counted(len(chain.steps) - len(shown), "step")} left out</p>\n'


def _layers(id: int, trace: Trace, inspection: Inspection) -> Iterator[str]:
    """The layers, side by side, of each call and result that is not the same in all layers."""
    layers, shown = TraceLayers(trace, inspection), 0
    for step in inspection.chain.steps:
        step_layers = layers.of(step)
        if not step_layers.differ:
            continue
        shown += 1
        if shown > MAX_FAULTS:
            yield '<p class="dim">… the layers of further steps are left out</p>\n'
            return
        yield "" if shown > 1 else "<h2>layers</h2>\n"
        link = f'<a href="#trace-{id}-turn-{step.location.turn}">step {step.number}</a>'
        yield f"<h3>{link} {escaped(step.call.name or UNNAMED)}</h3>\n"
        for row, is_result in ((step_layers.call, False), (step_layers.result, True)):
            yield "<table>\n<thead><tr>"
            yield "".join(
                f"<th>{escape(' '.join(word for word in (layer.name.value, layer.basis) if word))}</th>"
                for layer in row
            )
            words = (layer_words(line, before, is_result=is_result) for before, line in with_before(row))
            yield "</tr></thead>\n<tbody>\n<tr>"
            yield "".join(f"<td><code>{runs_html(line)}</code></td>" for line in words)
            yield "</tr>\n</tbody>\n</table>\n"


def _call_html(call: ToolCall) -> str:
    """A call as it was written; an invalid one is marked, with the call that a repair read from it."""
    name = visible_line(call.name) if call.name else UNNAMED
    arguments = " ".join(call.raw_arguments[: 4 * _CELL_CHARS].split())
    written = (
        f"{name}({visible_line(arguments if len(arguments) <= _CELL_CHARS else arguments[: _CELL_CHARS - 1] + '…')})"
    )
    shown = f'<code class="tool_call">{escape(written)}</code>'
    if call.valid:
        return shown
    if not call.recovered:
        return f'{shown} <span class="error">✖ could not be parsed</span>'
    return f'{shown} <span class="warning">◆ repaired to</span> <code>{escape(call_brief(call, _CELL_CHARS))}</code>'


def _turn(turn: Turn, number: int, of_turns: TurnContents, room: PageBudget) -> Iterator[str]:
    parts, diagnostics = of_turns.parts(number), of_turns.diagnostics(number)
    facts = " · ".join(map(visible_line, of_turns.facts(turn, number)))
    yield f"<h3>{number} {turn.role.value}"
    yield f' <span class="dim">{escape(facts)}</span></h3>\n' if facts else "</h3>\n"
    if turn.generation is not None and turn.generation.error is not None:
        yield f"<p>{runs_html(error_words(turn.generation.error))}</p>\n"
    for part in parts:
        source = turn.part(part.part)
        if part.part != "text":
            yield f'<h4 class="dim">{escaped(part.part)}</h4>\n'
        faults = [diagnostic.fault for diagnostic in diagnostics if diagnostic.location.part == part.part]
        yield from part_html(source.text if source else "", part, faults, of_turns.steps, room)
    shown = {part.part for part in parts}
    others = [_with_sides(diagnostic) for diagnostic in diagnostics if diagnostic.location.part not in shown]
    fit = room.of(others, is_kept=False)
    yield from faults_html(fit, left_out=len(others) - len(fit))


def _with_sides(diagnostic: Diagnostic) -> Fault:
    """The fault, with a note on its location if it is in a turn's request or in a tool's run."""
    note = side_words(diagnostic)
    return (
        replace(diagnostic.fault, related=(*diagnostic.fault.related, Related(diagnostic.range, note)))
        if note
        else diagnostic.fault
    )
