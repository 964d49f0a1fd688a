"""What every importer of rows sets in a trace beside its turns: ids, times, how it was recognised."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from weaklink.inspector.apis.captures import CapturedAnswer
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import JsonObject
from weaklink.inspector.json_text import member_at
from weaklink.inspector.model import ExternalId, Instant, InstantSource, Json, RecognisedBy, Trace

SESSION_KEYS = ("session_id", "sessionId", "conversation_id", "conversationId", "thread_id", "trace_id")
"""Members that name a session, under every name that logs use."""

_ROW_KEYS = ("id", "task_id", "prompt_index", "sample_id", "uid")


def row_ids(row: Row, extra: Iterable[ExternalId] = ()) -> tuple[ExternalId, ...]:
    """The ids of a row; together they distinguish its trace from every other of the same source.

    An id that names a session is enough by itself: a later file may contain the same session with more turns. Every
    other id (`id`, `task_id`, ...) is valid only within its file, where it may be a mere number. The row's number
    (`line`, `entry`, `document`) and the digest of its bytes (`sha256`) are added in that case: a file that was moved
    or has grown gives the same traces again, and a row of another file never has the same ids.
    """
    sessions = tuple(_ids(row.value, SESSION_KEYS))
    if sessions:
        return sessions
    return (
        *_ids(row.value, _ROW_KEYS),
        *row.ids,
        *extra,
        ExternalId(row.unit, str(row.number)),
        ExternalId("sha256", row.digest),
    )


def place_of(path: Path) -> ExternalId:
    """The file's name and its folder's name: for a session that is a file by itself and may come again, grown.

    With the whole path, a moved file would be a new session; with the name alone, two runs would be one session.
    """
    absolute = path.absolute()
    return ExternalId("file", f"{absolute.parent.name}/{absolute.name}")


def recognised_by(row: Row) -> RecognisedBy:
    """Whether a row names its session, is a session by itself, or was made from all records of a file."""
    if any(True for _ in _ids(row.value, SESSION_KEYS)):
        return RecognisedBy.FIELD
    return RecognisedBy.FILE if row.ids else RecognisedBy.RECORD


def instant(value: Json) -> Instant | None:
    """A time as logs write it: ISO 8601, or seconds or milliseconds since 1970; None for anything else.

    A time without a zone is taken as UTC, and is then marked as derived, not recorded.
    """
    if isinstance(value, str):
        return _from_iso(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return None
    return Instant(value / 1000 if value > 1e11 else float(value))


def seconds_of(value: Json) -> float | None:
    """A time as for `instant`, in seconds since 1970-01-01 UTC."""
    read = instant(value)
    return None if read is None else read.at_s


def answer_ids(answer: CapturedAnswer, path: Path) -> Iterable[ExternalId]:
    """The ids of a captured answer: the server's id, its position, and its digest if the server gives no id or no time.

    Some servers count their ids from 1 each time they start. With id and time, or the digest, a capture that has grown
    is recognised again.
    """
    response_id = answer.decoded.response_id if answer.decoded is not None else ""
    if response_id:
        yield ExternalId("id", response_id)
    yield place_of(path)
    yield ExternalId("answer", str(answer.number))
    created = instant(answer.created)
    if response_id and created is not None:
        yield ExternalId("created", str(int(created.at_s)))
    else:
        yield ExternalId("sha256", answer.digest)


def with_warnings(trace: Trace, warnings: Iterable[str]) -> Trace:
    """The trace with more of what the source did not keep."""
    provenance = structs.replace(trace.provenance, warnings=(*trace.provenance.warnings, *warnings))
    return structs.replace(trace, provenance=provenance)


def reward_of(value: Json) -> float | None:
    """A number as a reward; None for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def text_of(value: JsonObject, *keys: str) -> str:
    """The first of the members that is a non-empty text, else `""`."""
    for key in keys:
        found = value.get(key)
        if isinstance(found, str) and found:
            return found
    return ""


def text_at(value: JsonObject, *paths: str) -> str:
    """The first of the members at the ends of these paths (`model.id`) that is a non-empty text, else `""`."""
    for path in paths:
        found = member_at(value, path)
        if isinstance(found, str) and found:
            return found
    return ""


def _ids(value: JsonObject, keys: Iterable[str]) -> Iterable[ExternalId]:
    for key in keys:
        found = value.get(key)
        if isinstance(found, str | int) and not isinstance(found, bool) and found != "":
            yield ExternalId(key, str(found))


def _from_iso(text: str) -> Instant | None:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return Instant(moment.replace(tzinfo=UTC).timestamp(), InstantSource.DERIVED)
        return Instant(moment.timestamp())
    except (ValueError, OverflowError):
        return None
