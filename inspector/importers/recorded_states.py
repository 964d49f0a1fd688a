"""What sources record about a tool's run beside its text: which field states an exit code or a state, as a table.

`read_state` reads a record of a source by this table. Recorded facts decide before words (docs/verdicts.md, which
lists the table). "Seen in" is the version of the oldest file with the field that we have read, "unknown" where it names
none; earlier versions may have it too.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from weaklink.inspector.json_text import member_at
from weaklink.inspector.model import Json, RecordedState, RunState

_MAX_EXIT_CODE = 1 << 32
_FAILED_IF_FALSE = MappingProxyType({"false": RunState.FAILED})


class StateField(Struct, frozen=True):
    """One field: its path in a record of the source, its meaning, and the version whose files have it.

    `states` are the values that mean a state, written as JSON without quotes (`*` is any text that is not empty);
    None for an exit code.
    """

    source: str
    path: str
    meaning: str
    seen_in: str
    states: Mapping[str, RunState] | None = None


def _states(**states: RunState) -> Mapping[str, RunState]:
    return MappingProxyType({value.replace("_", "-"): state for value, state in states.items()})


STATE_FIELDS = (
    StateField("codex", "exit_code", "the exit code of `exec_command_end`", "0.125"),
    StateField(
        *("codex", "status", "the status of `exec_command_end`, `mcp_tool_call_end` and `patch_apply_end`", "0.125"),
        _states(failed=RunState.FAILED, declined=RunState.REJECTED, completed=RunState.COMPLETED),
    ),
    StateField("codex", "success", "whether `patch_apply_end` applied the patch", "0.125", _FAILED_IF_FALSE),
    StateField("codex-output", "exit_code", "the exit code of a `command_execution`", "0.99"),
    StateField(
        *("codex-output", "status", "the status of an item", "0.99"),
        _states(
            failed=RunState.FAILED,
            declined=RunState.REJECTED,
            completed=RunState.COMPLETED,
            in_progress=RunState.RUNNING,
        ),
    ),
    StateField(
        *("claude-code", "interrupted", "the user or a timeout stopped the command (`toolUseResult`)", "unknown"),
        MappingProxyType({"true": RunState.INTERRUPTED}),
    ),
    StateField(
        *("claude-code", "backgroundTaskId", "the command continues in the background (`toolUseResult`)", "unknown"),
        MappingProxyType({"*": RunState.RUNNING}),
    ),
    StateField(
        *("claude-code", "returnCodeInterpretation", "why an exit code is no error (`toolUseResult`)", "unknown"),
        MappingProxyType({"*": RunState.COMPLETED}),
    ),
    StateField("openhands", "extras.metadata.exit_code", "the exit code of `run`; -1 while it runs", "unknown"),
    StateField("openhands", "extras.exit_code", "the exit code of `run` in older files", "unknown"),
    StateField(
        *("openhands", "observation", "the kind of an observation", "unknown"),
        _states(user_rejected=RunState.REJECTED, user_reject=RunState.REJECTED, error=RunState.FAILED),
    ),
    StateField("openhands", "success", "whether the action did what it was to do", "unknown", _FAILED_IF_FALSE),
    StateField("openhands-sdk", "observation.exit_code", "the exit code of a command; -1 while it runs", "1.21"),
    StateField(
        *("openhands-sdk", "kind", "the kind of an event", "1.21"),
        _states(UserRejectObservation=RunState.REJECTED, AgentErrorEvent=RunState.FAILED),
    ),
    StateField("pi", "details.exitCode", "the exit code of a command (OpenClaw's transcripts)", "2026.9"),
    StateField(
        *("gemini-cli", "status", "the status of a call", "0.61"),
        _states(cancelled=RunState.REJECTED),
    ),
    StateField("qwen-code", "toolCallResult.resultDisplay.exitCode", "the exit code of a command", "0.24"),
    StateField(
        *("qwen-code", "toolCallResult.executionStatus", "whether the tool ran", "0.24"),
        MappingProxyType({"cancelled": RunState.INTERRUPTED}),
    ),
    StateField("copilot-cli", "shellExecution.exitCode", "the exit code of a command", "1.0"),
    StateField("cline", "success", "whether a command did what it was to do", "3.0", _FAILED_IF_FALSE),
    StateField("opencode", "metadata.exit", "the exit code of a command", "1.18"),
    StateField(
        *("continue", "status", "the status of a call", "1.5"),
        _states(canceled=RunState.REJECTED),
    ),
    StateField("goose", "structuredContent.exit_code", "the exit code of a command (`toolResult.value`)", "unknown"),
    StateField("cursor", "exitCodeV2", "the exit code of a command", "unknown"),
    StateField(
        *("cursor", "rejected", "whether the user refused the command", "unknown"),
        MappingProxyType({"true": RunState.REJECTED}),
    ),
    StateField("mini-swe-agent", "extra.returncode", "the exit code of a command", "2.0"),
    StateField(
        *("inspect", "error.type", "the type of a tool's error", "unknown"),
        _states(timeout=RunState.TIMED_OUT, approval=RunState.REJECTED, permission=RunState.FAILED),
    ),
)
"""The table, in the order in which fields of one source are read."""


_FIELDS = {
    source: tuple(field for field in STATE_FIELDS if field.source == source)
    for source in {field.source for field in STATE_FIELDS}
}


def read_state(source: str, record: Json) -> RecordedState | None:
    """What a record of `source` states about a run; None if it states nothing."""
    exit_code: int | None = None
    state: RunState | None = None
    fields: list[str] = []
    for field in _FIELDS.get(source, ()):
        value = member_at(record, field.path)
        if value is None:
            continue
        if field.states is None:
            if exit_code is None and type(value) is int and -1 < value < _MAX_EXIT_CODE:
                exit_code = value
                fields.append(field.path)
        elif state is None and (named := _state(value, field.states)) is not None:
            state = named
            fields.append(field.path)
    return RecordedState(exit_code, state, ", ".join(fields)) if fields else None


def _state(value: Json, states: Mapping[str, RunState]) -> RunState | None:
    if isinstance(value, bool):
        return states.get("true" if value else "false")
    if not isinstance(value, str) or not value:
        return None
    return states.get(value.replace("_", "-")) or states.get(value) or states.get("*")
