"""What the model wrote, from the tokens that a server sends beside the answer that it parsed (`logprobs`).

A server that parses calls delivers content and calls apart; the strings of the tokens are still the model's own text:

    tokens   `<tool_call>`, `{"name": "tide"`, ...    the emitted layer
    reply    content null, no call                    the parsed layer: the call is lost (L801)

Chunks have their order over all parts, so the text is that of the chunks in order: the strings of `wire:tokens` for a
chunk that has a line there, else its own text. Nothing is said of an answer whose tokens are no whole characters, or
which has text that came without tokens.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from weaklink.inspector.chain.layers import compare_reply, server_differences
from weaklink.inspector.chain.steps import tool_named
from weaklink.inspector.diagnostics import Diagnostic, Fault, Location
from weaklink.inspector.model import Part, ToolCall, Turn
from weaklink.inspector.rules.layers import CALL_DELIVERED_TWICE, CALL_LOST_BY_SERVER
from weaklink.inspector.text import Range
from weaklink.inspector.wire.events import TOKENS_PART

_BYTES = "bytes:"  # how OpenAI's API writes a token that is part of a character
_DELIVERED = ("text", "reasoning")


def emitted_text(turn: Turn) -> str | None:
    """The text of an answer's tokens; None if they were not recorded, or are the content that was delivered."""
    kept = turn.part(TOKENS_PART)
    if kept is None:
        return None
    strings = _strings(kept.text)
    pieces: list[tuple[int, str]] = []
    if not any(part.chunks for part in turn.parts):  # a log that keeps no chunks has one list of tokens
        pieces = [(0, text) for text in strings.values()]
    for part in turn.parts if not pieces else ():
        if part.name in _DELIVERED or part.name.startswith("call:"):
            pieces += _pieces(part, strings)
            if part.name in _DELIVERED and part.text and part.chunks is None:
                return None
    text = "".join(piece for _, piece in sorted(pieces, key=lambda piece: piece[0]))
    delivered = turn.part("text")
    is_whole = "\ufffd" not in text and _BYTES not in text
    return text if is_whole and text.strip() != (delivered.text.strip() if delivered else "") else None


def _strings(lines: str) -> dict[tuple[str, int], str]:
    strings: dict[tuple[str, int], str] = {}
    for line in lines.splitlines():
        try:
            record = json.loads(line)
            strings[record["part"], record["index"]] = "".join(record["tokens"])
        except (ValueError, LookupError, TypeError):  # it was shortened or redacted
            continue
    return strings


def _pieces(part: Part, strings: dict[tuple[str, int], str]) -> Iterator[tuple[int, str]]:
    """The text of each chunk with its place among all; of a call's chunks only those that came with tokens."""
    index = 0
    for chunk in part.arrivals():
        if chunk.logprobs is not None:
            yield chunk.sequence, strings.get((part.name, index), chunk.text)
            index += 1
        elif part.name in _DELIVERED:
            yield chunk.sequence, chunk.text


def emitted_differences(
    turn: Turn, number: int, written: Iterable[ToolCall], parsed: Sequence[ToolCall]
) -> Iterator[Diagnostic]:
    """How the calls of the reply differ from those that the model wrote, and those that are neither there nor in it.

    `written` are the calls in the text of the tokens, `parsed` those of the reply. A call that is left in the content
    is reported there.
    """
    content = "".join(part.text for part in turn.parts if part.name in _DELIVERED)
    valid = [call for call in written if call.valid]
    reply = compare_reply(valid, parsed)
    kept = turn.part(TOKENS_PART)
    whole = Range(0, (kept.text.find("\n") if kept and "\n" in kept.text else 0))
    location = Location(number, TOKENS_PART, whole)
    for diagnostic in server_differences(turn, number, reply, parsed, content):
        if diagnostic.rule is not CALL_DELIVERED_TWICE:
            yield structs.replace(diagnostic, fault=structs.replace(diagnostic.fault, against=location))
    for call in reply.lost:
        if call.raw_arguments.strip() and call.raw_arguments.strip() in content:
            continue
        message = (
            f"The tokens of this answer have a correct call of {tool_named(call.name)}; the server delivered it "
            "neither as a call nor as content."
        )
        hint = "Change the server's tool parser, or update it."
        yield Fault(CALL_LOST_BY_SERVER, whole, message, hint, against=location).at(number, TOKENS_PART)
