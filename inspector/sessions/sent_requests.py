"""Writes each request down by what its trace has already: which turns it repeats word for word, and which it changes.

Kept of each trace are digests: of the messages of its last request, of its turns, and of versions that requests had.
What a request shares with the one before costs nothing; of the rest, a message that is equal to a turn, or to a version
of an earlier request, is a reference, and any other holds its own text (`inspector.model.SentRequest`).
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from inspector.model import Role, SentBefore, SentMessage, SentPart, SentRequest, Turn
from inspector.sessions.fingerprints import exact_digest, message_digest
from inspector.wire.events import WIRE_PREFIX


class SentHistory(Struct):
    """What one trace's requests had so far.

    `answer` is the turn that answers the last request, `sent` its messages' digests, `places` the turn that each of
    them repeats (0: none). `roles` are those of the trace's turns. `equal` gives the turns with an exact digest,
    `alike` a turn by the digest that passes over reasoning and white space, `calls` and `results` one by a call's id.
    """

    answer: int = 0
    sent: list[bytes] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    roles: list[Role] = field(default_factory=list)
    equal: dict[bytes, list[int]] = field(default_factory=dict)
    alike: dict[bytes, int] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    versions: dict[bytes, tuple[SentBefore, int]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many digests and ids it holds."""
        held = len(self.sent) + len(self.equal) + len(self.alike) + len(self.versions)
        return held + len(self.calls) + len(self.results)

    def add_turn(self, number: int, turn: Turn, *, raw: bool = False, exact: bytes | None = None) -> None:
        """A turn of the trace is known."""
        self._reserve(number, turn.role)
        self.equal.setdefault(exact or exact_digest(turn, raw=raw), []).append(number)
        self.alike[message_digest(turn, raw=raw)] = number
        for call in turn.calls:
            if call.id:
                self.calls[call.id] = number
        if turn.result is not None and turn.result.call_id:
            self.results[turn.result.call_id] = number

    def add_joined(self, number: int, turn: Turn) -> None:
        """A client may send turn `number` back as `turn`: as one message with the beginning that it wrote itself."""
        self.equal.setdefault(exact_digest(turn), []).append(number)

    def add_request(
        self, answer: int, turns: Sequence[Turn], new: Mapping[int, int], *, raw: bool = False
    ) -> SentRequest:
        """The request with these messages, whose answer will be turn `answer`.

        `new` gives the numbers of the turns that were added for it, by the index of the message.
        """
        digests = [exact_digest(turn, raw=raw) for turn in turns]
        for index, number in new.items():
            self.add_turn(number, turns[index], raw=raw, exact=digests[index])
        kept = self._kept(digests)
        own: list[int | SentMessage | SentBefore] = []
        places = self.places[:kept]
        for index in range(kept, len(turns)):
            one, place = self._message(turns[index], digests[index], index, new, places)
            if isinstance(one, SentMessage):
                self.versions.setdefault(digests[index], (SentBefore(answer, len(own)), place))
            own.append(one)
            places.append(place)
        return self._sent(answer, SentRequest(self.answer, kept, tuple(own)), digests, places)

    def add_continued(self, answer: int, turns: Sequence[Turn], new: Mapping[int, int]) -> SentRequest:
        """A request whose messages follow those of the request and the answer before, which are not sent again."""
        for index, number in new.items():
            self.add_turn(number, turns[index])
        before = [self.answer] if self.answer else []
        own = (*before, *new.values())
        digests = [*self.sent, *(b"%d" % number for number in own)]
        kept = len(self.sent)
        return self._sent(answer, SentRequest(self.answer, kept, own), digests, [*self.places, *own])

    def repeat(self, answer: int) -> SentRequest:
        """The last request once more."""
        return self._sent(answer, SentRequest(self.answer, len(self.sent)), self.sent, self.places)

    def _sent(self, answer: int, request: SentRequest, digests: list[bytes], places: list[int]) -> SentRequest:
        self._reserve(answer, Role.ASSISTANT)
        self.answer, self.sent, self.places = answer, digests, places
        return request

    def _reserve(self, number: int, role: Role) -> None:
        self.roles += [Role.ASSISTANT] * (number - len(self.roles))
        self.roles[number - 1] = role

    def _kept(self, digests: Sequence[bytes]) -> int:
        pairs = enumerate(zip(self.sent, digests, strict=False))
        return next((at for at, (old, new) in pairs if old != new), min(len(self.sent), len(digests)))

    def _message(
        self, turn: Turn, digest: bytes, index: int, new: Mapping[int, int], places: Sequence[int]
    ) -> tuple[int | SentMessage | SentBefore, int]:
        """A message's reference or own version, and the turn that it repeats."""
        if index in new:
            return new[index], new[index]
        last = next((place for place in reversed(places) if place), 0)
        if equal := self.equal.get(digest):
            number = next((one for one in equal if one > last), equal[-1])
            return number, number
        if digest in self.versions:
            return self.versions[digest]
        number = self._base(turn, index, last)
        return _own_version(turn, number), number

    def _base(self, turn: Turn, index: int, last: int) -> int:
        """The turn that a message is another version of; 0 where none is known to be."""
        if turn.result is not None and turn.result.call_id:
            return self.results.get(turn.result.call_id, 0)
        if named := [self.calls[call.id] for call in turn.calls if call.id in self.calls]:
            return named[0]
        if number := self.alike.get(message_digest(turn)):
            return number
        if index < len(self.places) and (number := self.places[index]) and self.roles[number - 1] is turn.role:
            return number
        follows = last < len(self.roles) and self.roles[last] is turn.role
        return last + 1 if follows else 0


def _own_version(turn: Turn, number: int) -> SentMessage:
    said = (part for part in turn.parts if part.text and not part.name.startswith(WIRE_PREFIX))
    parts = tuple(SentPart(part.name, part.text) for part in said)
    return SentMessage(turn.role, parts, number or None, turn.source_role, turn.calls, turn.result)
