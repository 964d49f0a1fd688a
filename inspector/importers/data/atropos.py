"""Atropos's groups of rollouts: one group per row, one trace per rollout, with its score.

A row is `{"tokens": [[...]], "masks": [[...]], "scores": [...], "messages": [...]}`; entry N of each list belongs to
rollout N (Atropos, `atroposlib/envs/base.py`, `ScoredDataGroup`). A rollout's messages are OpenAI's, in older ones with
the roles `environment` and `agent`; if the environment provided none, they are the whole text that its tokens decode
to, alone or as the only message. Masks are -100 for tokens of the input, which the model did not generate.
"""

from collections.abc import Iterator
from itertools import zip_longest

from msgspec.structs import replace

from weaklink.inspector.apis.openai.messages import read_messages
from weaklink.inspector.formats.transcript import read_transcript
from weaklink.inspector.importers.generations import answered_with
from weaklink.inspector.importers.identity import row_ids
from weaklink.inspector.importers.log_source import LogSource, traces_in_each_row
from weaklink.inspector.importers.records import Row
from weaklink.inspector.importers.source import Skipped
from weaklink.inspector.json_text import compact_json, list_of
from weaklink.inspector.memory import RECORD_MEMORY, transcript_memory
from weaklink.inspector.model import (
    ExternalId,
    Generation,
    Json,
    Outcome,
    Provenance,
    RecognisedBy,
    Role,
    Trace,
    Turn,
    Usage,
)

_INPUT_MASK = -100
_TOKENS = "token ids and masks are left out: only the tokenizer can map them to text"
_NOT_STORED = "the source does not store the model, tools or times"
_DECODED = "the conversation was decoded from its tokens as one text, and is split at the headers of its chat template"


def _rollouts(row: Row) -> Iterator[Trace | Skipped]:
    if not is_group(row.value):
        yield Skipped(row.record, "the row has no lists `tokens`, `masks` and `scores`")
        return
    scores, masks, listed = (list_of(row.value.get(key)) for key in ("scores", "masks", "messages"))
    settings = row.value.get("generation_params")
    parameters = compact_json(settings) if isinstance(settings, dict) and settings else ""
    if not listed:
        yield Skipped(row.record, "the group has no `messages`: reading only its tokens requires the model's tokenizer")
        return
    ids = row_ids(row)
    facts = zip_longest(listed, masks[: len(listed)], scores[: len(listed)])
    for number, (messages, mask, reward) in enumerate(facts, 1):
        record = f"{row.record}, rollout {number}"
        turns, warnings = _read(messages)
        if not turns:
            yield Skipped(record, "the rollout has no messages")
            continue
        generation = Generation(parameters=parameters, usage=_usage(mask, turns))
        yield Trace(
            turns=answered_with(turns, generation),
            name=f"group {row.number}, rollout {number}",
            external_ids=(*ids, ExternalId("rollout", str(number))),
            recognised_by=RecognisedBy.RECORD,
            outcome=Outcome(reward=float(reward)) if isinstance(reward, int | float) else None,
            provenance=Provenance(record=record, warnings=(_NOT_STORED, _TOKENS, *warnings)),
        )


def _read(messages: Json) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """A rollout's turns, and warnings about how they were found."""
    match messages:
        case str(text) if text and transcript_memory(text) <= RECORD_MEMORY:
            return read_transcript(text).turns, (_DECODED,)
        case [{"role": "user", "content": str(text)}] if transcript_memory(text) <= RECORD_MEMORY:
            turns = read_transcript(text).turns
            is_whole = len(turns) > 1 and any(turn.role is Role.ASSISTANT for turn in turns)
            return (turns, (_DECODED,)) if is_whole else (read_messages(messages), ())
        case list() if messages:
            return tuple(_user_turns_first(read_messages(messages))), ()
    return (), ()


def _user_turns_first(turns: tuple[Turn, ...]) -> Iterator[Turn]:
    """The turns; those of the environment before the first answer are the user's, the later ones are results."""
    is_answered = False
    for turn in turns:
        is_answered = is_answered or turn.role is Role.ASSISTANT
        is_user = not is_answered and turn.source_role == "environment"
        yield replace(turn, role=Role.USER, result=None) if is_user else turn


def _usage(mask: Json, turns: tuple[Turn, ...]) -> Usage:
    """The numbers of input and generated tokens according to the mask, if the rollout has only one answer."""
    if not isinstance(mask, list) or sum(turn.role is Role.ASSISTANT for turn in turns) != 1:
        return Usage()
    input_tokens = sum(one == _INPUT_MASK for one in mask)
    return Usage(input_tokens, len(mask) - input_tokens, computed=True)


def is_group(row: dict[str, Json]) -> bool:
    """Whether a row is a scored group: lists of tokens, of masks and of scores."""
    return all(isinstance(row.get(key), list) for key in ("tokens", "masks", "scores"))


ATROPOS = LogSource(
    name="atropos",
    signs="rows with lists of `tokens`, `masks` and `scores`",
    is_row=is_group,
    confidence=0.9,
    reader=lambda file: traces_in_each_row(file, _rollouts),
)
"""One trace per rollout of each group; a rollout with only tokens is skipped."""
