"""Results of the Berkeley Function Calling Leaderboard: one model's answers to a file of tasks.

A row is `{"id": "simple_0", "result": ...}`; ids were numbers at first. `result` is the model's raw text; or, for
models with an API for calls, a list of `{name: "arguments as JSON"}`; or, for tasks of several turns (version 4), a
list per turn of such answers, one a step. Version 4 adds token counts, latency and `reasoning_content`, shaped alike;
latencies stand without a time of day, and are left out. Its ids may name a scenario (`memory_kv_0-customer-0`), or go
on with the prompt's format and the task that it varies (`format_sensitivity_0:...:simple_python_3`).
An answer that failed reads `Error during inference: ...` (BFCL, `bfcl_eval/model_handler/base_handler.py`).

The source keeps the model's answers only: no prompts, no tools, no results; but for tasks of several turns version 4
can log the user's words and the results too (`inspector.importers.bfcl_log`). Its name for the model stands in the
folder's name (`Hermes-2-Pro-Llama-3-8B/simple_result.json`) and nowhere else; it is taken from there, with a warning.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from inspector.importers.bfcl_log import InferenceLog
from inspector.importers.identity import row_ids
from inspector.importers.rows import Row, read_rows
from inspector.importers.source import JsonObject, Sample, Skipped, SourceFile
from inspector.json_text import write_json
from inspector.model import (
    BodyState,
    CallHeader,
    ErrorPhase,
    ExternalId,
    Generation,
    GenerationError,
    Json,
    Part,
    Provenance,
    Role,
    ToolDefinition,
    ToolsOrigin,
    Trace,
    Turn,
    Usage,
)

_ID = re.compile(r"(?:[a-z]+:)?[A-Za-z][A-Za-z0-9_]*_\d+(?:-\w+)*(?:[:|].*)?")
_VERSION_4 = frozenset({"input_token_count", "output_token_count", "inference_log"})
_OTHERS = frozenset({"jsonrpc", "conversations", "messages", "error"})
_RESULT_FILE = re.compile(r".*_result\.jsonl?")
_GROUP_FOLDERS = frozenset({"live", "non_live", "multi_turn", "agentic", "memory", "web_search", "format_sensitivity"})
_FAILED = "Error during inference:"
_ONLY_ANSWERS = "the source keeps the model's answers only: no prompts, tools or results"
_ONLY_ASKED = "the source keeps the model's answers and its tools only: no prompts or results"
_NO_TOOLS = "the source keeps neither the system prompt nor the tools"
_NO_LATENCY = "latencies are left out: they stand without a time of day"
_FROM_FOLDER = "the model was taken from the folder's name"


class BfclImporter:
    """One trace a row: an assistant turn for every answer."""

    name = "bfcl"
    signs = "rows with a test's `id` and its `result`"

    def recognises(self, sample: Sample) -> float:
        """By rows with `id` and `result`: surely with BFCL's token counts, likely with ids in its way or numbers."""
        rows = [row for row in sample.rows if _is_result(row)]
        if not rows:
            return 0.0
        return 0.9 if any(_VERSION_4 & row.keys() for row in rows) else 0.6

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The answers of each row; a row without a result is skipped."""
        model = _model_of(file.path)
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else _trace(row, file, model)


def _is_result(row: JsonObject) -> bool:
    row_id = row.get("id")
    known = isinstance(row_id, int) or (isinstance(row_id, str) and bool(_ID.fullmatch(row_id)))
    return known and isinstance(row.get("result"), str | list) and not _OTHERS & row.keys()


def _model_of(path: Path) -> str:
    """The name of the model's folder; `""` for a file that does not lie in BFCL's folders."""
    if not _RESULT_FILE.fullmatch(path.name):
        return ""
    folders = [folder.name for folder in path.absolute().parents]
    return next((name for name in folders if name not in _GROUP_FOLDERS), "")


def _trace(row: Row, file: SourceFile, model: str) -> Trace | Skipped:
    value = row.value
    result = value.get("result")
    if not isinstance(result, str | list):
        return Skipped(row.record, "the row has no `result` that is a text or a list")
    log = InferenceLog(value.get("inference_log"))
    said = [ExternalId("file", file.path.stem), *([ExternalId("model", model)] if model else [])]
    turns = tuple(_turns(value, result, log, model))
    return Trace(
        turns=turns,
        model=model,
        external_ids=row_ids(row, said),
        provenance=Provenance(
            source_version="4" if _VERSION_4 & value.keys() else "",
            record=row.record,
            warnings=tuple(_warnings(value, log, turns, model)),
        ),
    )


def _warnings(value: JsonObject, log: InferenceLog, turns: tuple[Turn, ...], model: str) -> Iterator[str]:
    has_tools = any(turn.generation and turn.generation.tools for turn in turns)
    if not log:
        yield _ONLY_ASKED if has_tools else _ONLY_ANSWERS
    elif not has_tools:
        yield _NO_TOOLS
    if value.get("latency"):
        yield _NO_LATENCY
    if model:
        yield _FROM_FOLDER


def _turns(value: JsonObject, result: Json, log: InferenceLog, model: str) -> Iterator[Turn]:
    counts = (value.get("input_token_count"), value.get("output_token_count"), value.get("reasoning_content"))
    if not isinstance(result, list) or not any(isinstance(one, list) for one in result):
        yield _answer(result, counts, model, log.tools(0, 0))
        return
    for turn, steps in enumerate(result):
        yield from log.asked(turn)
        for step, answer in enumerate(steps if isinstance(steps, list) else [steps]):
            yield _answer(answer, tuple(_at(count, turn, step) for count in counts), model, log.tools(turn, step))
            yield from log.results(turn, step)


def _at(value: Json, turn: int, step: int) -> Json:
    for index in (turn, step):
        if not isinstance(value, list) or index >= len(value):
            return None
        value = value[index]
    return value


def _answer(result: Json, beside: tuple[Json, ...], model: str, tools: tuple[ToolDefinition, ...]) -> Turn:
    used, made, reasoning = beside
    failed = isinstance(result, str) and result.startswith(_FAILED)
    calls = tuple(_calls(result)) if isinstance(result, list) else ()
    words = "" if failed or not result else result if isinstance(result, str) else write_json(result, ascii_only=False)
    parts = [Part("reasoning", reasoning)] if isinstance(reasoning, str) and reasoning else []
    parts += [Part(header.part, arguments) for header, arguments in calls] or [Part("text", words)]
    return Turn(
        Role.ASSISTANT,
        tuple(parts),
        calls=tuple(header for header, _ in calls),
        generation=Generation(
            answered_model=model,
            tools=tools,
            tools_origin=ToolsOrigin.REQUEST if tools else None,
            usage=Usage(_count(used), _count(made)),
            error=GenerationError(ErrorPhase.TRANSPORT, str(result)) if failed else None,
            body=BodyState.NOT_STORED if failed else BodyState.COMPLETE,
        ),
    )


def _calls(result: list[Json]) -> Iterator[tuple[CallHeader, str]]:
    """`[{name: arguments}]`: BFCL's own shape of structured calls; arguments that are no text are written as JSON."""
    calls = [pair for one in result if isinstance(one, dict) for pair in one.items()]
    for at, (name, arguments) in enumerate(calls):
        text = arguments if isinstance(arguments, str) else write_json(arguments, ascii_only=False)
        yield CallHeader(f"call:{at}", name), text


def _count(value: Json) -> int | None:
    """A count of tokens; some handlers write `120.0`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
