"""Writes traces to one file: a trace file, JSON lines, Markdown or one HTML page, depending on the file's suffix.

Untrusted text is in code spans and fences longer than any run of backticks in it; Markdown (CommonMark, sections 6.1
and 4.5) parses no markup, HTML or links there.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import TextIO, TypeAlias

from weaklink.inspector.chain.steps import Chain
from weaklink.inspector.inspected import Inspection
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Trace
from weaklink.inspector.model.exchange import with_exchanges
from weaklink.inspector.trace_file import write_trace_file
from weaklink.storage.store import Store
from weaklink.storage.summaries import TraceSummary
from weaklink.ui.reports.html_page import html_page
from weaklink.ui.views.diagnostic import break_lines
from weaklink.ui.views.status import call_brief, outcome_words, status_run, step_glyph
from weaklink.ui.views.styled_text import Line, plain, visible_line
from weaklink.ui.views.trace import TurnContents, ending, fault_counts, heading_of, trace_facts
from weaklink.ui.views.trace_json import trace_object
from weaklink.ui.views.trace_summary import trace_title

NumberedTrace: TypeAlias = tuple[int, Trace, Inspection]
TraceWriter: TypeAlias = Callable[[TextIO, Sequence[TraceSummary], Iterator[NumberedTrace]], None]
_FORMS_BY_SUFFIX = MappingProxyType(
    {".jsonl": "trace", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".html": "html"}
)
_WIDTH = 100
_TICKS = re.compile("`+")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+.!|~&:@-])")


def form_of(path: str) -> str | None:
    """The form that the suffix of a path names; None for other suffixes."""
    return _FORMS_BY_SUFFIX.get(PurePath(path).suffix.lower())


def write_traces(out: TextIO, store: Store, ids: Iterable[int], writer: TraceWriter) -> None:
    """Write traces of a store, with one in memory at a time. Raises StoreError if one is missing."""
    summaries = [store.summary(id_) for id_ in ids]
    traces = ((summary.id, *store.inspected(summary.id)) for summary in summaries)
    if writer is _trace_file:
        traces = (
            (id_, with_exchanges(trace, store.exchanges.of(id_).traces[id_]), inspection)
            for id_, trace, inspection in traces
        )
    writer(out, summaries, traces)


def _trace_file(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    write_trace_file(out, (trace for _, trace, _ in traces))


def _json(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    out.writelines(write_json(trace_object(*numbered)) + "\n" for numbered in traces)


def _markdown(out: TextIO, _: Sequence[TraceSummary], traces: Iterable[NumberedTrace]) -> None:
    for index, numbered in enumerate(traces):
        out.writelines(["\n---\n\n"] if index else [])
        out.writelines(trace_markdown(*numbered))


def _html(out: TextIO, summaries: Sequence[TraceSummary], traces: Iterator[NumberedTrace]) -> None:
    out.writelines(html_page(traces, title=_page_title(summaries), contents=summaries))


def _page_title(summaries: Sequence[TraceSummary]) -> str:
    if len(summaries) > 1:
        return f"weaklink: {len(summaries):,} traces"
    return f"weaklink: trace {summaries[0].id} {trace_title(summaries[0])}"


TRACE_WRITERS: MappingProxyType[str, TraceWriter] = MappingProxyType(
    {"trace": _trace_file, "json": _json, "markdown": _markdown, "html": _html}
)
"""The writer of each form."""


def trace_markdown(id: int, trace: Trace, inspection: Inspection, *, full: bool = True) -> Iterator[str]:
    """The report as lines, each with its line feed; with `full`, long texts are not truncated."""
    yield from _lines(f"# trace {id}{' ' + code(heading_of(trace)) if heading_of(trace) else ''}", "")
    yield from _facts(trace, inspection)
    if inspection.chain.broken is not None:
        yield from _lines("## Break", "")
        yield from fenced(break_lines(trace, inspection, _WIDTH))
    yield from _chain(inspection.chain)
    of_turns = TurnContents(trace, inspection, full=full)
    yield from _lines("## Turns", "")
    for number, turn in enumerate(trace.turns, 1):
        facts = " · ".join(map(code, of_turns.facts(turn, number)))
        yield from _lines(f"### {number} {turn.role.value}{' · ' + facts if facts else ''}", "")
        lines = of_turns.lines(turn, number, _WIDTH)
        next(lines)  # the turn's head is above
        yield from fenced(lines)


def code(text: str) -> str:
    """Untrusted text as a code span: on one line, visible, and without any markup."""
    shown = visible_line(text)
    ticks = "`" * (max(map(len, _TICKS.findall(shown)), default=0) + 1)
    room = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{ticks}{room}{shown}{room}{ticks}" if shown else ""


def prose(text: str) -> str:
    """Text as part of a paragraph, with a backslash before every character that Markdown could interpret."""
    return _MARKUP.sub(r"\\\1", visible_line(text))


def fenced(lines: Iterable[Line]) -> Iterator[str]:
    """Lines of a view in a fence that their text cannot close; nothing if there are no lines."""
    shown = [plain(line).rstrip(" ") for line in lines]
    longest = max((len(run) for line in shown for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(longest + 1, 3)
    if shown:
        yield from _lines(f"{fence}text", *shown, fence, "")


def _facts(trace: Trace, inspection: Inspection) -> Iterator[str]:
    chain, counts = inspection.chain, fault_counts(inspection)
    status = status_run(chain.status, chain.broken).text
    status_text = " · ".join(word for word in (f"**{status}** {prose(ending(chain))}".rstrip(), counts) if word)
    yield from _lines(f"- status: {status_text}")
    yield from (f"- {name}: {code(words)}\n" for name, words in trace_facts(trace, inspection))
    yield "\n"


def _chain(chain: Chain) -> Iterator[str]:
    if not chain.steps:
        return
    yield from _lines("## Chain", "")
    for step in chain.steps:
        outcome = f"{step_glyph(step).text} {outcome_words(step)}"
        yield f"{step.number}. {outcome}, turn {step.location.turn}: {code(call_brief(step.call, _WIDTH))}\n"
    yield "\n"


def _lines(*lines: str) -> Iterator[str]:
    return (f"{line}\n" for line in lines)
