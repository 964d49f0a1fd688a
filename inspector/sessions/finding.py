"""Where a request belongs: which trace it goes on with, repeats, or comes from.

The longest beginning of its conversation that a trace of its scope has decides, the scope being the session's id, or
without one the client and its system prompt. Then its last messages, then, if the id is known, what else has that id.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from inspector.model import ParentWhy, Role
from inspector.sessions.fingerprints import Fingerprint
from inspector.sessions.tracks import Point, Track, Tracks

RETRY_WITHIN_S = 120.0
"""How long after it a first request may come again and still be its repetition, where the client does not count.

SDKs and agents wait for a minute at most before they try again (`Retry-After` beyond that is not heeded by openai's or
anthropic's); the same words later are a new conversation.
"""

_SUMMARY = re.compile(r"summar|compact|previous conversation|ran out of context|continued from", re.IGNORECASE)
_SUMMARY_WITHIN = 2_000


class Relation(StrEnum):
    """What a request is to a trace."""

    CONTINUES = "continues"
    REPEATS = "repeats"
    BEGINS = "begins"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request in the words of this search: where to search, what to compare, and when it came.

    `first_words` is the text of the first message. `by_id` says that the scope is an id that the client gave.
    """

    scope: str
    by_id: bool
    client: str
    prints: Fingerprint
    first_words: str = ""
    span_trace: str = ""
    retry_count: int = 0
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request belongs.

    `known` counts its messages that the trace has, `edited` says that some of those may have other words than in the
    trace, `own` that an answer among them was recorded as it came. For a trace that begins, `track` is its parent, None
    where it has none, and `why` says what it is to it.
    """

    relation: Relation
    track: Track | None = None
    known: int = 0
    edited: bool = False
    own: bool = False
    why: ParentWhy | None = None


def find_place(tracks: Tracks, asked: Asked) -> Place:
    """Where the request belongs; see the head of this module."""
    longest = tracks.longest(asked.scope, asked.prints.chain)
    if longest is not None and (place := _of_chain(asked, *longest)) is not None:
        return place
    if (place := _of_last_messages(tracks, asked)) is not None:
        return place
    if longest is not None and (asked.by_id or longest[1].own):
        return _branch(asked, *longest)
    if asked.by_id and (others := tracks.in_scope(asked.scope)):
        return _of_same_id(asked, others)
    elsewhere = tracks.answered(asked.client, asked.prints.chain[1:])
    if elsewhere is not None:
        return Place(Relation.BEGINS, elsewhere, why=ParentWhy.RESUME)
    return Place(Relation.BEGINS)


def _of_chain(asked: Asked, at: int, point: Point) -> Place | None:
    """The trace whose end this request goes on from, or whose last request it is; None where it leaves it earlier."""
    track, prints = point.track, asked.prints
    here = prints.chain[at]
    if here in track.answers:
        return Place(Relation.CONTINUES, track, at)
    if here != track.request:
        return None
    if at == len(prints.messages):
        return Place(Relation.REPEATS, track, at) if _is_repetition(asked, point) else None
    if prints.roles[at] is Role.ASSISTANT:
        return Place(Relation.CONTINUES, track, at + 1, edited=True)
    if not (track.complete or track.in_flight):
        return Place(Relation.CONTINUES, track, at)
    return None


def _is_repetition(asked: Asked, point: Point) -> bool:
    """Whether the same messages are the same request once more, and not the same words on another day.

    Behind an answer of its own they cannot be anything else. Spans of another trace ask for themselves, and so does
    another system prompt, if it differs only in a number.
    """
    track = point.track
    if asked.retry_count or point.own:
        return True
    if asked.prints.system != track.system:
        return False
    if asked.span_trace and track.span_trace and asked.span_trace != track.span_trace:
        return False
    if track.in_flight or asked.at_s is None or track.last_s is None:
        return True
    return asked.at_s - track.last_s <= RETRY_WITHIN_S


def _of_last_messages(tracks: Tracks, asked: Asked) -> Place | None:
    """The trace whose last two messages stand in the request, though what lies before them was cut or written anew.

    An answer with calls that have ids may stand for both.
    Two messages may be alike in any two conversations; without an id the first must be known as well.
    """
    messages, roles = asked.prints.messages, asked.prints.roles
    for at in range(len(messages) - 1, 0, -1):
        if roles[at] is not Role.ASSISTANT:
            continue
        track = tracks.window(asked.scope, messages[at - 1], messages[at])
        track = track or tracks.window(asked.scope, b"", messages[at])
        if track is None:
            continue
        if messages[0] in track.known or (asked.by_id and len(messages) > track.size):
            return Place(Relation.CONTINUES, track, at + 1, edited=True)
        if asked.by_id:
            return Place(Relation.BEGINS, track, why=ParentWhy.RESUME)  # a summary stands before what was kept
    return None


def _branch(asked: Asked, at: int, point: Point) -> Place:
    """It leaves a trace before its end: with answers that are not in it, or with other words."""
    strange = not point.own and Role.ASSISTANT in asked.prints.roles[at:]
    return Place(Relation.BEGINS, point.track, at, own=point.own, why=ParentWhy.RESUME if strange else ParentWhy.FORK)


def _of_same_id(asked: Asked, others: tuple[Track, ...]) -> Place:
    """The session begins anew under its id: its history replaced, or somebody else at work within it."""
    system = asked.prints.system_words
    alike = next((track for track in reversed(others) if track.system_words == system and not track.in_flight), None)
    if alike is not None and (asked.prints.last_answer or _SUMMARY.search(asked.first_words[:_SUMMARY_WITHIN])):
        return Place(Relation.BEGINS, alike, why=ParentWhy.RESUME)
    return Place(Relation.BEGINS, others[0], why=ParentWhy.SUBAGENT)
