"""The book of sessions: what it holds, what it forgets, and that conversations do not disturb one another."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from weaklink.inspector.apis.providers import read_request
from weaklink.inspector.model import ExternalId, Json, Part, Role, Turn
from weaklink.inspector.sessions.exchange import RequestHead
from weaklink.inspector.sessions.resolver import SessionAssignment, SessionResolver
from weaklink.inspector.wire.events import DecodedTurn

PATH = "/v1/chat/completions"


def named() -> Iterator[ExternalId]:
    return (ExternalId("recording", str(number)) for number in count(1))


def new_book(max_sessions: int = 10_000) -> SessionResolver:
    return SessionResolver(name_trace=named().__next__, max_sessions=max_sessions)


def user(text: str) -> dict[str, Json]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Json]:
    return {"role": "assistant", "content": text}


def answer(text: str) -> DecodedTurn:
    return DecodedTurn(Turn(Role.ASSISTANT, (Part("text", text),)))


def ask(
    book: SessionResolver,
    messages: list[Json],
    at_s: float = 0.0,
    so_far: Callable[[str], Turn | None] = lambda request_id: None,
    *,
    members: dict[str, Json] | None = None,
    **head: Any,
) -> SessionAssignment:
    """Place a request with these messages; `members` are others of its body."""
    body: dict[str, Json] = {"model": "m", "messages": messages, **(members or {})}
    request = read_request(PATH, body)
    assert request is not None
    return book.assign(RequestHead("POST", PATH, at_s=at_s, **head), request, json.dumps(body).encode(), body, so_far)


def complete(book: SessionResolver, prompt: str, model: str = "m") -> SessionAssignment:
    """Place a request to continue a raw text."""
    body: dict[str, Json] = {"model": model, "prompt": prompt}
    request = read_request("/v1/completions", body)
    assert request is not None
    return book.assign(RequestHead("POST", "/v1/completions", at_s=0.0), request, json.dumps(body).encode(), body)


CHATML = (
    "<|im_start|>system\nBe brief.\n<tools>[]</tools><|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
LLAMA = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
)


@pytest.mark.parametrize("template", [CHATML, LLAMA, "{}"], ids=["chatml", "llama", "plain"])
def test_a_raw_prompt_is_named_by_the_words_of_its_user(template: str) -> None:
    for words in ("How warm is it in Oslo?", "user manuals?\nWhere?", "<context>\nx\n</context>\nWhy?"):
        begins = complete(new_book(), template.format(words)).begins
        assert begins is not None
        assert begins.name == {"<": "Why?"}.get(words[0], words.split("\n", maxsplit=1)[0])


def test_a_recording_is_named_by_the_words_of_its_user_as_a_log_is() -> None:
    rules = "# AGENTS.md instructions for harbour\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"
    skills = f"<system-reminder>\n{'A skill. ' * 9_000}\n</system-reminder>"
    for messages in ([f"{skills}<env>x</env>Look at it."], [rules, "Look at it."], [skills, "Look at it."]):
        begins = ask(new_book(), [{"role": "user", "content": text} for text in messages]).begins
        assert begins is not None
        assert begins.name == "Look at it."


def test_a_conversation_of_200_requests_holds_each_turn_once() -> None:
    book = new_book()
    messages: list[Json] = [{"role": "system", "content": "S" * 5_000}]
    held: list[tuple[str, str]] = []
    for number in range(200):
        messages.append(user(f"question {number}"))
        placement = ask(book, messages)
        book.answered(placement, answer(f"answer {number}"))
        messages.append(assistant(f"answer {number}"))
        assert (placement.begins is None) == (number > 0)
        held += [(turn.role.value, turn.parts[0].text) for turn in placement.turns]
        held.append(("assistant", f"answer {number}"))
    assert held == [(message["role"], message["content"]) for message in messages if isinstance(message, dict)]
    assert len(book) == 1
    assert book.size < 8 * 400  # a few digests a message, however often it was sent


def test_a_sliding_window_of_messages_holds_each_turn_once_too() -> None:
    book = new_book()
    messages: list[Json] = []
    held: list[str] = []
    for number in range(100):
        messages.append(user(f"question {number}"))
        placement = ask(book, messages[-9:])
        book.answered(placement, answer(f"answer {number}"))
        messages.append(assistant(f"answer {number}"))
        held += [turn.parts[0].text for turn in placement.turns]
    assert held == [f"question {number}" for number in range(100)]
    assert len(book) == 1
    assert book.size < 6 * 200  # and not the whole window for each request


def test_the_longest_idle_trace_is_forgotten_and_its_digests_with_it() -> None:
    book = new_book(max_sessions=3)
    sizes = []
    for number in range(50):
        placement = ask(book, [user(f"conversation {number}")], at_s=number)
        book.answered(placement, answer("yes"))
        sizes.append(book.size)
    assert len(book) == 3
    assert set(sizes[2:]) == {3 * sizes[0]}
    assert book.forget_idle(0.0) == [str(number) for number in range(1, 48)]
    assert book.forget_idle(0.0) == []
    kept = ask(book, [user("conversation 49"), assistant("yes"), user("more")], at_s=60)
    gone = ask(book, [user("conversation 3"), assistant("yes"), user("more")], at_s=60)
    assert (kept.key, kept.begins) == ("50", None)
    assert gone.begins is not None


def test_a_trace_in_flight_is_never_forgotten() -> None:
    book = new_book(max_sessions=1)
    waiting = ask(book, [user("a long question")], at_s=0)
    for number in range(5):
        book.answered(ask(book, [user(f"short {number}")], at_s=number), answer("yes"))
    assert waiting.key not in book.forget_idle(1_000.0)
    book.answered(waiting, answer("at last"))
    assert ask(book, [user("a long question"), assistant("at last"), user("so?")]).key == waiting.key


def test_idle_traces_end() -> None:
    book = new_book()
    book.answered(ask(book, [user("early")], at_s=10), answer("yes"))
    book.answered(ask(book, [user("late")], at_s=100), answer("yes"))
    assert book.forget_idle(50) == ["1"]
    assert len(book) == 1


def test_an_answer_to_an_unknown_or_answered_request_changes_nothing() -> None:
    book = new_book()
    placement = ask(book, [user("Hi")])
    book.answered(placement, answer("Hello."))
    size = book.size
    book.answered(placement, answer("Again."))
    book.answered(SessionAssignment("9", None, (), request_id="9/1"), answer("What?"))
    assert book.size == size


def test_a_request_that_begins_before_the_last_answer_was_told_goes_on_with_it() -> None:
    book = new_book()
    first = ask(book, [user("Hi")])
    second = ask(book, [user("Hi"), assistant("Hello."), user("News?")])
    book.answered(first, answer("Hello."))
    book.answered(second, answer("None."))
    third = ask(book, [user("Hi"), assistant("Hello."), user("News?"), assistant("None."), user("Bye.")])
    assert [placement.key for placement in (first, second, third)] == ["1", "1", "1"]
    assert [turn.parts[0].text for turn in third.turns] == ["Bye."]


def test_an_agent_that_leaves_out_a_refused_answer_and_says_why_goes_on_with_its_trace() -> None:
    book = new_book()
    messages: list[Json] = [{"role": "system", "content": "Call a tool."}, user("Go.")]
    keys = []
    for number in range(3):
        placement = ask(book, messages, at_s=10.0 * number)
        keys.append(placement.key)
        assert [turn.parts[0].text for turn in placement.turns][-1:] == [messages[-1]["content"]]  # type: ignore[index, call-overload]
        assert len(placement.turns) == (2 if number == 0 else 1)
        book.answered(placement, answer("I am done."))
        messages.append(user("No tool call was found."))
    assert keys == [keys[0]] * 3
    later = ask(book, [*messages[:3], user("Next.")], at_s=600.0)
    assert later.begins is not None  # other words, or another day


def test_agents_whose_prompts_differ_in_a_number_and_begin_alike_are_not_one() -> None:
    book = new_book()
    keys = [
        ask(book, [{"role": "system", "content": f"You are agent {number}."}, user("Begin.")]).key for number in (1, 2)
    ]
    assert keys == ["1", "2"]


def test_spans_of_another_trace_that_ask_the_same_are_not_a_repetition() -> None:
    book = new_book()
    keys = []
    for trace in ("a", "b", "b"):
        headers = (("traceparent", f"00-{trace * 32}-{'1' * 16}-01"),)
        placement = ask(book, [user("Hi")], headers=headers)
        book.answered(placement, answer(""))
        keys.append(placement.key)
    assert keys == ["1", "2", "2"]


def test_a_response_without_words_can_be_gone_on_from() -> None:
    book = new_book()
    keys = []
    for continues, response_id in (("", "resp_1"), ("resp_1", "resp_2"), ("resp_2", "resp_3")):
        body: dict[str, Json] = {"model": "m", "input": f"after {continues}", "previous_response_id": continues}
        request = read_request("/v1/responses", body)
        assert request is not None
        placement = book.assign(RequestHead("POST", "/v1/responses"), request, json.dumps(body).encode(), body)
        book.answered(placement, replace(answer(""), response_id=response_id))
        keys.append(placement.key)
    assert keys == ["1", "1", "1"]


def test_every_name_is_unique_without_being_told_any() -> None:
    book = SessionResolver()
    keys = {ask(book, [user(f"conversation {number}")]).key for number in range(20)}
    assert len(keys) == 20


def test_a_body_without_messages_is_compared_by_its_bytes() -> None:
    book = new_book()
    keys = []
    bodies: tuple[dict[str, Json], ...] = ({"messages": []}, {"messages": []}, {"messages": [], "n": 2})
    for body in bodies:
        request = read_request(PATH, body)
        assert request is not None
        placement = book.assign(RequestHead("POST", PATH), request, json.dumps(body).encode(), body)
        book.answered(placement, answer("Hello."))
        keys.append(placement.key)
    assert keys == ["1", "1", "2"]


@dataclass(frozen=True)
class Request:
    """One request of a made-up conversation, and the words that answer it."""

    head: tuple[str, tuple[tuple[str, str], ...]]
    messages: tuple[Json, ...]
    answer: str


@st.composite
def conversations(draw: st.DrawFn, number: int) -> list[Request]:
    """One that goes on, repeats itself, forks and starts sub-agents; its first words or its id are its own."""
    by_id = draw(st.booleans())
    head = ("", (("x-session-id", f"s{number}"),)) if by_id else ("", ())
    opening: tuple[Json, ...] = (user("Hi" if by_id else f"Hi, I am {number}"),)
    asked = [Request(head, opening, draw(st.sampled_from(["yes", "no", ""])))]
    for _ in range(draw(st.integers(0, 5))):
        before = draw(st.sampled_from(asked)) if draw(st.booleans()) else asked[-1]
        kind = draw(st.sampled_from(["goes on", "repeats", "sub-agent"]))
        messages: tuple[Json, ...] = before.messages
        if kind == "goes on":
            messages = (*messages, assistant(before.answer), user(draw(st.sampled_from(["a", "b"]))))
        elif kind == "sub-agent":
            messages = ({"role": "system", "content": f"Agent of {'ABCD'[number]}"}, user("work"))
        asked.append(Request(head, messages, draw(st.sampled_from(["yes", "no", ""]))))
    return asked


def placed(order: list[int], talks: list[list[Request]]) -> dict[int, list[Any]]:
    """Each conversation's placements, in the order of `order`, with the names of traces in the conversation's own."""
    book = new_book()
    waiting: dict[int, SessionAssignment] = {}
    names: dict[int, dict[str, int]] = defaultdict(dict)
    placements: dict[int, list[Any]] = defaultdict(list)
    steps_taken: dict[int, int] = defaultdict(int)
    for number in order:
        step, steps_taken[number] = steps_taken[number], steps_taken[number] + 1
        if step // 2 >= len(talks[number]):
            continue
        asked = talks[number][step // 2]
        if step % 2:
            book.answered(waiting[number], answer(asked.answer))
            continue
        client, headers = asked.head
        placement = waiting[number] = ask(book, list(asked.messages), client=client, headers=headers)
        own = names[number]
        trace = own.setdefault(placement.key, len(own))
        parent = placement.begins and placement.begins.parent
        placements[number].append(
            (
                trace,
                parent and (own.get(parent.external_id.value), parent.why),
                [(turn.role, turn.parts, turn.flags) for turn in placement.turns],
                placement.attempt,
                placement.retry_of and placement.retry_of.partition("/")[2],
            )
        )
    return placements


@pytest.mark.invariants
@given(st.data())
def test_conversations_that_interleave_give_the_traces_that_each_gives_alone(data: st.DataObject) -> None:
    talks = [data.draw(conversations(number)) for number in range(data.draw(st.integers(2, 4)))]
    steps = [number for number, talk in enumerate(talks) for _ in range(2 * len(talk))]
    together = placed(data.draw(st.permutations(steps)), talks)
    for number, talk in enumerate(talks):
        assert together[number] == placed([number] * (2 * len(talk)), talks)[number]


@pytest.mark.invariants
@given(st.data())
def test_every_request_reads_whole_from_its_trace(data: st.DataObject) -> None:
    """The turns of a trace, from its beginning, hold every message of each request that it has."""
    talk = data.draw(conversations(0))
    book = new_book()
    held: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for asked in talk:
        client, headers = asked.head
        placement = ask(book, list(asked.messages), client=client, headers=headers)
        held[placement.key] |= {(turn.role.value, turn.parts[0].text) for turn in placement.turns}
        said = [(str(m["role"]), str(m["content"])) for m in asked.messages if isinstance(m, dict) and m["content"]]
        assert held[placement.key] >= set(said)
        book.answered(placement, answer(asked.answer))
        held[placement.key].add(("assistant", asked.answer))


def test_two_last_messages_that_are_alike_do_not_join_strangers() -> None:
    book = new_book()
    book.answered(ask(book, [user("Rome?"), assistant("By air?"), user("yes")]), answer("Done."))
    other = ask(book, [user("Oslo?"), assistant("By sea?"), user("yes"), assistant("Done."), user("Thanks.")])
    assert other.begins is not None
    assert other.begins.parent is None
