"""Which messages count as the same: what clients change on the way, and what makes another message."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_values
from weaklink.inspector.apis.openai.messages import read_message
from weaklink.inspector.model import CallHeader, Part, ResultHeader, Role, Turn
from weaklink.inspector.sessions.fingerprints import RunningDigest, fingerprint_of, message_digest


def said(*parts: tuple[str, str], id_: str | None = "c1") -> Turn:
    calls = tuple(CallHeader(name, "f", id_) for name, _ in parts if name.startswith("call:"))
    return Turn(Role.ASSISTANT, tuple(Part(*part) for part in parts), calls=calls)


@pytest.mark.parametrize(
    ("message", "other"),
    [
        (said(("text", "yes")), said(("text", "\n yes \n"))),
        (said(("text", "yes")), said(("text", "<think>\nwell\n</think>\n\nyes"))),
        (said(("text", "yes")), said(("text", "opened by the prompt</think>yes"))),
        (said(("text", "yes")), said(("text", "[THINK]well[/THINK]yes"))),
        (said(("text", "yes")), said(("reasoning", "well"), ("text", "yes"), ("wire:signature:0", "x"))),
        (said(("text", "yes")), said(("text", "yes"), ("choice1:text", "no"))),
        (said(("call:0", '{"a":1,"b":[2]}')), said(("text", ""), ("call:0", '{"b": [2], "a": 1}'))),
        (said(("call:0", "")), said(("call:0", "{}"))),
        (said(("call:0", "{broken")), said(("call:0", " {broken\n"))),
        (
            Turn(Role.USER, (Part("text", "<system-reminder>\nUse the list.\n</system-reminder>Go."),)),
            Turn(Role.USER, (Part("text", "Go."),)),
        ),
        (
            said(("content:1", '{"type":"image","cache_control":{"type":"ephemeral"}}')),
            said(("content:0", '{"type":"image"}')),
        ),
    ],
)
def test_what_a_client_changes_on_the_way_makes_no_other_message(message: Turn, other: Turn) -> None:
    assert message_digest(message) == message_digest(other)


@pytest.mark.parametrize(
    ("message", "other"),
    [
        (said(("text", "yes")), said(("text", "no"))),
        (said(("text", "yes")), Turn(Role.USER, (Part("text", "yes"),))),
        (said(("text", "a <think>b</think>")), said(("text", "a"))),
        (said(("call:0", '{"a":1}')), said(("call:0", '{"a":2}'))),
        (said(("call:0", "{}")), said(("call:0", "{}"), id_="c2")),
        (said(("call:0", "{}")), said(("call:0", "{}"), ("call:1", "{}"))),
        (said(("text", "{}")), said(("call:0", "{}"))),
        (
            Turn(Role.TOOL, (Part("text", "1"),), result=ResultHeader("c1")),
            Turn(Role.TOOL, (Part("text", "1"),), result=ResultHeader("c2")),
        ),
        (Turn(Role.USER, (Part("text", "<think>a</think>b"),)), Turn(Role.USER, (Part("text", "b"),))),
    ],
)
def test_what_a_message_says_makes_it_another(message: Turn, other: Turn) -> None:
    assert message_digest(message) != message_digest(other)


def test_a_system_prompt_differs_in_its_words_but_not_in_its_dates() -> None:
    def system(text: str) -> Sequence[Turn]:
        return (Turn(Role.SYSTEM, (Part("text", text),)), Turn(Role.USER, (Part("text", "Hi"),)))

    first, later, other = map(
        fingerprint_of, map(system, ("Mon 3 March 2025, 9:10 AM", "Tue 11 April 2026, 12:59 pm", "Hi"))
    )
    assert first.system != later.system
    assert first.system_words == later.system_words != other.system_words
    assert first.chain == later.chain == other.chain


@pytest.mark.invariants
@given(st.lists(st.dictionaries(st.sampled_from(["role", "content", "tool_calls"]), json_values()), max_size=2))
def test_no_messages_make_it_raise_and_digests_are_short(messages: list[dict[str, object]]) -> None:
    prints = fingerprint_of(tuple(read_message(message) for message in messages))  # type: ignore[arg-type]  # JSON values
    assert len(prints.chain) == len(prints.messages) + 1 == len(prints.roles) + 1
    assert {len(digest) for digest in prints.messages} <= {16}


@pytest.mark.invariants
@given(st.lists(st.text(st.characters(codec=None))), st.text(st.characters(codec=None)))
def test_a_text_digested_in_pieces_is_the_text_digested_whole(pieces: list[str], rest: str) -> None:
    growing, whole = RunningDigest(), RunningDigest()
    for piece in pieces:
        growing.add(piece)
    whole.add("".join(pieces))
    assert (growing.value, growing.length) == (whole.value, whole.length)
    growing.add(rest + "x")
    assert growing.value != whole.value
