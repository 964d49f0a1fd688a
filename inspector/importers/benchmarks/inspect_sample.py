"""One sample of an Inspect log as traces: its own conversation, and those of its sub-agents and graders.

A request whose answer is in the sample's `messages` belongs to the sample's own conversation; the others form
conversations of their own, each request continuing the one whose messages it repeats.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from inspector.importers.benchmarks.inspect_requests import (
    Attachments,
    InspectRequest,
    MessagePool,
    read_inspect_message,
    requests_of,
)
from inspector.importers.identity import instant, text_of
from inspector.importers.source import JsonObject, Skipped
from inspector.json_members import object_of
from inspector.model import (
    BodyState,
    ExternalId,
    Generation,
    Json,
    Outcome,
    ParentTrace,
    ParentWhy,
    Provenance,
    RecognisedBy,
    Role,
    Trace,
    Turn,
    TurnFlag,
)

_SENT = 2_000_000
_KEPT = 200_000
_NO_CHUNKS = "the source keeps no chunks"
_WRITTEN_ANEW = "arguments of calls are kept parsed, and their text was written anew"
_NO_REQUEST = "of some answers no request is kept: their tools, times and usage are unknown"
_PLACES = (("sample", "id"), ("epoch", "epoch"))
_BESIDE = "requests of sub-agents and graders, and discarded answers, are traces of their own below the sample's"
_RETRIED = "attempts at a sample that failed and were repeated are left out"
_CONDENSED = "texts beyond 32 MiB were left as references to attachments"
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_DEMONSTRATION = frozenset({TurnFlag.DEMONSTRATION})


@dataclass(slots=True)
class InspectConversation:
    """A conversation: its messages, and the requests that answered; `failed` stand behind the message of that number.

    `is_fork` says that it begins as the sample's own conversation does.
    """

    messages: list[Json] = field(default_factory=list)
    answers: dict[int, InspectRequest] = field(default_factory=dict)
    failed: dict[int, list[InspectRequest]] = field(default_factory=dict)
    is_fork: bool = False

    def requests(self) -> list[InspectRequest]:
        """All its requests."""
        return [*self.answers.values(), *(one for several in self.failed.values() for one in several)]


class InspectConversations:
    """The conversations of one sample: `own`, and `others` in the order in which they began.

    Of the others two million messages are compared and 200,000 kept; `left_out` counts the requests beyond.
    """

    def __init__(self, messages: list[Json], pool: MessagePool, attachments: Attachments) -> None:
        self.own = InspectConversation(list(messages))
        self.others: list[InspectConversation] = []
        self.left_out = 0
        self._pool = pool
        self._attachments = attachments
        self._expected: dict[str, list[int]] = {}
        self._ends: dict[int, InspectConversation] = {}
        self._own_places: dict[int, int] = {}
        self._sent, self._kept = _SENT, _KEPT
        self._known: dict[int, str] = {}
        self._begin()

    def _begin(self) -> None:
        chain = 0
        for at, message in enumerate(self.own.messages):
            key = self._attachments.key_of(message)
            if isinstance(message, dict) and message.get("role") == "assistant":
                self._expected.setdefault(key, []).append(at)
            chain = hash((chain, key))
            self._own_places[chain] = at + 1
        for places in self._expected.values():
            places.reverse()

    def take(self, request: InspectRequest) -> None:
        """Put a request where it belongs."""
        key = self._attachments.key_of(request.answer) if request.answer is not None else ""
        if key and (places := self._expected.get(key)):
            self.own.answers[places.pop()] = request
            return
        sent = request.input(self._pool, self._sent)
        if sent is None:
            self.left_out += 1
            return
        self._sent -= len(sent)
        chains = self._chains(sent)
        place = self._own_places.get(chains[-1]) if sent else None
        if not key and place is not None:
            self.own.failed.setdefault(place, []).append(request)
            return
        if not key and not sent and not request.generation.error:
            return
        self._put(request, sent, chains, key, is_fork=place is not None)

    def _put(self, request: InspectRequest, sent: list[Json], chains: list[int], key: str, *, is_fork: bool) -> None:
        shared = next((at for at in range(len(sent), 0, -1) if chains[at] in self._ends), 0)
        track = self._ends.pop(chains[shared], None) if shared else None
        more = len(sent) - shared + 1
        if more > self._kept:
            self.left_out += 1
            return
        self._kept -= more
        if track is None:
            track = InspectConversation(is_fork=is_fork)
            self.others.append(track)
            shared = 0
        track.messages += sent[shared:]
        if key:
            track.answers[len(track.messages)] = request
            track.messages.append(request.answer)
            self._ends[hash((chains[-1], key))] = track
        else:
            track.failed.setdefault(len(track.messages), []).append(request)
            self._ends[chains[-1]] = track

    def _chains(self, sent: list[Json]) -> list[int]:
        """What tells the beginnings of a conversation apart: entry N stands for its first N messages."""
        chains = [0]
        for message in sent:
            chains.append(hash((chains[-1], self._key(message))))
        return chains

    def _key(self, message: Json) -> str:
        known = self._known.get(id(message))  # pooled messages live as long as the sample
        if known is None:
            known = self._known[id(message)] = self._attachments.key_of(message)
        return known


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a log says of all its samples: its header, and the version of its format."""

    header: JsonObject

    @property
    def spec(self) -> JsonObject:
        """The task and the model."""
        found = self.header.get("eval")
        return found if isinstance(found, dict) else {}

    @property
    def version(self) -> str:
        """The format's version, `""` where it is not said."""
        said = self.header.get("version")
        return str(said) if isinstance(said, int) else ""


def read_sample(sample: JsonObject, evaluation: Evaluation, record: str) -> Iterator[Trace | Skipped]:
    """The trace of a sample, then those beside it; one without messages is skipped."""
    attachments = Attachments(sample.get("attachments") or object_of(sample.get("transcript")).get("content"))
    listed = sample.get("messages")
    tracks = InspectConversations(listed if isinstance(listed, list) else [], MessagePool(sample), attachments)
    for request in requests_of(sample, attachments):
        tracks.take(request)
    found = [track for track in (tracks.own, *tracks.others) if track.messages or track.failed]
    if not found:
        said = text_of(object_of(sample.get("error")), "message")
        why = f"; it failed: `{said[:500]}`" if said else ""
        yield Skipped(record, f"the sample has no messages{why}")
        return
    ids = _ids(sample, evaluation)
    own = next((one for one in ids if one.name in ("uuid", "sample")), ExternalId("sample", ""))
    for number, track in enumerate(found):
        trace = _trace(sample, evaluation, track, attachments)
        more_ids = (ExternalId("conversation", str(number + 1)),) if number else ()
        place = record if not number else f"{record}, conversation {number + 1}"
        more = [_BESIDE] if len(found) > 1 and not number else []
        if tracks.left_out and not number:
            more.append(f"{tracks.left_out} requests beside the conversation are left out: they repeat too much")
        yield replace(
            trace,
            external_ids=(*ids, *more_ids),
            recognised_by=RecognisedBy.PREFIX_CHAIN if number else RecognisedBy.FIELD,
            parent=ParentTrace(own, ParentWhy.FORK if track.is_fork else ParentWhy.SUBAGENT) if number else None,
            outcome=None if number else _outcome(sample),
            provenance=replace(trace.provenance, record=place, warnings=(*trace.provenance.warnings, *more)),
        )


def _trace(sample: JsonObject, evaluation: Evaluation, track: InspectConversation, attachments: Attachments) -> Trace:
    model = text_of(evaluation.spec, "model")
    turns = tuple(_turns(track, attachments, model))
    requests = track.requests()
    asked = next((name for request in requests if (name := request.name)), "")
    task = text_of(evaluation.spec, "task")
    named = f"{task} {sample.get('id')}, epoch {sample.get('epoch')}" + (f", {asked}" if asked else "")
    began = min((at for one in requests if (at := one.generation.started)), key=lambda at: at.at_s, default=None)
    return Trace(
        turns=turns,
        name=named.strip(),
        model=next((name for one in requests if (name := one.generation.requested_model)), model),
        started=began or instant(sample.get("started_at")) or instant(evaluation.spec.get("created")),
        provenance=Provenance(
            source_version=evaluation.version,
            warnings=tuple(_warnings(sample, track, turns, attachments)),
        ),
    )


def _warnings(
    sample: JsonObject, track: InspectConversation, turns: tuple[Turn, ...], attachments: Attachments
) -> Iterator[str]:
    yield _NO_CHUNKS
    exact = {named for request in track.requests() for named in request.arguments}
    if any(call.id not in exact for turn in turns for call in turn.calls):
        yield _WRITTEN_ANEW
    if any(
        turn.generation == Generation(requested_model=turn.generation.requested_model)
        for turn in turns
        if turn.generation
    ):
        yield _NO_REQUEST
    if sample.get("error_retries"):
        yield _RETRIED
    if attachments.are_left:
        yield _CONDENSED


def _turns(track: InspectConversation, attachments: Attachments, model: str) -> Iterator[Turn]:
    for at, message in enumerate(track.messages):
        yield from (request.turn() for request in track.failed.get(at, ()))
        yield _turn(track, at, message, attachments, model)
    yield from (request.turn() for request in track.failed.get(len(track.messages), ()))


def _turn(track: InspectConversation, at: int, message: Json, attachments: Attachments, model: str) -> Turn:
    request = track.answers.get(at)
    if request is not None:
        return request.turn()
    turn = read_inspect_message(message, attachments, {})
    if turn.role is not Role.ASSISTANT:
        return turn
    if isinstance(message, dict) and message.get("source") == "input":
        return replace(turn, flags=_DEMONSTRATION)
    return replace(turn, generation=Generation(requested_model=model, body=BodyState.COMPLETE))


def _ids(sample: JsonObject, evaluation: Evaluation) -> tuple[ExternalId, ...]:
    """The sample's `uuid`, its id and its epoch; without a `uuid` also the id of its run."""
    named, run = text_of(sample, "uuid"), text_of(evaluation.spec, "run_id", "task_id", "created")
    first = ExternalId("uuid", named) if named else ExternalId("run", run)
    known = (ExternalId(name, str(sample[key])) for name, key in _PLACES if sample.get(key) is not None)
    return (*((first,) if first.value else ()), *known)


def _outcome(sample: JsonObject) -> Outcome:
    error = text_of(object_of(sample.get("error")), "message")
    limit = text_of(object_of(sample.get("limit")), "type")
    scores = sample.get("scores")
    listed: list[Json] = list(scores.values()) if isinstance(scores, dict) else [sample.get("score")]
    values = (_value(one.get("value")) for one in listed if isinstance(one, dict))
    return Outcome(
        completed=not (error or limit),
        exit_status=error or (f"limit: {limit}" if limit else None),
        reward=next((value for value in values if value is not None), None),
    )


def _value(value: Json) -> float | None:
    """A score as a number; Inspect's letters as Inspect counts them (`scorer/_metric.py`, `value_to_float`)."""
    if isinstance(value, bool | int | float):
        return float(value)
    return _LETTERS.get(value) if isinstance(value, str) else None
