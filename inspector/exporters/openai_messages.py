"""A trace as a row of OpenAI messages, so that the importer `openai-messages` reads the same turns and calls again.

A row is `{"messages": [...], "tools": [...], "model": ...}`, the shape of OpenAI's fine-tuning guide, with
`reasoning_content` as DeepSeek's, vLLM's and SGLang's servers name it. Every text is as it was recorded: calls that
the model wrote into its text stay there, malformed ones unchanged (`weaklink data convert` creates structured ones).
An attempt that failed is no message: one that the client repeated, and one that brought nothing.
"""

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from msgspec import Struct

from weaklink.inspector.apis.openai.messages import BLOCK_PART, write_message, write_tool
from weaklink.inspector.checks.recording import repeated_turns
from weaklink.inspector.model import BodyState, Json, ToolDefinition, Trace, Turn
from weaklink.inspector.model.exchange import with_model_ids
from weaklink.inspector.sessions.fingerprints import has_no_content

_NAMED = frozenset({"text", "reasoning", "refusal"})


class MessagesRow(Struct, frozen=True):
    """A trace in OpenAI's shape; `dropped` are sentences on what that shape cannot represent."""

    value: dict[str, Json]
    dropped: tuple[str, ...] = ()


def messages_row(trace: Trace) -> MessagesRow:
    """The trace as one row: one message per turn but failed attempts, and every tool that any request offered, once."""
    failed = _failed_attempts(trace.turns)
    kept = [turn for number, turn in enumerate(with_model_ids(trace.turns), 1) if number not in failed]
    value: dict[str, Json] = {"messages": [write_message(turn) for turn in kept]}
    tools = [write_tool(tool) for tool in offered_tools(trace)]
    if tools:
        value["tools"] = tools
    if trace.model:
        value["model"] = trace.model
    return MessagesRow(value, tuple(_dropped(trace, failed)))


def offered_tools(trace: Trace) -> list[ToolDefinition]:
    """Every tool that a request of the trace offered, in order; tools with the same definition only once."""
    offered: dict[tuple[str, str], ToolDefinition] = {}
    before: tuple[ToolDefinition, ...] = ()
    for turn in trace.turns:
        tools = turn.generation.tools if turn.generation else before
        if tools is not before:
            for tool in tools:
                offered.setdefault((tool.name, tool.raw), tool)
        before = tools
    return list(offered.values())


def _failed_attempts(turns: Sequence[Turn]) -> frozenset[int]:
    """The numbers of the answers that the agent never used; none if there is nothing else.

    Their requests failed, or were sent again directly, as some agents do if they cannot read a call.
    """
    empty = (
        number
        for number, turn in enumerate(turns, 1)
        if turn.generation is not None and turn.generation.error is not None and has_no_content(turn)
    )
    sent_again = (
        number
        for number, (turn, following) in enumerate(pairwise(turns), 1)
        if turn.generation is not None
        and following.generation is not None
        and following.generation.attempt == turn.generation.attempt + 1
    )
    failed = repeated_turns(turns).union(empty, sent_again)
    return failed if len(failed) < len(turns) else frozenset()


def _dropped(trace: Trace, failed: Set[int]) -> Iterator[str]:
    for number, turn in enumerate(trace.turns, 1):
        error = turn.generation.error if turn.generation is not None else None
        reason = f" (`{error.message.rstrip('.')}`)" if error is not None and error.message else ""
        if number in failed:
            what = "its request failed" if error is not None else "its request was sent again"
            yield f"Turn {number} is left out: {what}{reason}."
            continue
        if error is not None:
            yield f"That turn {number} broke off{reason}: OpenAI's messages cannot contain it."
        elif turn.generation is not None and turn.generation.body is BodyState.TRUNCATED:
            yield f"That turn {number} is cut off: OpenAI's messages cannot contain it."
        for part in turn.parts:
            if not _is_kept(turn, part.name):
                yield f"The part `{part.name}` of turn {number}: OpenAI's messages cannot contain it."


def _is_kept(turn: Turn, name: str) -> bool:
    is_call = any(header.part == name for header in turn.calls)
    return is_call or name in _NAMED or BLOCK_PART.fullmatch(name) is not None
