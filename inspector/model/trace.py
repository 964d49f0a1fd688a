"""Traces: one recorded agent session each, and where it comes from."""

from dataclasses import dataclass
from enum import StrEnum

from inspector.model.columns import Entries
from inspector.model.generation import Instant
from inspector.model.turn import Turn


@dataclass(frozen=True, slots=True)
class ExternalId:
    """An id that the source gives to a session, under the source's own name for it (`x-session-id`, `task_id`)."""

    name: str
    value: str


class RecognisedBy(StrEnum):
    """How it was found out which requests belong to one session."""

    HEADER = "header"
    FIELD = "field"
    FILE = "file"
    RECORD = "record"
    PREFIX_CHAIN = "prefix_chain"


class ParentWhy(StrEnum):
    """What a trace is to its parent.

    A `sibling` was requested with the same messages while the other's request was open, as parallel agents and samples
    of one prompt are; its "parent" is the first of them.
    """

    SUBAGENT = "subagent"
    RESUME = "resume"
    FORK = "fork"
    TRIAL = "trial"
    SIBLING = "sibling"


@dataclass(frozen=True, slots=True)
class ParentTrace:
    """The session that this one came from, by its external id, and why."""

    external_id: ExternalId
    why: ParentWhy


class Liveness(StrEnum):
    """What a recorded trace does: `running` while an answer is on its way or an event is recent, else `idle`."""

    RUNNING = "running"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the source itself says the session ended; None where it does not say."""

    completed: bool | None = None
    exit_status: str | None = None
    reward: float | None = None


class TaskOutcome(StrEnum):
    """Whether the task was done, by the source's own account; `unknown` where it does not say."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of a trace: kind of source, file, its SHA-256 in hexadecimal, source format version and record.

    `record` locates the trace within the file (`line 12`, `entry 3`); `warnings` say what the source did not keep.
    """

    source: str = ""
    file: str = ""
    file_sha256: str = ""
    source_version: str = ""
    record: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded agent session: an ordered list of turns.

    `format` names the wire dialect of tool calling where the source or the user says it, else is empty and detected.
    `project` is the folder that the agent worked in and `branch` its git branch, `""` where the source does not say.
    """

    turns: Entries[Turn]
    name: str = ""
    model: str = ""
    format: str = ""
    started: Instant | None = None
    external_ids: tuple[ExternalId, ...] = ()
    recognised_by: RecognisedBy = RecognisedBy.RECORD
    parent: ParentTrace | None = None
    outcome: Outcome | None = None
    provenance: Provenance = Provenance()
    project: str = ""
    branch: str = ""
