"""A session of a coding agent, as a map of its log fills it in: the part that all such sources share.

A source is a reader and a map. The reader gives records (`rows_of`: JSON lines, an array or documents; `SessionLogs`:
lines of one session after another; `open_tables`: the tables of an SQLite database). The map says which member of a
record is which of ours, by descriptions of paths (`record_maps`) and the methods of `AgentSession`, in the log's order:

    {"type": "toolResult", "toolCallId": "a1", "isError": true, ...}    a record of Pi
    session.result("a1", content, is_error=True, recorded=...)          what the map makes of it
    Turn(Role.TOOL, (Part("text", ...),), result=ResultHeader("a1"))    what the trace holds

Calls and results are written as OpenAI's messages are, so one reader (`read_message`) makes the turns of all sources.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import TypeAlias

from msgspec import Struct, structs

from weaklink.inspector.apis.openai.messages import call_objects, message_object, read_message
from weaklink.inspector.importers.generations import answered_with, stored_generation
from weaklink.inspector.importers.identity import instant, place_of, text_of
from weaklink.inspector.importers.recorded_states import read_state
from weaklink.inspector.importers.records import Row, read_rows
from weaklink.inspector.importers.source import JsonObject, Skipped, SourceFile
from weaklink.inspector.importers.sqlite_tables import DAMAGE, LogTables, open_tables, unread_rest
from weaklink.inspector.importers.telemetry.framework_messages import read_any_messages
from weaklink.inspector.json_text import object_of, objects_of
from weaklink.inspector.memory import RECORD_MEMORY, TOO_MANY_ROWS, estimated_memory
from weaklink.inspector.model import (
    ErrorPhase,
    ExternalId,
    GenerationError,
    Instant,
    Json,
    Outcome,
    ParentTrace,
    ParentWhy,
    Provenance,
    RecognisedBy,
    Role,
    ToolDefinition,
    Trace,
    Turn,
    TurnFlag,
    Usage,
)
from weaklink.inspector.titles import first_words

SessionIds: TypeAlias = tuple[tuple[str, str], ...]
"""The ids of a session, each with its name; one without a value is left out."""

_INJECTED = frozenset({TurnFlag.INJECTED})
_ABORTED = frozenset({"aborted", "canceled", "cancelled", "MessageAbortedError"})


def rows_of(file: SourceFile, is_part: Callable[[JsonObject], bool] = lambda _: True) -> Iterator[Row | Skipped]:
    """The rows of a file, in memory at once within a bound; see `within_memory`."""
    return within_memory(read_rows(file), is_part)


def within_memory(
    rows: Iterable[Row | Skipped], is_part: Callable[[JsonObject], bool] = lambda _: True
) -> Iterator[Row | Skipped]:
    """The rows, until those that together are one log take `RECORD_MEMORY`; `is_part` is true for those.

    Any other row is a session by itself.
    """
    left = RECORD_MEMORY
    for row in rows:
        if isinstance(row, Row) and is_part(row.value):
            left -= estimated_memory(row.raw)
            if left < 0:
                yield Skipped(row.record, TOO_MANY_ROWS)
                return
        yield row


def session_of_each_row(
    file: SourceFile, session: Callable[[JsonObject, str], "AgentSession"]
) -> Iterator[Trace | Skipped]:
    """The session that each row of a file is; `session` makes it of the row's value and its position."""
    for row in read_rows(file):
        yield row if isinstance(row, Skipped) else session(row.value, row.record).trace()


def ids_of(named: str, file: SourceFile, log: int = 0) -> SessionIds:
    """The id that a log gives its session; without one its file, and the number of the log in a file of several."""
    place = place_of(file.path)
    return (("session_id", named),) if named else ((place.name, place.value), ("log", str(log or "")))


def failure(message: str, *, code: str = "", status: Json = None) -> GenerationError:
    """What ended an answer, by the source's words; a code that says so means that the user stopped it."""
    known = status if isinstance(status, int) and not isinstance(status, bool) else None
    phase = ErrorPhase.HTTP if known else ErrorPhase.IN_STREAM
    return GenerationError(ErrorPhase.CLIENT_ABORT if code in _ABORTED else phase, message, known, code or None)


class _CallResult(Struct, frozen=True):
    call_id: str
    content: Json
    name: str
    is_error: bool | None


class AnswerPieces(Struct):
    """An answer of which a log holds pieces: words, thoughts, calls (`name`, `arguments`, `id`) and their results."""

    words: str = ""
    thoughts: str = ""
    calls: list[JsonObject] = []
    results: list[_CallResult] = []
    usage: Usage | None = None
    started: Json = None
    ended: Json = None
    error: GenerationError | None = None

    def add_result(self, call_id: str, content: Json, *, name: str = "", is_error: bool | None = None) -> None:
        """Add the result of a call, as for `AgentSession.result`."""
        self.results.append(_CallResult(call_id, content, name, is_error))


class AgentSession:
    """One session while its log is read. `source` is the importer's name, `ids` what the log calls the session.

    The other members are set by the map as it meets them; `notes` are what the source did not keep.
    """

    def __init__(self, source: str, ids: Iterable[tuple[str, str]], record: str, notes: Iterable[str] = ()) -> None:
        self.source = source
        self.ids = tuple(ExternalId(name, value) for name, value in ids if value)
        self.record = record
        self.notes = dict.fromkeys(notes)
        self.turns: list[Turn] = []
        self.tools: tuple[ToolDefinition, ...] = ()
        self.title = self.model = self.version = self.folder = self.branch = ""
        self.started: Instant | None = None
        self.parent: ParentTrace | None = None
        self.outcome: Outcome | None = None
        self.recognised_by = RecognisedBy.FIELD

    def began(self, at: Json) -> None:
        """Take a time of the log; the first one is that of the session."""
        self.started = self.started or instant(at)

    def child_of(self, parent: str) -> None:
        """Take the id of the session for which this one worked as a sub-agent; nothing if it is empty."""
        if parent:
            self.parent = ParentTrace(ExternalId("session_id", parent), ParentWhy.SUBAGENT)

    def say(self, role: str, content: Json, *, is_injected: bool = False) -> None:
        """Add a message of the system or the user; `is_injected` if the agent wrote it, not the user."""
        if content in ("", None, []):
            return
        turn = read_message(message_object(role, content))
        flags = _INJECTED if is_injected else frozenset()
        self.turns.append(Turn(turn.role, turn.parts, turn.source_role, flags=flags))

    def summary(self, content: Json, *, kept: int = 0) -> None:
        """Add the agent's summary of all turns so far but the last `kept`, which the model still reads."""
        replaced = max(len(self.turns) - kept, 0)
        before = len(self.turns)
        self.say("user", content, is_injected=True)
        self.summarised(before, replaced)

    def summarised(self, number: int, replaced: int) -> None:
        """The turns added since there were `number` begin with a summary of the first `replaced` turns."""
        if number < len(self.turns):
            self.turns[number] = structs.replace(self.turns[number], summarises=replaced)

    def answer(
        self,
        content: Json,
        *,
        calls: Sequence[Json] = (),
        reasoning: str = "",
        model: str = "",
        usage: Usage | None = None,
        started: Json = None,
        ended: Json = None,
        finish: str = "",
        error: GenerationError | None = None,
        response_id: str = "",
    ) -> None:
        """Add an answer of the model; `calls` are `call_object`s, with the arguments as text or as an object."""
        message = message_object("assistant", content or None, reasoning_content=reasoning or None, calls=calls)
        turn = read_message(message)
        self.model = self.model or model
        generation = stored_generation(
            requested_model=model,
            tools=self.tools,
            started=started,
            ended=ended,
            usage=usage,
            finish=finish,
            error=error,
            response_id=response_id,
        )
        self.turns.append(Turn(turn.role, turn.parts, turn.source_role, turn.calls, generation=generation))

    def answer_of_pieces(self, pieces: AnswerPieces, model: str = "", *, may_be_empty: bool = False) -> None:
        """Add an answer, if any piece of it arrived or it `may_be_empty`, and the results of its calls."""
        if pieces.words or pieces.thoughts or pieces.calls or may_be_empty:
            self.answer(
                pieces.words,
                reasoning=pieces.thoughts,
                calls=call_objects(pieces.calls),
                model=model,
                usage=pieces.usage,
                started=pieces.started,
                ended=pieces.ended,
                error=pieces.error,
            )
        for result in pieces.results:
            self.result(result.call_id, result.content, name=result.name, is_error=result.is_error)

    def framework_messages(self, messages: Json) -> None:
        """Add messages in the shape of a framework or an API (`read_any_messages`); an assistant's is an answer."""
        generation = stored_generation(requested_model=self.model, tools=self.tools)
        self.turns += answered_with(read_any_messages(messages).turns, generation)

    def result(
        self,
        call_id: str,
        content: Json,
        *,
        name: str = "",
        is_error: bool | None = None,
        recorded: JsonObject | None = None,
    ) -> None:
        """Add a call's result; `recorded` is the record whose fields state how the run ended (`STATE_FIELDS`)."""
        message = message_object(
            "tool", content or "", tool_call_id=call_id or None, name=name or None, is_error=is_error
        )
        turn = read_message(message)
        header = turn.result
        if header is not None and recorded is not None:
            header = structs.replace(header, recorded=read_state(self.source, recorded))
        self.turns.append(Turn(turn.role, turn.parts, "tool", result=header))

    def copied(self) -> None:
        """What there is so far is another session's, which this one continues."""
        self.title = self.title or first_words(self.turns)
        self.turns = [*map(copied, self.turns)]

    def so_far(self) -> "AgentSession":
        """A copy, which may be ended while more of the session is read."""
        session = copy(self)
        session.turns, session.notes = [*self.turns], {**self.notes}
        return session

    def trace(self, file: str = "") -> Trace | Skipped:
        """The session as a trace; a Skipped if the log has no message of it. `file` is where the rest of a log is."""
        if not any(turn.role is not Role.SYSTEM for turn in self.turns):
            return Skipped(self.record, "the session has no messages", is_irrelevant=True, file=file)
        return Trace(
            turns=tuple(self.turns),
            name=self.title or first_words(self.turns),
            model=self.model,
            started=self.started,
            external_ids=self.ids,
            recognised_by=self.recognised_by,
            parent=self.parent,
            outcome=self.outcome,
            provenance=Provenance(source_version=self.version, record=self.record, warnings=tuple(self.notes)),
            project=self.folder.replace("\\", "/").rstrip("/").rpartition("/")[2],
            branch=self.branch,
        )


def copied(turn: Turn) -> Turn:
    """A turn of another session, which this one repeats."""
    return structs.replace(turn, flags=turn.flags | {TurnFlag.COPIED_CONTEXT})


def blocks_of(content: Json) -> list[JsonObject]:
    """The blocks of a message's content; a plain text is one of them."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects_of(content)


def branch_of(nodes: JsonObject, leaf: str, parent: str) -> list[JsonObject]:
    """The nodes from the root of a tree to a leaf; `parent` is the member that names the node above."""
    path: dict[str, JsonObject] = {}
    while leaf in nodes and leaf not in path:
        path[leaf] = object_of(nodes[leaf])
        leaf = text_of(path[leaf], parent)
    return list(path.values())[::-1]


def sessions_in_tables(
    file: SourceFile, names: Iterable[str], query: str, session: Callable[[LogTables, JsonObject], AgentSession]
) -> Iterator[Trace | Skipped]:
    """The sessions of a database, one for each row of `query`; see `branches_in_tables`."""
    return branches_in_tables(file, names, query, lambda tables, row: (session(tables, row),))


def branches_in_tables(
    file: SourceFile,
    names: Iterable[str],
    query: str,
    branches: Callable[[LogTables, JsonObject], Iterable[AgentSession]],
) -> Iterator[Trace | Skipped]:
    """The sessions of a database, those of each row of `query` read by `branches` from the tables `names`.

    A value that cannot be read (`LogTables.damage`) is a Skipped before its session, or instead of it if nothing is
    left. If the database itself is damaged, a Skipped follows the sessions that could be read.
    """
    try:
        with open_tables(file) as tables:
            tables.reject_generated_columns(names)
            for row in list(tables.rows(query)):
                for session in branches(tables, row):
                    record = session.trace()
                    damage = tables.take_damage()
                    yield from damage
                    if not (damage and isinstance(record, Skipped)):
                        yield record
                tables.begin_trace()
    except DAMAGE as error:
        yield unread_rest(error)
