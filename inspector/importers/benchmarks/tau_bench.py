"""Results of tau-bench: one row per trial of a task, with its reward and its messages.

A row is `{"task_id": 0, "reward": 1.0, "info": {...}, "traj": [messages], "trial": 0}` (tau-bench, `EnvRunResult` in
`tau_bench/types.py`); a file is one array of them, and docent stores each as a document. If calls were parsed from the
text (docent), the text is the model's output, and the calls are the result of parsing it.

Agents of the kinds `act` and `react` (`agents/chat_react_agent.py`) write JSON after `Action:`: a call or, with the
name `respond`, the text for the user. Results are user messages that begin with `API output: `. This importer converts
them to calls, text and tool turns. tau-bench took JSON that does not parse as text, and so does this importer.
"""

from functools import partial
from pathlib import Path

from msgspec import structs

from weaklink.inspector import model
from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.importers.identity import reward_of, row_ids, text_of
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.json_scanner import read_json
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.wire.provider_json import parse_json

_RESULT = lazy_pattern(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-\d+(?:\.\d+)?_range_-?\d+--?\d+_user-.*\.json"
)
_ACTION = "Action:"
_RESPOND = "respond"
_API_OUTPUT = "API output: "
_NOT_STORED = "the source does not store tools, times or usage, and stores only the first of several calls in an answer"
_ACTIONS = "JSON actions in the text are shown as calls and text, as tau-bench parsed them"
_FROM_NAME = "the model was taken from the file's name"


def _model_of(path: Path) -> str:
    """The model's name in a file name in tau-bench's format, `""` for any other."""
    named = _RESULT.fullmatch(path.name)
    return named["model"] if named else ""


def _trace(row: Row, model_name: str) -> model.Trace | Skipped:
    value = row.value
    listed = value.get("traj")
    info = value.get("info")
    failed = text_of(info, "error") if isinstance(info, dict) else ""
    if not isinstance(listed, list) or not listed:
        why = f"; the trial failed: `{failed[:500]}`" if failed else ""
        return Skipped(row.record, f"the row has no list `traj` with messages in it{why}")
    trial = value.get("trial")
    turns = tuple(_turn(message, model_name) for message in listed)
    other_warnings = {
        _FROM_NAME: bool(model_name),
        _ACTIONS: any(turn.source_role == "user" and turn.role is model.Role.TOOL for turn in turns),
    }
    return model.Trace(
        turns=turns,
        name=f"task {value.get('task_id')}, trial {trial}"
        if isinstance(trial, int)
        else f"task {value.get('task_id')}",
        model=model_name,
        external_ids=row_ids(row, [model.ExternalId("trial", str(trial))] if isinstance(trial, int) else ()),
        outcome=_trial_outcome(value.get("reward"), failed),
        provenance=model.Provenance(
            record=row.record,
            warnings=(_NOT_STORED, *(warning for warning, applies in other_warnings.items() if applies)),
        ),
    )


def _trial_outcome(reward: model.Json, failed: str) -> model.Outcome | None:
    earned = reward_of(reward)
    return None if earned is None and not failed else model.Outcome(exit_status=failed or None, reward=earned)


def _turn(message: model.Json, model_name: str) -> model.Turn:
    turn = read_message(message)
    text_part = turn.part("text")
    if turn.role is model.Role.ASSISTANT:
        answer = turn if turn.calls or text_part is None else _with_action(turn, text_part.text)
        return structs.replace(answer, generation=model.Generation(api="chat.completions", requested_model=model_name))
    if turn.role is model.Role.USER and text_part is not None and text_part.text.startswith(_API_OUTPUT):
        result = model.Part("text", text_part.text.removeprefix(_API_OUTPUT))
        return structs.replace(turn, role=model.Role.TOOL, parts=(result,), result=model.ResultHeader())
    return turn


def _with_action(turn: model.Turn, answer_text: str) -> model.Turn:
    """An answer whose text ends in an action, as a call or as text; the thought before it is reasoning."""
    before, action, text = answer_text.rpartition(_ACTION)
    if not action:
        return turn
    reading = read_json(text)
    members = reading.nodes[0] if reading.strict and reading.nodes else None
    name, arguments = (members.member("name"), members.member("arguments")) if members else (None, None)
    if name is None or arguments is None:
        return turn
    called = parse_json(name.value.range.of(text))
    raw = arguments.value.range.of(text)
    thought = [model.Part("reasoning", before.strip())] if before.strip() else []
    if called == _RESPOND:
        response = parse_json(raw)
        content = response.get("content") if isinstance(response, dict) else None
        return structs.replace(turn, parts=(*thought, model.Part("text", content if isinstance(content, str) else raw)))
    named = called if isinstance(called, str) else None
    return structs.replace(
        turn, parts=(*thought, model.Part("call:0", raw)), calls=(model.CallHeader("call:0", named),)
    )


TAU_BENCH = LogSource(
    name="tau-bench",
    signs="rows with a `traj` beside a `task_id` and a `reward`",
    is_row=lambda row: {"task_id", "reward"} <= row.keys() and isinstance(row.get("traj"), list),
    confidence=0.9,
    reader=lambda file: trace_of_each_row(file, partial(_trace, model_name=_model_of(file.path))),
)
"""One trace per trial; one that failed before its messages were stored is skipped, with its error."""
