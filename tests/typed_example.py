"""A program that uses weaklink as its users do: mypy and pyright check it with `make types`, a test runs it.

`assert_type` says what a type checker makes of a public name: a name that lost its type would fail `make types`.
"""

from pathlib import Path
from typing import assert_type

import weaklink
from weaklink import Diagnostic, Span, ToolCall, Trace, WeaklinkError, inspect_trace, read_transcript, segment
from weaklink.formats import DetectionPatterns, Enclosed, JsonCallReader, call_object, json_format
from weaklink.pytest_plugin import Weaklink

BROKEN = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo",}}</tool_call>'
ACME = json_format(
    name="acme_typed",
    summary="JSON object between <<call>> and <<end>>",
    models=["*acme-typed*"],
    calls=(Enclosed("<<call>>", "<<end>>"),),
    signs=DetectionPatterns(calls={r"<<call>>\s*\{": 0.9}),
    reader=JsonCallReader(),
    write_calls=lambda calls: "".join(f"<<call>>{call_object(call)}<<end>>" for call in calls),
)


def faults_of(text: str) -> list[str]:
    """The names of the rules that a model's output breaks."""
    segmentation = segment(text, "hermes")
    assert_type(segmentation.spans, tuple[Span, ...])
    assert_type(segmentation.calls, tuple[ToolCall, ...])
    assert_type(segmentation.diagnostics, tuple[Diagnostic, ...])
    return [diagnostic.fault.rule.name for diagnostic in segmentation.diagnostics]


def kinds_of(pieces: list[str]) -> list[weaklink.SpanKind]:
    """The kinds of the spans of a stream, as its pieces arrive."""
    live = weaklink.Segmenter("hermes")
    spans = [span for piece in pieces for span in live.feed(piece)] + live.close()
    return [span.kind for span in spans]


def status_of(text: str) -> str:
    """The verdict on a transcript: `ok`, `broken` and so on."""
    trace = read_transcript(text)
    assert_type(trace, Trace)
    chain = inspect_trace(trace).chain
    return chain.status.value


def recorded(path: Path) -> Path:
    """A trace file with one answer, written as a program does that holds the tokens itself."""
    with weaklink.TraceLogger(path, model="Hermes-4") as log:
        log.user("How warm is it in Oslo?")
        with log.assistant() as turn:
            turn.feed(BROKEN)
    return path


def names_of(path: Path) -> list[str]:
    """The models of the traces in a trace file; none where it cannot be read."""
    try:
        return [trace.model for trace in weaklink.read_trace_file(path)]
    except WeaklinkError:
        return []


def private() -> object:
    """A name that is not public: `make types` fails once a type checker lets it pass. Raises AttributeError."""
    return weaklink.import_own_package  # type: ignore[attr-defined]  # no such name


def checked(weaklink: Weaklink) -> None:
    """What a test of an agent does with the fixture `weaklink`."""
    weaklink.assert_unbroken("<think>a</think>b", format="hermes")
