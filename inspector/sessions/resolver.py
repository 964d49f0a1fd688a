"""Resolves which trace a request belongs to, and which of its turns that trace does not have yet.

A request that continues no trace begins one: its ids, its parent and the missing history are derived here too. Raw
prompts without a template are compared as texts. Each request is also kept as it was read (`session_cache`).
"""

from collections.abc import Callable, Sequence
from uuid import uuid4

from msgspec import Struct, structs

from weaklink.inspector import model
from weaklink.inspector.model.trace import RECORDING_ID
from weaklink.inspector.sessions import fingerprints, trace_matching
from weaklink.inspector.sessions.exchange import RequestHead
from weaklink.inspector.sessions.session_cache import CachedTrace, PromptEnd, SessionCache
from weaklink.inspector.text import Range
from weaklink.inspector.titles import first_words
from weaklink.inspector.wire.events import DecodedRequest, DecodedTurn
from weaklink.inspector.wire.provider_json import parse_json

_COPIED = frozenset({model.TurnFlag.COPIED_CONTEXT})
_WRITTEN_BY_CLIENT = frozenset({model.TurnFlag.SYNTHETIC})


class SessionAssignment(Struct, frozen=True):
    """Where a request belongs.

    `key` is the trace's key, which is never used again. `begins` is a new trace, its facts without turns; None if the
    trace is known. `turns` are the request's turns that the trace does not have yet. `attempt` counts attempts from 1;
    `retry_of` is the `request_id` of the first attempt. `request_id` identifies this request: the trace's own id, a
    slash, and the number of the answer's turn in the trace. `request` is the request as read, None if its messages are
    not known.
    """

    key: str
    begins: model.Trace | None
    turns: tuple[model.Turn, ...]
    attempt: int = 1
    retry_of: str | None = None
    request_id: str = ""
    request: model.SentRequest | None = None


_REFUSAL = (model.Role.USER, model.Role.ASSISTANT, model.Role.USER)
"""The roles of the messages at the end of a request that may say why an answer was refused."""


class _OpenRequest(Struct, frozen=True):
    """A request that waits for its answer."""

    trace: CachedTrace
    request: bytes
    last_message: bytes
    before_refusal: bytes
    raw: bool
    gaps: tuple[fingerprints.Gap, ...]
    before: bytes
    prefill: model.Turn | None
    answer: int


def new_recording_id() -> model.ExternalId:
    """An id that no other trace has."""
    return model.ExternalId(RECORDING_ID, uuid4().hex)


class SessionResolver:
    """Places requests, in the order in which they were sent, and takes their answers, in the order in which they end.

    It does no I/O and reads no clock: times are those of the requests' heads. It remembers digests of messages, never a
    text, of at most `max_sessions` traces. `name_trace` returns a unique id for each trace; a trace names its parent by
    this id.
    """

    def __init__(
        self, *, name_trace: Callable[[], model.ExternalId] = new_recording_id, max_sessions: int = 10_000
    ) -> None:
        self._name_trace = name_trace
        self._cache = SessionCache(max_sessions)
        self._open: dict[str, _OpenRequest] = {}

    def __len__(self) -> int:
        return len(self._cache)

    @property
    def size(self) -> int:
        """How many digests it holds, 16 bytes each; its memory is linear in this number."""
        return self._cache.size

    def assign(
        self,
        head: RequestHead,
        request: DecodedRequest,
        body: bytes,
        json: model.Json,
        so_far: Callable[[str], model.Turn | None] = lambda request_id: None,
    ) -> SessionAssignment:
        """Find where a request belongs; every assignment must be `answered` in the end. Never raises.

        `body` and `json` are the bytes of `request`, and their value. The bytes are compared if the request has no
        messages to compare. `so_far` returns the answer to an open request as far as it has arrived, by the request's
        `request_id`: a client may continue before the end of an answer was noted, and if siblings wait for theirs, the
        text decides. It is called for such siblings only.
        """
        features = trace_matching.request_features(self._cache, head, request, body, json)

        def digests_so_far(trace: CachedTrace) -> set[bytes]:
            open_requests = [(name, pending) for name, pending in self._open.items() if pending.trace is trace]
            turns = [(so_far(name), pending.raw) for name, pending in open_requests]
            return {
                fingerprints.message_digest(turn, raw=raw)
                for turn, raw in turns
                if turn is not None and not fingerprints.has_no_content(turn)
            }

        session_match = match_of_text(self._cache, features) or trace_matching.find_match(
            self._cache, features.query, digests_so_far
        )
        match session_match.relation:
            case trace_matching.Relation.REPEATS:
                return self._repeat(features, session_match)
            case trace_matching.Relation.CONTINUES:
                return self._continue(features, session_match)
            case trace_matching.Relation.BEGINS:
                return self._begin(head, request, features, session_match)

    def answered(self, assignment: SessionAssignment, answer: DecodedTurn) -> None:
        """Take the answer to an assigned request, which ended well or not."""
        waiting = self._open.pop(assignment.request_id, None)
        if waiting is None:
            return
        trace, turn = waiting.trace, answer.turn
        trace.in_flight -= 1
        generation = turn.generation
        self._cache.touch(trace, generation.ended.at_s if generation and generation.ended else None)
        if fingerprints.has_no_content(turn):
            self._cache.mark_response(trace, waiting.request, answer.response_id)
            return
        message = fingerprints.message_digest(turn, raw=waiting.raw)
        chain = fingerprints.extended_chain(waiting.request, message)
        self._cache.mark_answer(trace, chain, answer.response_id)
        trace.known.add(message)
        trace.history.add_turn(waiting.answer, turn, raw=waiting.raw)
        if waiting.prefill is not None:
            whole = fingerprints.joined(waiting.prefill, turn)
            trace.history.add_joined(waiting.answer, whole)
            self._add_joined(waiting, fingerprints.message_digest(whole))
        if turn.calls:
            self._add_words(waiting, fingerprints.message_digest(structs.replace(turn, calls=())))
        text = part.text if waiting.gaps and (part := turn.part("text")) is not None else ""
        for gap in waiting.gaps if text else ():
            shortest = gap.start + len(text) + gap.rest_length
            end = PromptEnd(gap, len(text), fingerprints.text_digest(text), trace, shortest)
            self._cache.mark_text(end)
            if trace.request == waiting.request:
                trace.text_answers.add(end)
        if trace.request == waiting.request:
            self._end_at(trace, chain)
            trace.last_answer = chain
            broke = generation is not None and (generation.error or generation.body is not model.BodyState.COMPLETE)
            trace.complete = trace.complete or not broke
            trace.unreadable = not broke and _has_unreadable_arguments(turn)
            self._cache.mark_window(trace, waiting.last_message, message)
            if any(call.id for call in turn.calls):
                self._cache.mark_window(trace, b"", message)  # unique, even if the message before it changed
            if waiting.before_refusal and (own := turn.part("text")) and fingerprints.ACTION_INPUT in own.text:
                self._cache.mark_window(trace, waiting.before_refusal, message)  # LlamaIndex leaves the refused one out

    def _add_words(self, waiting: _OpenRequest, message: bytes) -> None:
        """Add the answer without its calls: a client may leave them out, or write them as words (smolagents)."""
        chain = fingerprints.extended_chain(waiting.request, message)
        self._cache.mark(waiting.trace, chain, observed=True)
        waiting.trace.known.add(message)
        if waiting.trace.request == waiting.request:
            self._end_at(waiting.trace, chain)

    def _add_joined(self, waiting: _OpenRequest, message: bytes) -> None:
        """Add the answer joined with the beginning that the client wrote, since it may send both as one message."""
        trace, chain = waiting.trace, fingerprints.extended_chain(waiting.before, message)
        self._cache.mark_answer(trace, chain, "")
        trace.known.add(message)
        if trace.request == waiting.request:
            self._end_at(trace, chain)

    def _end_at(self, trace: CachedTrace, chain: bytes) -> None:
        trace.answers.add(chain)
        self._cache.mark_end(trace, chain)

    def forget_idle(self, before_s: float) -> list[str]:
        """Forget the traces that were idle since then; returns their keys, and those of evicted traces: they ended."""
        return self._cache.forget_idle(before_s)

    def _repeat(
        self, features: trace_matching.RequestFeatures, session_match: trace_matching.SessionMatch
    ) -> SessionAssignment:
        trace = _cached_trace(session_match)
        trace.attempts += 1
        count, before = features.query.retry_count, trace.retry_count
        if not features.query.by_id and count is not None and before is not None and count <= before:
            self._cache.overtake(trace.scope, trace.body, before)
        trace.retry_count = count
        trace.request_keys.add(features.query.request_key)
        name = self._await(features, trace, turns=0)
        if features.begins or (features.prompt is not None and (features.raw or trace.is_one_text)):
            request: model.SentRequest | None = trace.history.repeat(trace.turns)
        else:
            request = _sent(features, trace, {})
        return SessionAssignment(trace.key, None, (), trace.attempts, trace.request_id, name, request)

    def _continue(
        self, features: trace_matching.RequestFeatures, session_match: trace_matching.SessionMatch
    ) -> SessionAssignment:
        trace, prints, turns = _cached_trace(session_match), features.query.prints, features.turns
        before, first = fingerprints.count_system(turns), trace.turns + 1
        if session_match.growth is not None:
            new, known = split_text(turns[before:], session_match.growth)[1:], 0
        else:
            new, known = turns[before + session_match.known :], session_match.known
        indexes: Sequence[int] = range(before + known, len(turns))
        if trace.system_words != prints.system_words and prints.system_words:
            new = (*turns[:before], *new)
            indexes = (*range(before), *indexes)
            trace.system_words = prints.system_words
        self._cache.leave_end(trace)
        self._set_request(features, trace, known=known, observed=True)
        trace.is_one_text = session_match.growth is not None
        name = self._assign_request_id(features, trace, len(new))
        if session_match.growth is not None or features.begins:
            request: model.SentRequest | None = trace.history.add_continued(
                trace.turns, new, dict(enumerate(range(first, first + len(new))))
            )
        else:
            request = _sent(features, trace, dict(zip(indexes, range(first, trace.turns), strict=True)))
        return SessionAssignment(trace.key, None, marked_answers(new), request_id=name, request=request)

    def _begin(
        self,
        head: RequestHead,
        request: DecodedRequest,
        features: trace_matching.RequestFeatures,
        session_match: trace_matching.SessionMatch,
    ) -> SessionAssignment:
        own_id = self._name_trace()
        trace = CachedTrace(own_id.value, own_id, features.query.scope, head.client, features.query.prints.system_words)
        trace.group = trace.key
        if session_match.why is model.ParentWhy.SIBLING:
            first = _cached_trace(session_match)
            trace.group, trace.has_siblings, first.has_siblings = first.group, True, True
        self._cache.add(trace)
        self._set_request(features, trace, known=session_match.known, observed=session_match.observed)
        trace.is_one_text = session_match.growth is not None
        turns = marked_history(split_text(features.turns, session_match.growth))
        facts = facts_of(head, request, features, own_id, session_match)
        name = self._assign_request_id(features, trace, len(turns))
        if session_match.growth is not None:
            sent: model.SentRequest | None = trace.history.add_continued(
                trace.turns, turns, {index: index + 1 for index in range(len(turns))}
            )
        else:
            sent = _sent(features, trace, {index: index + 1 for index in range(len(turns))})
        return SessionAssignment(trace.key, facts, turns, request_id=name, request=sent)

    def _set_request(
        self, features: trace_matching.RequestFeatures, trace: CachedTrace, *, known: int, observed: bool
    ) -> None:
        """Make the request the trace's last one; `known` of its messages have their place already."""
        prints = features.query.prints
        trace.begins, trace.request, trace.size = features.begins, prints.chain[-1], len(prints.messages)
        trace.system = prints.system
        trace.span_trace, trace.attempts = features.query.span_trace, 1
        trace.retry_count = features.query.retry_count
        trace.complete = trace.unreadable = False
        trace.continues, trace.request_keys, trace.observed = (
            features.query.continues,
            {features.query.request_key},
            observed,
        )
        trace.answers.clear()
        trace.last_answer = b""
        trace.text_answers.clear()
        trace.known.update(prints.messages)
        for index in range(max(known, 1), len(prints.chain)):
            self._cache.mark(trace, prints.chain[index], observed=observed, newest=index > known)
        self._cache.mark_end(trace, trace.request)

    def _assign_request_id(self, features: trace_matching.RequestFeatures, trace: CachedTrace, turns: int) -> str:
        trace.request_id = self._await(features, trace, turns=turns)
        return trace.request_id

    def _await(self, features: trace_matching.RequestFeatures, trace: CachedTrace, *, turns: int) -> str:
        """Wait for an answer, which is the turn after `turns` new ones; returns the id of its request."""
        prints = features.query.prints
        trace.turns += turns + 1
        trace.in_flight += 1
        trace.model, trace.body = features.query.model, features.query.body
        self._cache.touch(trace, features.query.at_s)
        name = f"{trace.key}/{trace.turns}"
        self._open[name] = _OpenRequest(
            trace,
            prints.chain[-1],
            prints.messages[-1],
            prints.messages[-3] if prints.roles[-3:] == _REFUSAL else b"",
            features.raw,
            features.gaps,
            prints.chain[-2],
            features.prefill,
            trace.turns,
        )
        return name


def _sent(
    features: trace_matching.RequestFeatures, trace: CachedTrace, new: dict[int, int]
) -> model.SentRequest | None:
    """The request as read; None if its messages are not known. `new` maps the index of a message to its new turn."""
    return trace.history.add_request(trace.turns, features.turns, new, raw=features.raw) if features.turns else None


def _has_unreadable_arguments(turn: model.Turn) -> bool:
    """Whether the arguments of a call are no JSON: some agents (Qwen Code) then send the same request again."""
    for call in turn.calls:
        part = turn.part(call.part)
        if part is not None and part.text.strip() and not call.custom:
            try:
                parse_json(part.text)
            except ValueError:
                return True
    return False


def _cached_trace(session_match: trace_matching.SessionMatch) -> CachedTrace:
    assert session_match.trace is not None, "only a trace that begins has none"
    return session_match.trace


def facts_of(
    head: RequestHead,
    request: DecodedRequest,
    features: trace_matching.RequestFeatures,
    own_id: model.ExternalId,
    session_match: trace_matching.SessionMatch,
) -> model.Trace:
    """What is known of a trace when its first request comes; it has no turns yet."""
    ids = (own_id, *features.hints.ids)
    warnings: tuple[str, ...] = ()
    if request.continues and session_match.trace is None:
        ids = (*ids, model.ExternalId("previous_response_id", request.continues))
        warnings = (f"What came before the response `{request.continues}` was not recorded.",)
    elif request.continues:
        warnings = (f"What came before the response `{request.continues}` is in the parent trace.",)
    parent = None
    if session_match.trace is not None and session_match.why is not None:
        parent = model.ParentTrace(session_match.trace.own_id, session_match.why)
    return model.Trace(
        (),
        name=first_words(features.turns, *((fingerprints.text_without_template,) if features.raw else ())),
        model=request.model,
        started=None if head.at_s is None else model.Instant(head.at_s),
        external_ids=ids,
        recognised_by=features.hints.recognised_by,
        parent=parent,
        provenance=model.Provenance(warnings=warnings),
    )


def marked_history(turns: Sequence[model.Turn]) -> tuple[model.Turn, ...]:
    """The turns that begin a trace: those up to the last answer are marked as copied, except the system prompt."""
    answers = [index for index, turn in enumerate(turns[:-1]) if turn.role is model.Role.ASSISTANT]
    end = answers[-1] + 1 if answers else 0
    copied = [_flagged(turn, _COPIED) if turn.role is not model.Role.SYSTEM else turn for turn in turns[:end]]
    return (*copied, *marked_answers(turns[end:]))


def marked_answers(turns: Sequence[model.Turn]) -> tuple[model.Turn, ...]:
    """The turns that continue a trace: an answer among them was not generated here, so it is marked as copied.

    One at the very end is the beginning of the coming answer, which the client wrote itself: it is synthetic.
    """
    marked = [_flagged(turn, _COPIED) if turn.role is model.Role.ASSISTANT else turn for turn in turns]
    if turns and turns[-1].role is model.Role.ASSISTANT:
        marked[-1] = _flagged(turns[-1], _WRITTEN_BY_CLIENT)
    return tuple(marked)


def _flagged(turn: model.Turn, flags: frozenset[model.TurnFlag]) -> model.Turn:
    return structs.replace(turn, flags=turn.flags | flags)


def match_of_text(cache: SessionCache, features: trace_matching.RequestFeatures) -> trace_matching.SessionMatch | None:
    """The trace whose prompt has grown to this one, which is one text: by the trace's answer, and by what is new.

    The prompt may end with the last line of the trace's, before which both were added.
    """
    query, prompt = features.query, features.prompt
    if prompt is None:
        return None
    best: trace_matching.SessionMatch | None = None
    growing: CachedTrace | None = None
    growth = trace_matching.Growth(0, Range(0, 0), 0)
    text = fingerprints.RunningDigest()
    before = text.value
    for end in cache.text_ends(query.scope, len(prompt)):
        gap, trace = end.gap, end.trace
        if gap.start > text.length:
            text.add(prompt[text.length : gap.start])
            before = text.value
        answer = _answer_in(prompt, end, raw=features.raw) if before == gap.before else None
        if answer is None or _fit(prompt, answer) < _fit(prompt, growth.answer):
            continue
        is_end = end in trace.text_answers
        is_tie = best is not None and answer == growth.answer and best.relation is trace_matching.Relation.CONTINUES
        if is_tie and (
            not is_end or (growing is not None and growing.model == query.model and query.model != trace.model)
        ):
            continue  # its sibling, which has continued or has another model
        relation = trace_matching.Relation.CONTINUES if is_end else trace_matching.Relation.BEGINS
        why = None if is_end else model.ParentWhy.FORK
        growth = trace_matching.Growth(gap.start, answer, gap.rest_length)
        best, growing = trace_matching.SessionMatch(relation, trace, growth=growth, why=why), trace
    same = cache.longest(query.scope, query.prints.chain) if best is not None else None
    if best is None or growing is None or same is None or not same[0]:
        return best
    known, is_end = same[1].trace, best.relation is trace_matching.Relation.CONTINUES
    is_twin = known.model != query.model or not (known is growing or known.has_failed or query.retry_count)
    return best if is_end and growing.model == query.model and is_twin else None


def _fit(prompt: str, answer: Range) -> tuple[bool, int]:
    """Of several answers that a prompt may have had, the likeliest has the most: a line end behind it, and its end."""
    return prompt.startswith("\n", answer.end), answer.end


def _answer_in(prompt: str, end: PromptEnd, *, raw: bool) -> Range | None:
    """Where a prompt has the answer that it was given before, with something new behind it; None if it has none.

    In a message, what is new begins a line: "10 plus 2?" does not continue "1" and its answer "0".
    """
    if fingerprints.text_digest(prompt[len(prompt) - end.gap.rest_length :]) != end.gap.rest:
        return None
    for introduction in ("",) if raw else ("", *_REFUSALS):
        start = end.gap.start + len(introduction)
        answer = Range(start, start + end.length)
        beside = prompt[answer.end - 1 : answer.end + (2 if introduction.endswith("`") else 1)]
        is_apart = (raw or "\n" in beside) and prompt.startswith(introduction, end.gap.start)
        if is_apart and fingerprints.text_digest(answer.of(prompt)) == end.answer:
            return answer
    return None


_REFUSALS = ("Could not parse LLM output: `", "Could not parse LLM output: ")
"""What LangChain writes before an answer that it could not read (`OutputParserException`, langchain-classic 1.0.8)."""


def split_text(turns: tuple[model.Turn, ...], growth: trace_matching.Growth | None) -> tuple[model.Turn, ...]:
    """The turns with the text of a prompt split in two: what its trace, or the parent, has of it, and what is new."""
    if growth is None:
        return turns
    prompt = turns[-1]
    text = _prompt_part(prompt)
    written, rest = text.text, len(text.text) - growth.rest_length
    new = written[growth.start : growth.answer.start] + written[growth.answer.end : rest]
    known = written[: growth.start] + growth.answer.of(written) + written[rest:]
    others = (model.Part("text", new), *(part for part in prompt.parts if part is not text))
    old = structs.replace(
        prompt, parts=(model.Part("text", known),), flags=prompt.flags | {model.TurnFlag.COPIED_CONTEXT}
    )
    return (*turns[:-1], old, structs.replace(prompt, parts=others))


def _prompt_part(turn: model.Turn) -> model.Part:
    part = turn.part("text")
    assert part is not None, "a prompt that is a text has one"
    return part
