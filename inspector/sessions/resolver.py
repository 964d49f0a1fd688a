"""Resolves which trace a request belongs to, and which of its turns that trace does not hold yet.

A request that continues no trace begins one: its ids, its parent and the missing history are derived here too. Raw
prompts without a template are compared as texts. Each request is also written down as it was read (`session_cache`).
"""

from collections.abc import Callable, Iterable, Sequence
from uuid import uuid4

from msgspec import Struct, structs

from inspector.model import (
    BodyState,
    ExternalId,
    Instant,
    Json,
    ParentTrace,
    ParentWhy,
    Part,
    Provenance,
    Role,
    SentRequest,
    Trace,
    Turn,
    TurnFlag,
)
from inspector.model.trace import RECORDING_ID
from inspector.sessions import fingerprints, trace_matching
from inspector.sessions.exchange import RequestHead
from inspector.sessions.session_cache import CachedTrace, SessionCache
from inspector.wire.events import DecodedRequest, DecodedTurn

_NAME_LENGTH = 80
_COPIED = frozenset({TurnFlag.COPIED_CONTEXT})
_WRITTEN_BY_CLIENT = frozenset({TurnFlag.SYNTHETIC})


class Placement(Struct, frozen=True):
    """Where a request belongs.

    `key` is the trace's key, unique for good. `begins` is a new trace, its facts without turns; None where the trace is
    known. `turns` are the request's turns that the trace does not hold yet. `attempt` counts repetitions from 1;
    `retry_of` is the `request_id` of the first attempt. `request_id` is this request's own name: the trace's own id, a
    slash, and the number of the answer's turn in the trace. `request` is the request as read, None where its messages
    are not known.
    """

    key: str
    begins: Trace | None
    turns: tuple[Turn, ...]
    attempt: int = 1
    retry_of: str | None = None
    request_id: str = ""
    request: SentRequest | None = None


class _OpenRequest(Struct, frozen=True):
    """A request whose answer is on its way."""

    track: CachedTrace
    request: bytes
    last_message: bytes
    raw: bool
    text: fingerprints.RunningDigest | None
    before: bytes
    prefill: Turn | None
    answer: int


def new_recording_id() -> ExternalId:
    """An id that no other trace has."""
    return ExternalId(RECORDING_ID, uuid4().hex)


class SessionResolver:
    """Places requests, in the order in which they were sent, and takes their answers, in the order they end.

    It does no I/O and asks no clock: times are those of the requests' heads. It remembers digests of messages, never a
    text, of at most `max_sessions` traces. `name_trace` gives each trace an id of its own, which must be unique; the
    parent of a trace is named by it.
    """

    def __init__(self, *, name_trace: Callable[[], ExternalId] = new_recording_id, max_sessions: int = 10_000) -> None:
        self._name_trace = name_trace
        self._tracks = SessionCache(max_sessions)
        self._open: dict[str, _OpenRequest] = {}

    def __len__(self) -> int:
        return len(self._tracks)

    @property
    def size(self) -> int:
        """How many digests it holds, 16 bytes each: its memory is linear in this."""
        return self._tracks.size

    def place(
        self,
        head: RequestHead,
        request: DecodedRequest,
        body: bytes,
        json: Json,
        so_far: Callable[[str], Turn | None] = lambda request_id: None,
    ) -> Placement:
        """Where a request belongs; every placement wants to be `answered` in the end. Never raises.

        `body` and `json` are the same as `request`: its bytes, and their value. The bytes are compared where the
        request has no messages that could be. `so_far` gives what came of the answer to an open request, by its
        `request_id`: a client may go on before the end of an answer was noted, and where siblings wait for theirs, the
        words decide. It is called for those only.
        """
        read = trace_matching.request_features(self._tracks, head, request, body, json)

        def arrived(track: CachedTrace) -> set[bytes]:
            open_requests = [(name, one) for name, one in self._open.items() if one.track is track]
            turns = [(so_far(name), one.raw) for name, one in open_requests]
            return {fingerprints.message_digest(turn, raw=raw) for turn, raw in turns if turn is not None}

        place = match_of_text(self._tracks, read) or trace_matching.find_match(self._tracks, read.asked, arrived)
        match place.relation:
            case trace_matching.Relation.REPEATS:
                return self._repeat(read, place)
            case trace_matching.Relation.CONTINUES:
                return self._go_on(read, place)
            case trace_matching.Relation.BEGINS:
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
        if fingerprints.says_nothing(turn):
            self._tracks.mark_response(track, waiting.request, answer.response_id)
            return
        message = fingerprints.message_digest(turn, raw=waiting.raw)
        chain = fingerprints.extended_chain(waiting.request, message)
        self._tracks.mark_answer(track, chain, answer.response_id)
        track.known.add(message)
        track.history.add_turn(waiting.answer, turn, raw=waiting.raw)
        if waiting.prefill is not None:
            whole = fingerprints.joined(waiting.prefill, turn)
            track.history.add_joined(waiting.answer, whole)
            self._tell_joined(waiting, fingerprints.message_digest(whole))
        if waiting.text is not None:
            text = turn.part("text")
            waiting.text.add(text.text if text else "")
            self._tracks.mark_text(track, waiting.text.length, waiting.text.value)
            if track.request == waiting.request:
                track.text_answers.add(waiting.text.value)
        if track.request == waiting.request:
            self._end_at(track, chain)
            track.last_answer = chain
            broke = generation is not None and (generation.error or generation.body is not BodyState.COMPLETE)
            track.complete = track.complete or not broke
            self._tracks.mark_window(track, waiting.last_message, message)
            if any(call.id for call in turn.calls):
                self._tracks.mark_window(track, b"", message)  # unmistakable, whatever became of what it answers

    def _tell_joined(self, waiting: _OpenRequest, message: bytes) -> None:
        """A client may send the answer back as one message with the beginning that it wrote itself."""
        track, chain = waiting.track, fingerprints.extended_chain(waiting.before, message)
        self._tracks.mark_answer(track, chain, "")
        track.known.add(message)
        if track.request == waiting.request:
            self._end_at(track, chain)

    def _end_at(self, track: CachedTrace, chain: bytes) -> None:
        track.answers.add(chain)
        self._tracks.mark_end(track, chain)

    def forget_idle(self, before_s: float) -> list[str]:
        """Forget the traces that nothing happened to since; the keys of these, and of those crowded out: they ended."""
        return self._tracks.forget_idle(before_s)

    def _repeat(self, read: trace_matching.RequestFeatures, place: trace_matching.SessionPlace) -> Placement:
        track = _track(place)
        track.attempts += 1
        track.request_keys.add(read.asked.request_key)
        name = self._await(read, track, turns=0)
        if read.begins or read.text is not None:
            request: SentRequest | None = track.history.repeat(track.turns)
        else:
            request = _sent(read, track, {})
        return Placement(track.key, None, (), track.attempts, track.request_id, name, request)

    def _go_on(self, read: trace_matching.RequestFeatures, place: trace_matching.SessionPlace) -> Placement:
        track, prints, turns = _track(place), read.asked.prints, read.turns
        before, first = fingerprints.count_system(turns), track.turns + 1
        if place.cut:
            new, known = cut_text(turns[before:], place.cut)[1:], 0
        else:
            new, known = turns[before + place.known :], place.known
        indexes: Sequence[int] = range(before + known, len(turns))
        if track.system_words != prints.system_words and prints.system_words:
            new = (*turns[:before], *new)
            indexes = (*range(before), *indexes)
            track.system_words = prints.system_words
        self._tracks.leave_end(track)
        self._ask(read, track, known=known, own=True)
        name = self._name(read, track, len(new))
        if place.cut or read.begins:
            request: SentRequest | None = track.history.add_continued(
                track.turns, new, dict(enumerate(range(first, first + len(new))))
            )
        else:
            request = _sent(read, track, dict(zip(indexes, range(first, track.turns), strict=True)))
        return Placement(track.key, None, marked_answers(new), request_id=name, request=request)

    def _begin(
        self,
        head: RequestHead,
        request: DecodedRequest,
        read: trace_matching.RequestFeatures,
        place: trace_matching.SessionPlace,
    ) -> Placement:
        own_id = self._name_trace()
        track = CachedTrace(own_id.value, own_id, read.asked.scope, head.client, read.asked.prints.system_words)
        track.group = track.key
        if place.why is ParentWhy.SIBLING:
            first = _track(place)
            track.group, track.has_siblings, first.has_siblings = first.group, True, True
        self._tracks.add(track)
        self._ask(read, track, known=place.known, own=place.own)
        turns = marked_history(cut_text(read.turns, place.cut))
        trace = facts_of(head, request, read.signs, own_id, place)
        name = self._name(read, track, len(turns))
        if place.cut:
            sent: SentRequest | None = track.history.add_continued(
                track.turns, turns, {at: at + 1 for at in range(len(turns))}
            )
        else:
            sent = _sent(read, track, {at: at + 1 for at in range(len(turns))})
        return Placement(track.key, trace, turns, request_id=name, request=sent)

    def _ask(self, read: trace_matching.RequestFeatures, track: CachedTrace, *, known: int, own: bool) -> None:
        """Take note of what the trace is asked now; `known` of its messages have their place already."""
        prints = read.asked.prints
        track.begins, track.request, track.size = read.begins, prints.chain[-1], len(prints.messages)
        track.system = prints.system
        track.span_trace, track.attempts, track.complete = read.asked.span_trace, 1, False
        track.continues, track.request_keys, track.own = read.asked.continues, {read.asked.request_key}, own
        track.answers.clear()
        track.last_answer = b""
        track.text_answers.clear()
        track.known.update(prints.messages)
        for at in range(max(known, 1), len(prints.chain)):
            self._tracks.mark(track, prints.chain[at], own=own, newest=at > known)
        self._tracks.mark_end(track, track.request)

    def _name(self, read: trace_matching.RequestFeatures, track: CachedTrace, turns: int) -> str:
        track.request_id = self._await(read, track, turns=turns)
        return track.request_id

    def _await(self, read: trace_matching.RequestFeatures, track: CachedTrace, *, turns: int) -> str:
        """Wait for an answer, the turn behind so many new ones; the name of its request."""
        prints = read.asked.prints
        track.turns += turns + 1
        track.in_flight += 1
        self._tracks.touch(track, read.asked.at_s)
        name = f"{track.key}/{track.turns}"
        self._open[name] = _OpenRequest(
            track,
            prints.chain[-1],
            prints.messages[-1],
            read.raw,
            read.text,
            prints.chain[-2],
            read.prefill,
            track.turns,
        )
        return name


def _sent(read: trace_matching.RequestFeatures, track: CachedTrace, new: dict[int, int]) -> SentRequest | None:
    """The request as read; None where its messages are not known. `new` are the turns that it added, by index."""
    return track.history.add_request(track.turns, read.turns, new, raw=read.raw) if read.turns else None


def _track(place: trace_matching.SessionPlace) -> CachedTrace:
    assert place.track is not None, "only a trace that begins has none"
    return place.track


def facts_of(
    head: RequestHead,
    request: DecodedRequest,
    signs: trace_matching.SessionHints,
    own_id: ExternalId,
    place: trace_matching.SessionPlace,
) -> Trace:
    """What is known of a trace when its first request comes; it has no turns yet."""
    ids = (own_id, *signs.ids)
    warnings: tuple[str, ...] = ()
    if request.continues and place.track is None:
        ids = (*ids, ExternalId("previous_response_id", request.continues))
        warnings = (f"What came before the response `{request.continues}` was not recorded.",)
    elif request.continues:
        warnings = (f"What came before the response `{request.continues}` is in the parent trace.",)
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


def marked_history(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that begin a trace: those up to the last answer among them are copied, but for the system prompt."""
    answers = [at for at, turn in enumerate(turns[:-1]) if turn.role is Role.ASSISTANT]
    end = answers[-1] + 1 if answers else 0
    copied = [_flagged(turn, _COPIED) if turn.role is not Role.SYSTEM else turn for turn in turns[:end]]
    return (*copied, *marked_answers(turns[end:]))


def marked_answers(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that go on with a trace: an answer among them was not given here.

    One at the very end is the beginning of the answer to come, which the client wrote itself: it is synthetic.
    """
    marked = [_flagged(turn, _COPIED) if turn.role is Role.ASSISTANT else turn for turn in turns]
    if turns and turns[-1].role is Role.ASSISTANT:
        marked[-1] = _flagged(turns[-1], _WRITTEN_BY_CLIENT)
    return tuple(marked)


def _flagged(turn: Turn, flags: frozenset[TurnFlag]) -> Turn:
    return structs.replace(turn, flags=turn.flags | flags)


def match_of_text(tracks: SessionCache, read: trace_matching.RequestFeatures) -> trace_matching.SessionPlace | None:
    """The trace whose prompt and answer, one text, a raw prompt without a template begins with."""
    prompt, text = read.prompt, read.text
    if text is None:
        return None
    found: trace_matching.SessionPlace | None = None
    for end in tracks.text_ends(read.asked.scope):
        if end.length >= len(prompt):
            break
        text.add(prompt[text.length : end.length])
        if text.value == end.digest:
            is_end = end.digest in end.track.text_answers
            if (
                found is not None
                and found.cut == end.length
                and found.relation is trace_matching.Relation.CONTINUES
                and not is_end
            ):
                continue  # its sibling, which went on
            found = trace_matching.SessionPlace(
                trace_matching.Relation.CONTINUES if is_end else trace_matching.Relation.BEGINS,
                end.track,
                cut=end.length,
            )
    text.add(prompt[text.length :])
    same = tracks.longest(read.asked.scope, read.asked.prints.chain)
    if found is None or (same is not None and same[0]):
        return None
    return found if found.relation is trace_matching.Relation.CONTINUES else structs.replace(found, why=ParentWhy.FORK)


def cut_text(turns: tuple[Turn, ...], at: int) -> tuple[Turn, ...]:
    """The turns with the text of a raw prompt cut in two: what its trace, or the parent, has of it, and what is new."""
    if not at:
        return turns
    prompt = turns[-1]
    text = _prompt_part(prompt)
    others = (Part("text", text.text[at:]), *(part for part in prompt.parts if part is not text))
    old = structs.replace(prompt, parts=(Part("text", text.text[:at]),), flags=prompt.flags | {TurnFlag.COPIED_CONTEXT})
    return (*turns[:-1], old, structs.replace(prompt, parts=others))


def _prompt_part(turn: Turn) -> Part:
    part = turn.part("text")
    assert part is not None, "a prompt that is a text has one"
    return part
