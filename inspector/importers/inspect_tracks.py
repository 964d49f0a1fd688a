"""Which requests of an Inspect sample go on from one another: its own conversation, and those beside it.

The sample's conversation stands in its `messages`. A request whose answer stands there belongs to it. The others are
those of sub-agents and graders, and answers that the agent discarded: one goes on from another where it sends again
all that was said there.
"""

from dataclasses import dataclass, field

from inspector.importers.inspect_messages import Attachments
from inspector.importers.inspect_requests import InspectRequest, Pool
from inspector.model import Json

_SENT = 2_000_000
_KEPT = 200_000


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

    def __init__(self, messages: list[Json], pool: Pool, attachments: Attachments) -> None:
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
