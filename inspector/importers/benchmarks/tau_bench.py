"""tau-bench's results: a row a trial of a task, with its reward and its messages.

A row is `{"task_id": 0, "reward": 1.0, "info": {...}, "traj": [messages], "trial": 0}` (tau-bench, `EnvRunResult` in
`tau_bench/types.py`); a file is one array of them, and docent keeps each as a document. Where calls were parsed out of
the text (docent), the text is what the model emitted and the calls beside it what was parsed.

Agents of the kinds `act` and `react` (`agents/chat_react_agent.py`) write JSON behind `Action:`, a call or, under the
name `respond`, the words to the user; results are words of the user that begin `API output: `. Here they are calls,
words and tools' turns. JSON that does not parse tau-bench itself took for words, and so it stays.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from inspector.apis.openai.messages import read_message
from inspector.importers.identity import row_ids, text_of
from inspector.importers.records import Row, read_rows
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.json_scanner import read_json
from inspector.model import (
    CallHeader,
    ExternalId,
    Generation,
    Json,
    Outcome,
    Part,
    Provenance,
    ResultHeader,
    Role,
    Trace,
    Turn,
)
from inspector.scanning import lazy_pattern
from inspector.wire.provider_json import parse_json

_RESULT = lazy_pattern(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-\d+(?:\.\d+)?_range_-?\d+--?\d+_user-.*\.json"
)

_ACTION = "Action:"
_RESPOND = "respond"
_API_OUTPUT = "API output: "
_NOT_STORED = "the source keeps no tools, no times and no usage, and of several calls in an answer the first only"
_ACTIONS = "actions written as JSON in the text are calls and words here, as tau-bench read them"
_FROM_NAME = "the model was taken from the file's name"


class TauBenchImporter:
    """One trace a trial."""

    name = "tau-bench"
    signs = "rows with a `traj` beside a `task_id` and a `reward`"

    def recognises(self, sample: FileSample) -> float:
        """By rows that have a task, its reward and a list `traj`."""
        return 0.9 if any(map(_is_trial, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The trial of each row; one that failed before its messages were kept is skipped, with its error."""
        model = _model_of(file.path)
        for row in read_rows(file):
            yield row if isinstance(row, Skipped) else _trace(row, model)


def _is_trial(row: JsonObject) -> bool:
    return {"task_id", "reward"} <= row.keys() and isinstance(row.get("traj"), list)


def _model_of(path: Path) -> str:
    """The model's name in a file's name of tau-bench's making, `""` for any other."""
    named = _RESULT.fullmatch(path.name)
    return named["model"] if named else ""


def _trace(row: Row, model: str) -> Trace | Skipped:
    value = row.value
    listed = value.get("traj")
    info = value.get("info")
    failed = text_of(info, "error") if isinstance(info, dict) else ""
    if not isinstance(listed, list) or not listed:
        why = f"; the trial failed: `{failed[:500]}`" if failed else ""
        return Skipped(row.record, f"the row has no list `traj` with messages in it{why}")
    trial = value.get("trial")
    turns = tuple(_turn(message, model) for message in listed)
    more = {
        _FROM_NAME: bool(model),
        _ACTIONS: any(turn.source_role == "user" and turn.role is Role.TOOL for turn in turns),
    }
    return Trace(
        turns=turns,
        name=f"task {value.get('task_id')}, trial {trial}"
        if isinstance(trial, int)
        else f"task {value.get('task_id')}",
        model=model,
        external_ids=row_ids(row, [ExternalId("trial", str(trial))] if isinstance(trial, int) else ()),
        outcome=_outcome(value.get("reward"), failed),
        provenance=Provenance(
            record=row.record, warnings=(_NOT_STORED, *(told for told, holds in more.items() if holds))
        ),
    )


def _outcome(reward: Json, failed: str) -> Outcome | None:
    earned = float(reward) if isinstance(reward, int | float) and not isinstance(reward, bool) else None
    return None if earned is None and not failed else Outcome(exit_status=failed or None, reward=earned)


def _turn(message: Json, model: str) -> Turn:
    turn = read_message(message)
    said = turn.part("text")
    if turn.role is Role.ASSISTANT:
        acted = turn if turn.calls or said is None else _with_action(turn, said.text)
        return replace(acted, generation=Generation(api="chat.completions", requested_model=model))
    if turn.role is Role.USER and said is not None and said.text.startswith(_API_OUTPUT):
        result = Part("text", said.text.removeprefix(_API_OUTPUT))
        return replace(turn, role=Role.TOOL, parts=(result,), result=ResultHeader())
    return turn


def _with_action(turn: Turn, said: str) -> Turn:
    """An answer whose text ends in an action, as what that is; the thought before it is reasoning."""
    before, action, text = said.rpartition(_ACTION)
    if not action:
        return turn
    reading = read_json(text)
    members = reading.nodes[0] if reading.strict and reading.nodes else None
    name, arguments = (members.member("name"), members.member("arguments")) if members else (None, None)
    if name is None or arguments is None:
        return turn
    called = parse_json(name.value.range.of(text))
    raw = arguments.value.range.of(text)
    thought = [Part("reasoning", before.strip())] if before.strip() else []
    if called == _RESPOND:
        given = parse_json(raw)
        words = given.get("content") if isinstance(given, dict) else None
        return replace(turn, parts=(*thought, Part("text", words if isinstance(words, str) else raw)))
    named = called if isinstance(called, str) else None
    return replace(turn, parts=(*thought, Part("call:0", raw)), calls=(CallHeader("call:0", named),))
