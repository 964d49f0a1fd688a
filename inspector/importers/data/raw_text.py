"""Raw model output: rows of completions, and transcripts as plain text.

Rows: a completion, and possibly the prompt that it continued. A row is `{"prompt": ..., "completion": ...}`, `{"text":
...}` or similar; `deltas` are the pieces that arrived. `weaklink segment --jsonl` takes the same rows. A prompt in a
chat template is split into its turns, and the completion continues the last; the turns' joined texts are exactly prompt
and completion. Only the text after the prompt was generated. Any other prompt is one user turn.

Plain text: a file is one trace. A transcript in a chat template (ChatML, Llama 3, Gemma, harmony, DeepSeek,
functionary) is split into its turns; any other text is one assistant turn. The turns' joined texts are exactly the
file.
"""

from collections.abc import Iterator
from functools import partial
from itertools import accumulate

from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import read_tools
from weaklink.inspector.errors import UnknownFormatError
from weaklink.inspector.formats.detection import detect_format
from weaklink.inspector.formats.registry import find_format
from weaklink.inspector.formats.transcript import read_transcript, split_turns
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import instant, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.records import Row, whole_text
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from weaklink.inspector.memory import RECORD_MEMORY, too_much, transcript_memory
from weaklink.inspector.model import Chunks, Generation, Part, Provenance, RecognisedBy, Role, Trace, Turn

_COMPLETIONS = ("completion", "text", "output", "response", "generated_text")
_CERTAIN = frozenset({"prompt", "deltas", "completion"})
_HEADERS = (
    "<|im_start|>",
    "<|start_header_id|>",
    "<start_of_turn>",
    "<|start|>",
    "<|from|>",
    "<｜begin▁of▁sentence｜>",
)
_NEAR = 300


def _completion(value: JsonObject) -> tuple[str, ...] | None:
    """The pieces of the completion, one if it is whole; None if the row has none."""
    deltas = value.get("deltas")
    if isinstance(deltas, list) and all(isinstance(delta, str) for delta in deltas):
        return tuple(delta for delta in deltas if isinstance(delta, str))
    return next(((found,) for key in _COMPLETIONS if isinstance(found := value.get(key), str)), None)


def completion_trace(row: Row) -> Trace | Skipped:
    """The completion of a row with its prompt."""
    value = row.value
    pieces = _completion(value)
    if pieces is None:
        return Skipped(
            row.record, f"the row has no completion: none of {', '.join(f'`{key}`' for key in _COMPLETIONS)}"
        )
    prompt = text_of(value, "prompt")
    if (needed := transcript_memory(prompt) + sum(map(transcript_memory, pieces))) > RECORD_MEMORY:
        return Skipped(row.record, too_much(needed))
    model, tools = text_of(value, "model"), read_tools(value.get("tools"))
    generation = stored_generation(api="completions", answered_model=model, tools=tools)
    return Trace(
        turns=tuple(_turns(prompt, pieces, generation)),
        model=model,
        format=_format(text_of(value, "format")),
        started=instant(value.get("timestamp", value.get("created"))),
        external_ids=row_ids(row),
        provenance=Provenance(record=row.record),
    )


def _format(name: str) -> str:
    """The format that a row names, if it exists; else `""`, and the format is detected."""
    try:
        return find_format(name).name if name else ""
    except UnknownFormatError:
        return ""


def _turns(prompt: str, pieces: tuple[str, ...], generation: Generation) -> Iterator[Turn]:
    completion = "".join(pieces)
    turns = read_transcript(prompt + completion).turns
    if not any(turn.source_role for turn in turns):  # no chat template
        if prompt:
            yield Turn(Role.USER, (Part("text", prompt),))
        yield Turn(Role.ASSISTANT, (_part(completion, pieces, 0),), generation=generation)
        return
    at = 0
    for turn in turns[:-1]:
        at += len(turn.parts[0].text)
        yield replace(turn, generation=generation if turn.generation and at > len(prompt) else None)
    last = turns[-1]
    text = last.parts[0].text
    before = len(text) - len(completion)
    part = _part(text, pieces, before) if before >= 0 else Part("text", text)
    yield replace(last, parts=(part,), generation=generation if last.generation else None)


def _part(text: str, pieces: tuple[str, ...], before: int) -> Part:
    """A part whose last characters arrived as `pieces`; the characters before them belong to the first piece."""
    if len(pieces) < 2:
        return Part("text", text)
    ends = tuple(before + end for end in accumulate(map(len, pieces)))
    return Part("text", text, Chunks(ends, tuple(range(len(ends)))))


def _completions_score(sample: FileSample) -> float:
    """By rows with a completion: with more confidence if there is a prompt, as any table of texts has such rows.

    Without one the first row must have a completion.
    """
    rows = [row for row in sample.rows if _completion(row) is not None]
    if any(_CERTAIN & row.keys() for row in rows):
        return 0.4
    return 0.2 if rows and rows[0] is sample.rows[0] else 0.0  # an agent's events have an `output`, too


def _text_score(sample: FileSample) -> float:
    """By the header of a chat template at its beginning, or by a call near the beginning.

    A call far from the beginning proves nothing: documentation and programs quote calls too.
    """
    text = sample.text.lstrip("\ufeff \t\r\n")
    if "\0" in text or text.startswith(("{", "[{")):
        return 0.0
    if text.startswith(("<|begin_of_text|>", "<s>", "<bos>", *_HEADERS)) and split_turns(text[:4096]):
        return 0.5
    near = text if text.startswith("<") else text[:_NEAR]
    return 0.3 if detect_format(near).confidence >= 0.8 else 0.0


def _text_trace(file: SourceFile) -> Iterator[Trace | Skipped]:
    text = whole_text(file)
    if isinstance(text, Skipped):
        yield text
    else:
        yield replace(read_transcript(text), recognised_by=RecognisedBy.FILE, provenance=Provenance(record="file"))


COMPLETIONS = LogSource(
    name="completions",
    signs="rows with a completion, with or without its prompt",
    score=_completions_score,
    reader=partial(trace_of_each_row, trace=completion_trace),
)
"""One trace per row; a row without a completion is skipped."""

RAW_TEXT = LogSource(
    name="raw-text",
    signs="the markers of a chat template, or a call near the beginning of a text",
    score=_text_score,
    reader=_text_trace,
)
"""One trace per file; a file that would take too much memory is skipped."""
