"""Damaged texts of every format are read like any other: nothing raises, spans tile, chunking does not matter."""

import os
from itertools import pairwise
from random import Random

import pytest

from tests.examples import one_in
from tests.mutations import mutated_texts
from tests.test_invariants import cut, read_in_pieces
from weaklink.inspector.formats.format import Format
from weaklink.inspector.formats.registry import find_format, formats
from weaklink.inspector.model import Role

pytestmark = pytest.mark.invariants
# In the gate the same texts each time; `make fuzz` says how many, and tries others each time.
_COUNT = int(os.environ.get("WEAKLINK_FUZZ_DAMAGED_TEXTS", "3000"))
_SEED = 1 if _COUNT == 3000 else Random().randrange(1 << 32)


@pytest.mark.campaign
@pytest.mark.timeout(0 if _COUNT > 3000 else 600)
@pytest.mark.parametrize("dialect", formats(), ids=lambda dialect: dialect.name)
def test_chunking_does_not_matter_for_damaged_texts(dialect: Format) -> None:
    """The gate reads one in four of 3,000 texts, some of every format."""
    random = Random(_SEED)
    for mutation in one_in(12, mutated_texts(_SEED, -(-_COUNT // len(formats())), [dialect.name]), seed=dialect.name):
        text, prompt = mutation.text, mutation.prompt
        whole = read_in_pieces(dialect, [text], prompt, Role.ASSISTANT)
        assert "".join(span.range.of(text) for span in whole.spans) == text
        assert all(before.range.end == after.range.start for before, after in pairwise(whole.spans))
        places = [random.randint(0, len(text)) for _ in range(random.randint(1, 8))]
        for pieces in (list(text), cut(text, places)):
            assert read_in_pieces(dialect, pieces, prompt, Role.ASSISTANT) == whole, (
                f"seed {_SEED}, in pieces: {pieces!r}"
            )


@pytest.mark.parametrize("name", ["hermes", "ernie45", "longcat", "qwen", "granite4"])
@pytest.mark.parametrize("payload", ["}", '{"name": "f", "arguments": {}}\n', ""])
def test_a_broken_marker_before_an_opener_in_the_closers_place_is_read_alike_in_pieces(name: str, payload: str) -> None:
    dialect = find_format(name)
    marker = "<longcat_tool_call>" if name == "longcat" else "<tool_call>"
    for broken in (marker[:6], marker[:-2], marker.replace("_", "_\x01")):
        text = f"{broken}{marker}{payload}{marker}"
        whole = read_in_pieces(dialect, [text], "", Role.ASSISTANT)
        assert read_in_pieces(dialect, list(text), "", Role.ASSISTANT) == whole
