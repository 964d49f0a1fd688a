"""SGLang's requests as JSON lines, with `--log-requests --log-requests-format json`.

A row is `{"timestamp", "event": "request.received" | "request.finished", "rid", "obj": {...}, "out": {...}}` (SGLang,
`python/sglang/srt/utils/request_logger.py`); other lines of the server may stand between. Levels 0 and 1 have no
texts.
Level 2 keeps of a text of more than 2,048 characters the first and the last 1,024, with `...` between: such a cut is
known by its length. What the server logs as text and not as JSON is another form, and not read.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from inspector.importers.compression import DamagedDataError
from inspector.importers.identity import instant, text_of
from inspector.importers.records import parse_json_bytes, read_lines
from inspector.importers.servers.served_completions import HELD_BYTES, OutputPiece, ServedCompletion, traces_served
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.json_members import object_of
from inspector.model import BodyState, Trace, Turn

_ROW = re.compile(rb'\{"timestamp": ?"[^"]{1,40}", ?"event": ?"request\.(?:received|finished)"')
_EVENTS = frozenset({"request.received", "request.finished"})
_GAP = "..."

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "max_new_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "repetition_penalty": "repetition_penalty",
    "n": "n",
    "stop": "stop",
}

_NOT_STORED = "the source keeps no chunks, no model and no tools but those in the prompt"
_ZONE = "times have no zone and are taken for UTC"
_CUT_ANSWER = "the log cut an answer in its middle"
_NO_TEXTS = "the row has no texts: SGLang logs them from `--log-requests-level 2` on"
_CUTS = frozenset(1 << power for power in range(6, 24))


class SglangLogImporter:
    """One trace a session, told from the prompts; a prompt that was cut is one by itself."""

    name = "sglang"
    signs = "rows of requests that SGLang received or finished"

    def recognises(self, sample: FileSample) -> float:
        """By a row of a request that was received or is finished."""
        return 0.9 if _ROW.search(sample.head) or any(map(_is_event, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The sessions of the log; it is read in portions of 64 MiB, and a session across two of them is two."""
        is_empty = True
        for found in traces_served(_completions(file), (_NOT_STORED, _ZONE)):
            is_empty = False
            yield found if isinstance(found, Skipped) else _flagged(found)
        if is_empty:
            yield Skipped("file", "the log has no row of a request")


def _is_event(row: JsonObject) -> bool:
    return text_of(row, "event") in _EVENTS and "rid" in row and isinstance(row.get("obj"), dict)


def _completions(file: SourceFile) -> Iterator[ServedCompletion | Skipped]:
    waiting: dict[str, ServedCompletion] = {}
    size = 0
    try:
        with file.open() as stream:
            for line in read_lines(stream):
                if isinstance(line, Skipped):
                    yield line
                    continue
                row = _row(line.raw, f"line {line.number}")
                if isinstance(row, Skipped):
                    yield row
                elif row and row.get("event") == "request.received":
                    one = _received(row, f"line {line.number}")
                    waiting[one.id] = one
                    size += one.size
                elif row:
                    received = waiting.pop(text_of(row, "rid"), None)
                    size -= received.size if received else 0
                    yield _finished(row, received, f"line {line.number}")
                if size > HELD_BYTES:
                    yield from waiting.values()
                    waiting, size = {}, 0
    except DamagedDataError as error:
        yield Skipped("end of file", str(error))
    for one in waiting.values():
        yield one if one.prompt is not None else Skipped(one.record, _NO_TEXTS)


def _row(raw: bytes, record: str) -> JsonObject | Skipped | None:
    """The row of a request in a line, wherever in it it begins; None for any other line."""
    begins = _ROW.search(raw)
    if begins is None and (not raw.lstrip().startswith(b"{") or b'"request.' not in raw):
        return None
    try:
        value = parse_json_bytes(raw[begins.start() if begins else 0 :])
    except ValueError as error:
        return Skipped(record, str(error))
    return value if isinstance(value, dict) and _is_event(value) else None


def _received(row: JsonObject, record: str) -> ServedCompletion:
    asked = object_of(row.get("obj"))
    given = object_of(asked.get("sampling_params"))
    text = asked.get("text")
    prompt = text if isinstance(text, str) and text else None
    at = instant(row.get("timestamp"))
    return ServedCompletion(
        text_of(row, "rid") or record,
        record,
        prompt,
        {name: given[key] for key, name in _SETTINGS.items() if given.get(key) is not None},
        received_s=at.at_s if at else None,
        is_cut=prompt is not None and _is_cut(prompt),
    )


def _finished(row: JsonObject, received: ServedCompletion | None, record: str) -> ServedCompletion | Skipped:
    """A request that is over; its row repeats what it asked, by now as text too."""
    again = _received(row, received.record if received else record)
    out = object_of(row.get("out"))
    told = object_of(out.get("meta_info"))
    text = out.get("text")
    if again.prompt is None and received is not None:
        again = replace(again, prompt=received.prompt, is_cut=received.is_cut)
    if again.prompt is None and not isinstance(text, str):
        return Skipped(again.record, _NO_TEXTS)
    ended, took = again.received_s, told.get("e2e_latency")
    began = received.received_s if received else None
    if began is None and ended is not None and isinstance(took, int | float):
        began = ended - took
    reason = told.get("finish_reason")
    counts = {"prompt_tokens": told.get("prompt_tokens"), "completion_tokens": told.get("completion_tokens")}
    cached = told.get("cached_tokens")
    return replace(
        again,
        settings=again.settings or (received.settings if received else {}),
        received_s=began,
        ended_s=ended,
        pieces=[OutputPiece(text)] if isinstance(text, str) else None,
        finish=text_of(reason, "type") if isinstance(reason, dict) else reason if isinstance(reason, str) else "",
        usage={
            **{key: count for key, count in counts.items() if isinstance(count, int)},
            **({"prompt_tokens_details": {"cached_tokens": cached}} if isinstance(cached, int) else {}),
        },
        is_over=True,
    )


def _flagged(trace: Trace) -> Trace:
    turns = tuple(map(_with_cut, trace.turns))
    if turns == trace.turns:
        return trace
    known = trace.provenance
    return replace(trace, turns=turns, provenance=replace(known, warnings=(*known.warnings, _CUT_ANSWER)))


def _with_cut(turn: Turn) -> Turn:
    """An answer that the log cut is one whose body is not whole."""
    text = turn.part("text")
    if turn.generation is None or text is None or not _is_cut(text.text):
        return turn
    return replace(turn, generation=replace(turn.generation, body=BodyState.TRUNCATED))


def _is_cut(text: str) -> bool:
    """Whether a text has the length that cuts leave, and the gap in its middle."""
    kept = len(text) - len(_GAP)
    return kept in _CUTS and text.startswith(_GAP, kept // 2)
