"""The facts of a trace that begins: its ids, its parent, and what is missing before it."""

from inspector.model import ExternalId, Instant, ParentTrace, Provenance, Trace
from inspector.sessions.exchange import RequestHead
from inspector.sessions.finding import Place
from inspector.sessions.signs import SessionSigns
from inspector.wire.request import DecodedRequest


def facts_of(
    head: RequestHead, request: DecodedRequest, signs: SessionSigns, own_id: ExternalId, place: Place
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
        model=request.model,
        started=None if head.at_s is None else Instant(head.at_s),
        external_ids=ids,
        recognised_by=signs.recognised_by,
        parent=parent,
        provenance=Provenance(warnings=warnings),
    )
