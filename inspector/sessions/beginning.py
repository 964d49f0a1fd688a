"""The facts of a trace that begins: its ids, its parent, and what is missing before it."""

from collections.abc import Iterable

from inspector.model import ExternalId, Instant, ParentTrace, Provenance, Role, Trace, Turn
from inspector.sessions.exchange import RequestHead
from inspector.sessions.finding import SessionPlace
from inspector.sessions.signs import SessionSigns
from inspector.wire.request import DecodedRequest

_NAME_LENGTH = 80


def facts_of(
    head: RequestHead, request: DecodedRequest, signs: SessionSigns, own_id: ExternalId, place: SessionPlace
) -> Trace:
    """What is known of a trace when its first request comes; it has no turns yet."""
    ids = (own_id, *signs.ids)
    warnings: tuple[str, ...] = ()
    if request.continues and place.track is None:
        ids = (*ids, ExternalId("previous_response_id", request.continues))
        warnings = (f"What came before the response `{request.continues}` was not recorded.",)
    elif request.continues:
        warnings = (f"What came before the response `{request.continues}` stands in the parent trace.",)
    parent = None
    if place.track is not None and place.why is not None:
        parent = ParentTrace(place.track.own_id, place.why)
    return Trace(
        (),
        name=_first_words(request.turns),
        model=request.model,
        started=None if head.at_s is None else Instant(head.at_s),
        external_ids=ids,
        recognised_by=signs.recognised_by,
        parent=parent,
        provenance=Provenance(warnings=warnings),
    )


def _first_words(turns: Iterable[Turn]) -> str:
    """What the user asked for first, in a line: by it people know a conversation again; markup is passed over."""
    for turn in turns:
        if turn.role is not Role.USER:
            continue
        lines = (line.strip() for part in turn.parts if part.name == "text" for line in part.text.split("\n"))
        if line := next((line for line in lines if line and not line.startswith("<")), ""):
            return line if len(line) <= _NAME_LENGTH else line[: _NAME_LENGTH - 1] + "…"
    return ""
