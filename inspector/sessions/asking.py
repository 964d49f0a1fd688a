"""A request as the book reads it: its signs, its turns with their digests, and where they are to be compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.model import Json, Role, Turn
from inspector.sessions.exchange import RequestHead
from inspector.sessions.finding import SessionQuery
from inspector.sessions.fingerprints import Fingerprint, RunningDigest, count_system, fingerprint_of
from inspector.sessions.raw_prompts import is_raw, raw_prompt, split_prompt
from inspector.sessions.signs import SessionSigns, read_signs
from inspector.sessions.tracks import Track, Tracks
from inspector.wire.request import DecodedRequest


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request as it was understood.

    `begins` is the chain that it goes on from where the server keeps the history. `raw` says that its words are one raw
    text; `prompt` is that text where no template tells its turns, and `text` its digest, None for any other request.
    """

    asked: SessionQuery
    signs: SessionSigns
    turns: tuple[Turn, ...]
    begins: bytes
    raw: bool
    prompt: str
    text: RunningDigest | None

    @property
    def prefill(self) -> Turn | None:
        """The beginning of the answer, which the client wrote itself, where the conversation ends with one."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.role is Role.ASSISTANT and not self.raw else None


def understood(tracks: Tracks, head: RequestHead, request: DecodedRequest, body: bytes, json: Json) -> ReadRequest:
    """A request read for comparing it with what `tracks` holds."""
    signs = read_signs(head, json)
    raw = is_raw(request)
    turns = split_prompt(request) if raw else request.turns
    prints = fingerprint_of(turns, body=body, raw=raw)
    scope = _scope(head, signs, prints)
    begins = b""
    continued = tracks.response(request.continues)
    if continued is not None:
        scope, begins = continued[0].scope, continued[1]
    elif signs.key is not None and signs.key.name == "conversation" and (held := tracks.in_scope(scope)):
        begins = _end_of(held[-1], turns, body)
    if begins:
        prints = fingerprint_of(turns, body=body, begins=begins, raw=raw)
    by_id, first = signs.key is not None, _text_of(turns)
    asked = SessionQuery(
        scope,
        by_id,
        head.client,
        prints,
        first,
        span_trace=signs.span_trace,
        retry_count=signs.retry_count,
        request_key=signs.request_key,
        continues=request.continues,
        continued=continued[0] if continued is not None else None,
        at_s=head.at_s,
    )
    prompt = raw_prompt(request) if raw and turns is request.turns else None
    return ReadRequest(asked, signs, turns, begins, raw, prompt or "", None if prompt is None else RunningDigest())


def _scope(head: RequestHead, signs: SessionSigns, prints: Fingerprint) -> str:
    """Where conversations are compared: within a session's id, else within a client's use of one system prompt.

    Without an id a system prompt that changes in more than dates and numbers is another's: many agents of one client
    may start with the same words.
    """
    if signs.key is not None:
        return f"id\0{signs.key.name}\0{signs.key.value}"
    return f"client\0{head.client}\0{prints.system_words.hex()}"


def _text_of(turns: Sequence[Turn]) -> str:
    """The text of the first turn behind the system prompt."""
    first = turns[count_system(turns)].part("text") if turns else None
    return first.text if first else ""


def _end_of(track: Track, turns: Sequence[Turn], body: bytes) -> bytes:
    """What a request goes on from whose history the server keeps: where the last one did, if it is that one again."""
    again = fingerprint_of(turns, body=body, begins=track.begins)
    return track.begins if again.chain[-1] == track.request else track.last_answer or track.request
