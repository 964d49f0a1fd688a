"""Results of the Berkeley Function Calling Leaderboard: one model's answers to a file of tasks.

A row is `{"id": "simple_0", "result": ...}`. `result` is the model's raw text, or a list of calls for models with an
API for them, nested by turn and step if there are several; `inference_log` contains the user's messages and the
results.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import call_object, message_object, read_message, read_tools
from weaklink.inspector.importers.generations import stored_generation
from weaklink.inspector.importers.identity import row_ids
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import FileSample, JsonObject, Skipped
from weaklink.inspector.json_text import object_of, objects_of, whole_number, write_json
from weaklink.inspector.scanning import lazy_pattern

_QUERY = "begin_of_turn_query"
_INPUT = "inference_input"
_ID = lazy_pattern(r"(?:[a-z]+:)?[A-Za-z][A-Za-z0-9_]*_\d+(?:-\w+)*(?:[:|].*)?")
_VERSION_4 = frozenset({"input_token_count", "output_token_count", "inference_log"})
_OTHERS = frozenset({"jsonrpc", "conversations", "messages", "error"})
_RESULT_FILE = lazy_pattern(r".*_result\.jsonl?")
_GROUP_FOLDERS = frozenset({"live", "non_live", "multi_turn", "agentic", "memory", "web_search", "format_sensitivity"})
_FAILED = "Error during inference:"
_ONLY_ANSWERS = "the source stores only the model's answers: no prompts, tools or results"
_ONLY_ASKED = "the source stores only the model's answers and its tools: no prompts or results"
_NO_TOOLS = "the source does not store the system prompt or the tools"
_NO_LATENCY = "latencies are left out: they have no start time"
_FROM_FOLDER = "the model was taken from the folder's name"


def _logged_turns(value: JsonObject) -> list[JsonObject]:
    """The log of each turn: the user's messages, and the entries of its steps; empty if there is no such log."""
    return [entry for entry in objects_of(value.get("inference_log")) if _QUERY in entry]


def _logged_tools(entries: list[JsonObject]) -> tuple[model.ToolDefinition, ...]:
    """The tools in the request among these entries; empty if they were not logged."""
    inputs = (object_of(entry.get("content")) for entry in entries if entry.get("role") == _INPUT)
    return next((read_tools(content["tools"]) for content in inputs if content.get("tools")), ())


def _is_result(row: JsonObject) -> bool:
    row_id = row.get("id")
    known = isinstance(row_id, int) or (isinstance(row_id, str) and bool(_ID.fullmatch(row_id)))
    return known and isinstance(row.get("result"), str | list) and not _OTHERS & row.keys()


def _model_of(path: Path) -> str:
    """The name of the model's folder; `""` for a file that is not in BFCL's folders."""
    if not _RESULT_FILE.fullmatch(path.name):
        return ""
    folders = [folder.name for folder in path.absolute().parents]
    return next((name for name in folders if name not in _GROUP_FOLDERS), "")


def _trace(row: Row, path: Path, model_name: str) -> model.Trace | Skipped:
    value = row.value
    result = value.get("result")
    if not isinstance(result, str | list):
        return Skipped(row.record, "the row has no `result` that is a string or a list")
    extra_ids = [
        model.ExternalId("file", path.stem),
        *([model.ExternalId("model", model_name)] if model_name else []),
    ]
    turns = tuple(_turns(value, result, model_name))
    return model.Trace(
        turns=turns,
        model=model_name,
        external_ids=row_ids(row, extra_ids),
        provenance=model.Provenance(
            source_version="4" if _VERSION_4 & value.keys() else "",
            record=row.record,
            warnings=tuple(_warnings(value, turns, model_name)),
        ),
    )


def _warnings(value: JsonObject, turns: tuple[model.Turn, ...], model_name: str) -> Iterator[str]:
    has_tools = any(turn.generation and turn.generation.tools for turn in turns)
    if not _logged_turns(value):
        yield _ONLY_ASKED if has_tools else _ONLY_ANSWERS
    elif not has_tools:
        yield _NO_TOOLS
    if value.get("latency"):
        yield _NO_LATENCY
    if model_name:
        yield _FROM_FOLDER


def _turns(value: JsonObject, result: model.Json, model_name: str) -> Iterator[model.Turn]:
    counts = (value.get("input_token_count"), value.get("output_token_count"), value.get("reasoning_content"))
    logged = _logged_turns(value)
    if not isinstance(result, list) or not any(isinstance(one, list) for one in result):
        entries = objects_of(logged[0].get("step_0") if logged else value.get("inference_log"))
        yield _answer(result, counts, model_name, _logged_tools(entries))
        return
    for turn, steps in enumerate(result):
        log = logged[turn] if turn < len(logged) else {}
        yield from map(read_message, objects_of(log.get(_QUERY)))
        for step, answer in enumerate(steps if isinstance(steps, list) else [steps]):
            entries = objects_of(log.get(f"step_{step}") if logged else value.get("inference_log"))
            yield _answer(answer, tuple(_at(count, turn, step) for count in counts), model_name, _logged_tools(entries))
            yield from (read for read in map(read_message, entries) if logged and read.role is model.Role.TOOL)


def _at(value: model.Json, turn: int, step: int) -> model.Json:
    for index in (turn, step):
        if not isinstance(value, list) or index >= len(value):
            return None
        value = value[index]
    return value


def _answer(
    result: model.Json, facts: tuple[model.Json, ...], model_name: str, tools: tuple[model.ToolDefinition, ...]
) -> model.Turn:
    input_tokens, output_tokens, reasoning = facts
    failed = isinstance(result, str) and result.startswith(_FAILED)
    calls = [call_object(name, _text(arguments)) for one in objects_of(result) for name, arguments in one.items()]
    content = None if calls else "" if failed or not result else _text(result)
    thoughts = reasoning if isinstance(reasoning, str) else None
    turn = read_message(message_object("assistant", content, reasoning_content=thoughts, calls=calls))
    generation = stored_generation(
        answered_model=model_name,
        tools=tools,
        usage=model.Usage(whole_number(input_tokens), whole_number(output_tokens)),
        error=model.GenerationError(model.ErrorPhase.TRANSPORT, str(result)) if failed else None,
    )
    body = model.BodyState.NOT_STORED if failed else model.BodyState.COMPLETE
    return model.Turn(turn.role, turn.parts, calls=turn.calls, generation=structs.replace(generation, body=body))


def _text(value: model.Json) -> str:
    """A text unchanged; any other value, such as a call `{name: arguments}` and its arguments, as JSON."""
    return value if isinstance(value, str) else write_json(value, ascii_only=False)


def _score(sample: FileSample) -> float:
    """By rows with `id` and `result`: with high confidence if they have BFCL's token counts, else with less."""
    rows = [row for row in sample.rows if _is_result(row)]
    return 0.9 if any(_VERSION_4 & row.keys() for row in rows) else 0.6 if rows else 0.0


BFCL = LogSource(
    name="bfcl",
    signs="rows with a test's `id` and its `result`",
    score=_score,
    reader=lambda file: trace_of_each_row(file, partial(_trace, path=file.path, model_name=_model_of(file.path))),
)
"""One trace per row, with one assistant turn per answer; a row without a result is skipped."""
