"""The book of sessions: tells of each request which trace it belongs to and what of it that trace does not hold yet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from inspector.model import (
    BodyState,
    ExternalId,
    Json,
    ParentWhy,
    Part,
    Trace,
    Turn,
    TurnFlag,
)
from inspector.sessions.beginning import facts_of
from inspector.sessions.copied import marked_answers, marked_history, with_resent
from inspector.sessions.exchange import RequestHead
from inspector.sessions.finding import Asked, Place, Relation, find_place
from inspector.sessions.fingerprints import (
    Fingerprint,
    RunningDigest,
    count_system,
    fingerprint_of,
    linked,
    message_digest,
    says_nothing,
)
from inspector.sessions.raw_prompts import is_raw, raw_prompt, split_prompt
from inspector.sessions.signs import SessionSigns, read_signs
from inspector.sessions.tracks import Track, Tracks
from inspector.wire.assembly import DecodedTurn
from inspector.wire.request import DecodedRequest


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a request belongs.

    `key` is the trace's key, unique for good. `begins` is a new trace, its facts without turns; None where the trace is
    known. `turns` are the request's turns that the trace does not hold yet. `attempt` counts repetitions from 1;
    `retry_of` is the `request_id` of the first attempt. `request_id` is this request's own name: the trace's own id, a
    slash, and the number of the answer's turn in the trace.
    """

    key: str
    begins: Trace | None
    turns: tuple[Turn, ...]
    attempt: int = 1
    retry_of: str | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class _Open:
    """A request whose answer is on its way."""

    track: Track
    request: bytes
    last_message: bytes
    raw: bool
    text: RunningDigest | None


@dataclass(frozen=True, slots=True)
class _Read:
    """A request as it was understood."""

    asked: Asked
    signs: SessionSigns
    turns: tuple[Turn, ...]
    begins: bytes
    raw: bool
    prompt: str
    text: RunningDigest | None


def new_recording_id() -> ExternalId:
    """An id that no other trace has."""
    return ExternalId("recording", uuid4().hex)


class SessionBook:
    """Places requests, in the order in which they were sent, and takes their answers, in the order they end.

    It does no I/O and asks no clock: times are those of the requests' heads. It remembers digests of messages, never a
    text, of at most `max_sessions` traces. `name_trace` gives each trace an id of its own, which must be unique; the
    parent of a trace is named by it.
    """

    def __init__(self, *, name_trace: Callable[[], ExternalId] = new_recording_id, max_sessions: int = 10_000) -> None:
        self._name_trace = name_trace
        self._tracks = Tracks(max_sessions)
        self._open: dict[str, _Open] = {}

    def __len__(self) -> int:
        return len(self._tracks)

    @property
    def size(self) -> int:
        """How many digests it holds, 16 bytes each: its memory is linear in this."""
        return self._tracks.size

    def place(self, head: RequestHead, request: DecodedRequest, body: bytes, json: Json) -> Placement:
        """Where a request belongs; every placement wants to be `answered` in the end. Never raises.

        `body` and `json` are the same as `request`: its bytes, and their value. The bytes are compared where the
        request has no messages that could be.
        """
        read = self._read(head, request, body, json)
        place = self._place_of_text(read) or find_place(self._tracks, read.asked)
        match place.relation:
            case Relation.REPEATS:
                return self._repeat(read, place)
            case Relation.CONTINUES:
                return self._go_on(read, place)
            case Relation.BEGINS:
                return self._begin(head, request, read, place)

    def answered(self, placement: Placement, answer: DecodedTurn) -> None:
        """The answer to a placed request ended, well or not."""
        waiting = self._open.pop(placement.request_id, None)
        if waiting is None:
            return
        track, turn = waiting.track, answer.turn
        track.in_flight -= 1
        generation = turn.generation
        self._tracks.touch(track, generation.ended.at_s if generation and generation.ended else None)
        if says_nothing(turn):
            return
        message = message_digest(turn, raw=waiting.raw)
        chain = linked(waiting.request, message)
        self._tracks.mark_answer(track, chain, answer.response_id)
        track.known.add(message)
        if waiting.text is not None:
            text = turn.part("text")
            waiting.text.add(text.text if text else "")
            self._tracks.mark_text(track, waiting.text.length, waiting.text.value)
            if track.request == waiting.request:
                track.text_answers.add(waiting.text.value)
        if track.request == waiting.request:
            track.answers.add(chain)
            track.last_answer = chain
            broke = generation is not None and (generation.error or generation.body is not BodyState.COMPLETE)
            track.complete = track.complete or not broke
            self._tracks.mark_window(track, waiting.last_message, message)

    def forget_idle(self, before_s: float) -> list[str]:
        """Forget the traces that nothing happened to since; the keys of these, and of those crowded out: they ended."""
        return self._tracks.forget_idle(before_s)

    def _read(self, head: RequestHead, request: DecodedRequest, body: bytes, json: Json) -> _Read:
        signs = read_signs(head, json)
        raw = is_raw(request)
        turns = split_prompt(request) if raw else request.turns
        prints = fingerprint_of(turns, body=body, raw=raw)
        scope = _scope(head, signs, prints)
        begins = b""
        if (continued := self._tracks.response(request.continues)) is not None:
            scope, begins = continued[0].scope, continued[1]
        elif signs.key is not None and signs.key.name == "conversation" and (held := self._tracks.in_scope(scope)):
            begins = _end_of(held[-1], turns, body)
        if begins:
            prints = fingerprint_of(turns, body=body, begins=begins, raw=raw)
        by_id, first = signs.key is not None, _text_of(turns)
        asked = Asked(scope, by_id, head.client, prints, first, signs.span_trace, signs.retry_count, head.at_s)
        prompt = raw_prompt(request) if raw and turns is request.turns else None
        return _Read(asked, signs, turns, begins, raw, prompt or "", None if prompt is None else RunningDigest())

    def _place_of_text(self, read: _Read) -> Place | None:
        """The trace whose prompt and answer, one text, a raw prompt without a template begins with."""
        prompt, text = read.prompt, read.text
        if text is None:
            return None
        found: Place | None = None
        for end in self._tracks.text_ends(read.asked.scope):
            if end.length >= len(prompt):
                break
            text.add(prompt[text.length : end.length])
            if text.value == end.digest:
                is_end = end.digest in end.track.text_answers
                found = Place(Relation.CONTINUES if is_end else Relation.BEGINS, end.track, end.length)
        text.add(prompt[text.length :])
        same = self._tracks.longest(read.asked.scope, read.asked.prints.chain)
        if found is None or (same is not None and same[0]):
            return None
        return found if found.relation is Relation.CONTINUES else replace(found, why=ParentWhy.FORK)

    def _repeat(self, read: _Read, place: Place) -> Placement:
        track = _track(place)
        track.attempts += 1
        return Placement(track.key, None, (), track.attempts, track.request_id, self._await(read, track, turns=0))

    def _go_on(self, read: _Read, place: Place) -> Placement:
        track, prints, turns = _track(place), read.asked.prints, read.turns
        before = count_system(turns)
        if read.text is not None:
            new, known = _cut_text(turns[before:], place.known)[1:], 0
        else:
            new, known = turns[before + place.known :], place.known
        resent = [
            (before + at + 1, turns[before + at])
            for at in range(known if place.edited else 0)
            if prints.messages[at] not in track.known
        ]
        if track.system_words != prints.system_words and prints.system_words:
            new = (*turns[:before], *new)
            track.system_words = prints.system_words
        self._tracks.leave_windows(track)
        self._ask(read, track, known=known, own=True)
        added = with_resent(marked_answers(new), resent)
        return Placement(track.key, None, added, request_id=self._name(read, track, len(added)))

    def _begin(self, head: RequestHead, request: DecodedRequest, read: _Read, place: Place) -> Placement:
        own_id = self._name_trace()
        track = Track(own_id.value, own_id, read.asked.scope, head.client, read.asked.prints.system_words)
        self._tracks.add(track)
        self._ask(read, track, known=place.known if read.text is None else 0, own=place.own)
        turns = marked_history(read.turns if read.text is None else _cut_text(read.turns, place.known))
        trace = facts_of(head, request, read.signs, own_id, place)
        return Placement(track.key, trace, turns, request_id=self._name(read, track, len(turns)))

    def _ask(self, read: _Read, track: Track, *, known: int, own: bool) -> None:
        """Take note of what the trace is asked now; `known` of its messages have their place already."""
        prints = read.asked.prints
        track.begins, track.request, track.size = read.begins, prints.chain[-1], len(prints.messages)
        track.system = prints.system
        track.span_trace, track.attempts, track.complete = read.asked.span_trace, 1, False
        track.answers.clear()
        track.last_answer = b""
        track.text_answers.clear()
        track.known.update(prints.messages)
        for at in range(1, len(prints.chain)):
            self._tracks.mark(track, prints.chain[at], own=own, newest=at > known)

    def _name(self, read: _Read, track: Track, turns: int) -> str:
        track.request_id = self._await(read, track, turns=turns)
        return track.request_id

    def _await(self, read: _Read, track: Track, *, turns: int) -> str:
        """Wait for an answer, the turn behind so many new ones; the name of its request."""
        prints = read.asked.prints
        track.turns += turns + 1
        track.in_flight += 1
        self._tracks.touch(track, read.asked.at_s)
        name = f"{track.key}/{track.turns}"
        last = prints.messages[-1] if prints.messages else read.begins
        self._open[name] = _Open(track, prints.chain[-1], last, read.raw, read.text)
        return name


def _scope(head: RequestHead, signs: SessionSigns, prints: Fingerprint) -> str:
    """Where conversations are compared: within a session's id, else within a client's use of one system prompt.

    Without an id a system prompt that changes in more than dates and numbers is another's: many agents of one client
    may start with the same words.
    """
    if signs.key is not None:
        return f"id\0{signs.key.name}\0{signs.key.value}"
    return f"client\0{head.client}\0{prints.system_words.hex()}"


def _track(place: Place) -> Track:
    assert place.track is not None, "only a trace that begins has none"
    return place.track


def _text_of(turns: Sequence[Turn]) -> str:
    """The text of the first turn behind the system prompt."""
    first = turns[count_system(turns)].part("text") if turns else None
    return first.text if first else ""


def _cut_text(turns: tuple[Turn, ...], at: int) -> tuple[Turn, ...]:
    """The turns with the text of a raw prompt cut in two: what its trace, or the parent, has of it, and what is new."""
    if not at:
        return turns
    prompt = turns[-1]
    text = _prompt_part(prompt)
    others = (Part("text", text.text[at:]), *(part for part in prompt.parts if part is not text))
    old = replace(prompt, parts=(Part("text", text.text[:at]),), flags=prompt.flags | {TurnFlag.COPIED_CONTEXT})
    return (*turns[:-1], old, replace(prompt, parts=others))


def _prompt_part(turn: Turn) -> Part:
    part = turn.part("text")
    assert part is not None, "a prompt that is a text has one"
    return part


def _end_of(track: Track, turns: Sequence[Turn], body: bytes) -> bytes:
    """What a request goes on from whose history the server keeps: where the last one did, if it is that one again."""
    again = fingerprint_of(turns, body=body, begins=track.begins)
    return track.begins if again.chain[-1] == track.request else track.last_answer or track.request
