"""Who&When: failures of agents that worked together, with the step that people hold responsible.

Each object has the `history` of a run. In the runs of generated teams the agent is the `name` of a message, and
`Computer_terminal` ran code; in those of Magentic-One it is the `role` (`Orchestrator (thought)`, `human`). Source: the
data set's files (ag2ai/Agents_Failure_Attribution at f4d2b6da); steps count from 0.
"""

from functools import partial

from weaklink.inspector.importers.identity import text_of
from weaklink.inspector.importers.log_source import LogSource, trace_of_each_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject, Skipped
from weaklink.inspector.json_text import flag_of, object_of, objects_of
from weaklink.inspector.model import ExternalId, Generation, Outcome, Part, Provenance, Role, Trace, Turn, TurnFlag

_NOTES = (
    "the source stores neither times, the models, the tools nor chunks; code and its output are text",
    "each agent read only its own system prompt, and other words of the run as far as it took part",
)
_PROGRAMS = frozenset({"Computer_terminal", "ComputerTerminal", "Executor"})
_INJECTED = frozenset({TurnFlag.INJECTED})


def _trace(row: Row) -> Trace | Skipped:
    history = objects_of(row.value.get("history"))
    if not history:
        return Skipped(row.record, "the object has no list `history` of messages")
    prompts = [
        Turn(Role.SYSTEM, (Part("text", text),), agent)
        for agent, text in object_of(row.value.get("system_prompt")).items()
        if isinstance(text, str)
    ]
    return Trace(
        (*prompts, *map(_turn, history)),
        name=text_of(row.value, "question"),
        external_ids=(
            ExternalId("question_ID", text_of(row.value, "question_ID", "question_id")),
            ExternalId("sha256", row.digest),
        ),
        outcome=Outcome(
            flag_of(row.value.get("is_correct", row.value.get("is_corrected"))), _verdict(row.value, len(prompts))
        ),
        provenance=Provenance(record=row.record, warnings=_NOTES),
    )


def _turn(message: JsonObject) -> Turn:
    agent = text_of(message, "name", "role")
    part = Part("text", text_of(message, "content"))
    if agent in _PROGRAMS:
        return Turn(Role.USER, (part,), agent, flags=_INJECTED)
    if agent in ("human", "user"):
        return Turn(Role.USER, (part,), agent)
    return Turn(Role.ASSISTANT, (part,), agent, generation=Generation())


def _verdict(value: JsonObject, prompts: int) -> str | None:
    """What people found, with the turn in which the step is; None if the object does not state it."""
    agent, step = text_of(value, "mistake_agent"), str(value.get("mistake_step", ""))
    if not agent or not (step.isascii() and step.isdigit()):
        return None
    turn = int(step[:9]) + prompts + 1
    return f"mistake by {agent} in turn {turn}: {text_of(value, 'mistake_reason')}".rstrip(": ")


WHO_AND_WHEN = LogSource(
    name="who-and-when",
    signs="a `history` with a `mistake_agent` and a `mistake_step`",
    is_row=lambda row: {"history", "mistake_agent", "mistake_step"} <= row.keys(),
    reader=partial(trace_of_each_row, trace=_trace),
)
"""One trace per failure: the run of each object."""
