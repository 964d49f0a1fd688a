"""Atropos's groups of rollouts: a row a group, a trace a rollout, with its score.

A row is `{"tokens": [[...]], "masks": [[...]], "scores": [...], "messages": [...]}`, entry N of each list for rollout
N
(Atropos, `atroposlib/envs/base.py`, `ScoredDataGroup`). A rollout's messages are OpenAI's, with `environment` and
`agent` for roles in older ones; or, where its environment gave none, the whole text that its tokens decode to, alone
or
as the only message. Masks are -100 where a token was given and not generated.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from inspector.apis.openai.messages import read_messages
from inspector.formats.transcript import read_transcript
from inspector.importers.identity import row_ids
from inspector.importers.records import Row, read_rows
from inspector.importers.source import FileSample, JsonObject, Skipped, SourceFile
from inspector.json_text import list_of
from inspector.memory import RECORD_MEMORY, transcript_memory
from inspector.model import ExternalId, Generation, Json, Outcome, Provenance, RecognisedBy, Role, Trace, Turn, Usage
from inspector.model.columns import Entries
from inspector.wire.provider_json import compact_json

_GIVEN = -100
_TOKENS = "token ids and masks are left out: only the tokenizer knows which text each is"
_NOT_STORED = "the source keeps no model, tools or times"
_DECODED = "the conversation was decoded from its tokens as one text, and is cut where its chat template has headers"


class AtroposImporter:
    """One trace a rollout."""

    name = "atropos"
    signs = "rows with lists of `tokens`, `masks` and `scores`"

    def recognises(self, sample: FileSample) -> float:
        """By rows with lists of tokens, of masks and of scores."""
        return 0.9 if any(map(_is_group, sample.rows)) else 0.0

    def read(self, file: SourceFile) -> Iterator[Trace | Skipped]:
        """The rollouts of each group; one that has tokens only is skipped."""
        for row in read_rows(file):
            if isinstance(row, Skipped):
                yield row
            elif not _is_group(row.value):
                yield Skipped(row.record, "the row has no lists `tokens`, `masks` and `scores`")
            else:
                yield from _rollouts(row)


def _is_group(row: JsonObject) -> bool:
    return all(isinstance(row.get(key), list) for key in ("tokens", "masks", "scores"))


def _rollouts(row: Row) -> Iterator[Trace | Skipped]:
    scores, masks, listed = (list_of(row.value.get(key)) for key in ("scores", "masks", "messages"))
    settings = row.value.get("generation_params")
    parameters = compact_json(settings) if isinstance(settings, dict) and settings else ""
    if not listed:
        yield Skipped(row.record, "the group has no `messages`: its tokens alone need the model's tokenizer")
        return
    ids = row_ids(row)
    for at, messages in enumerate(listed):
        record = f"{row.record}, rollout {at + 1}"
        turns, warnings = _read(messages)
        if not turns:
            yield Skipped(record, "the rollout has no messages")
            continue
        asked = Generation(parameters=parameters, usage=_usage(_at(masks, at), turns))
        reward = _at(scores, at)
        yield Trace(
            turns=tuple(replace(turn, generation=asked) if turn.role is Role.ASSISTANT else turn for turn in turns),
            name=f"group {row.number}, rollout {at + 1}",
            external_ids=(*ids, ExternalId("rollout", str(at + 1))),
            recognised_by=RecognisedBy.RECORD,
            outcome=Outcome(reward=float(reward)) if isinstance(reward, int | float) else None,
            provenance=Provenance(record=record, warnings=(_NOT_STORED, _TOKENS, *warnings)),
        )


def _read(messages: Json) -> tuple[Entries[Turn], tuple[str, ...]]:
    """A rollout's turns, and what is to be said of how they were found."""
    match messages:
        case str(text) if text and transcript_memory(text) <= RECORD_MEMORY:
            return read_transcript(text).turns, (_DECODED,)
        case [{"role": "user", "content": str(text)}] if transcript_memory(text) <= RECORD_MEMORY:
            turns = read_transcript(text).turns
            is_whole = len(turns) > 1 and any(turn.role is Role.ASSISTANT for turn in turns)
            return (turns, (_DECODED,)) if is_whole else (read_messages(messages), ())
        case list() if messages:
            return tuple(_asked_first(read_messages(messages))), ()
    return (), ()


def _asked_first(turns: Entries[Turn]) -> Iterator[Turn]:
    """An environment answers calls, but what it says before any answer it asks."""
    is_answered = False
    for turn in turns:
        is_answered = is_answered or turn.role is Role.ASSISTANT
        asks = not is_answered and turn.source_role == "environment"
        yield replace(turn, role=Role.USER, result=None) if asks else turn


def _usage(mask: Json, turns: Entries[Turn]) -> Usage:
    """How many tokens were given and generated, as the mask tells, for the only answer of a rollout."""
    if not isinstance(mask, list) or sum(turn.role is Role.ASSISTANT for turn in turns) != 1:
        return Usage()
    given = sum(one == _GIVEN for one in mask)
    return Usage(given, len(mask) - given, computed=True)


def _at(values: list[Json], at: int) -> Json:
    return values[at] if at < len(values) else None
