"""Parallel requests with the same messages: each is a trace of its own, and goes on as such, whatever interleaves."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest

from tests.sessions.test_book import answer, ask, assistant, complete, new_book, user
from weaklink.inspector.model import (
    CallHeader,
    ErrorPhase,
    Generation,
    GenerationError,
    Json,
    ParentWhy,
    Part,
    Role,
    Turn,
    TurnFlag,
)
from weaklink.inspector.sessions.resolver import SessionAssignment, SessionResolver
from weaklink.inspector.wire.events import DecodedTurn

FAILED = DecodedTurn(
    Turn(
        Role.ASSISTANT,
        (Part("text", ""),),
        generation=Generation(error=GenerationError(ErrorPhase.HTTP, "Overloaded.", 529)),
    )
)


def relation(placement: SessionAssignment) -> tuple[str, ParentWhy] | None:
    assert placement.begins is not None
    parent = placement.begins.parent
    return None if parent is None else (parent.external_id.value, parent.why)


def count_header(attempt: int) -> dict[str, Any]:
    return {"headers": (("x-stainless-retry-count", str(attempt)),)}


def test_agents_that_start_at_once_are_siblings_of_the_first_and_each_goes_on_with_its_answer() -> None:
    book = new_book()
    opening: list[Json] = [{"role": "system", "content": "You plan."}, user("Plan the week.")]
    placed = [ask(book, opening) for _ in range(3)]
    assert [placement.key for placement in placed] == ["1", "2", "3"]
    assert [relation(placement) for placement in placed] == [None, ("1", ParentWhy.SIBLING), ("1", ParentWhy.SIBLING)]
    assert [(placement.attempt, placement.retry_of) for placement in placed] == [(1, None)] * 3
    for number in (2, 0, 1):
        book.answered(placed[number], answer(f"plan {number}"))
    for number in (1, 2, 0):
        later = ask(book, [*opening, assistant(f"plan {number}"), user("Shorter.")])
        assert (later.key, later.begins) == (placed[number].key, None)
        assert [turn.parts[0].text for turn in later.turns] == ["Shorter."]


def test_siblings_whose_answers_are_alike_never_become_one() -> None:
    book = new_book()
    talk: list[Json] = [user("Yes or no?")]
    first, second = ask(book, talk), ask(book, talk)
    book.answered(first, answer("yes"))
    book.answered(second, answer("yes"))
    talk += [assistant("yes"), user("Sure?")]
    keys = [ask(book, talk), ask(book, talk)]
    assert {placement.key for placement in keys} == {first.key, second.key}
    assert [placement.begins for placement in keys] == [None, None]
    for placement, said in zip(keys, ("sure", "very"), strict=True):
        book.answered(placement, answer(said))
    for placement, said in zip(keys, ("sure", "very"), strict=True):
        assert ask(book, [*talk, assistant(said), user("Bye.")]).key == placement.key


def test_a_sibling_whose_answer_was_alike_goes_on_after_the_other_did() -> None:
    book = new_book()
    talk: list[Json] = [user("Yes or no?")]
    placed = [ask(book, talk), ask(book, talk)]
    for placement in placed:
        book.answered(placement, answer("yes"))
    talk += [assistant("yes"), user("Sure?")]
    quick = ask(book, talk)
    book.answered(quick, answer("sure"))
    quicker = ask(book, [*talk, assistant("sure"), user("Bye.")])
    slow = ask(book, talk)
    assert quicker.key == quick.key
    assert ({quick.key, slow.key}, slow.begins) == ({placement.key for placement in placed}, None)


def test_agents_that_start_one_after_the_other_and_get_the_same_answers_are_two_traces() -> None:
    for order in ("aabbab", "aababb", "aaabbb", "aabbba", "abaabb", "abbaab", "ababab", "abbbaa"):
        book = new_book()
        talk: list[Json] = [user("Yes or no?")]
        steps: list[list[Json]] = [talk, [*talk, assistant("yes"), user("Sure?")]]
        steps.append([*steps[1], assistant("sure"), user("Bye.")])
        step, keys = Counter[str](), Counter[str]()
        for agent in order:
            placement = ask(book, steps[step[agent]], **count_header(0))
            book.answered(placement, answer(("yes", "sure", "bye")[step[agent]]))
            step[agent] += 1
            keys[placement.key] += 1
        assert sum(keys.values()) == 6
        assert max(keys.values()) <= 3, (order, keys)


def test_samples_that_begin_when_an_earlier_one_has_ended_are_siblings_too() -> None:
    book = new_book()
    placed = [ask(book, [user("A haiku.")], at_s=0), ask(book, [user("A haiku.")], at_s=1)]
    book.answered(placed[0], answer("one"))
    placed.append(ask(book, [user("A haiku.")], at_s=2))
    book.answered(placed[1], answer("two"))
    book.answered(placed[2], answer("three"))
    placed.append(ask(book, [user("A haiku.")], at_s=3))
    assert len({placement.key for placement in placed}) == 4
    assert {relation(placement) for placement in placed[1:]} == {("1", ParentWhy.SIBLING)}


@pytest.mark.parametrize("ends_first", [False, True], ids=["overlaps", "follows"])
@pytest.mark.parametrize("sign", ["x-stainless-retry-count", "idempotency-key"])
def test_a_request_with_a_sign_of_a_retry_is_one(sign: str, *, ends_first: bool) -> None:
    book = new_book()
    values = ("0", "1") if sign == "x-stainless-retry-count" else ("k", "k")
    first = ask(book, [user("Hi")], headers=((sign, values[0]),))
    if ends_first:
        book.answered(first, FAILED)
    second = ask(book, [user("Hi")], headers=((sign, values[1]),))
    assert (second.key, second.attempt, second.retry_of) == (first.key, 2, first.request_id)


def test_a_request_after_an_attempt_that_failed_is_its_retry_though_another_one_is_open() -> None:
    book = new_book()
    first, second = ask(book, [user("Hi")]), ask(book, [user("Hi")])
    book.answered(second, FAILED)
    third = ask(book, [user("Hi")])
    assert (third.key, third.attempt) == (second.key, 2)
    fourth = ask(book, [user("Hi")])
    assert relation(fourth) == (first.key, ParentWhy.SIBLING)


@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize(
    ("arguments", "is_unreadable"),
    [('{"city": "Os', True), ("{'city': 1}", True), ("", False), ('{"city": "Oslo"}', False)],
)
def test_the_same_request_after_a_call_that_nobody_can_read_is_a_retry_but_for_samples_of_a_prompt(
    arguments: str, *, is_unreadable: bool, begins: bool
) -> None:
    book = new_book()
    messages: list[Json] = [user("Hi")]
    if not begins:
        book.answered(ask(book, messages, **count_header(0)), answer("Hello"))
        messages = [*messages, assistant("Hello"), user("Is it warm?")]
    first = ask(book, messages, **count_header(0))
    turn = Turn(Role.ASSISTANT, (Part("call:0", arguments),), calls=(CallHeader("call:0", "weather", "c1"),))
    book.answered(first, DecodedTurn(turn))
    second = ask(book, messages, **count_header(0))
    if is_unreadable and not begins:
        assert (second.key, second.attempt, second.retry_of) == (first.key, 2, first.request_id)
    else:
        assert relation(second) == (first.key, ParentWhy.SIBLING)


def test_a_client_that_counts_says_that_a_first_attempt_is_none_of_a_retry() -> None:
    book = new_book()
    first, second = (ask(book, [user("Hi")], **count_header(0)) for _ in range(2))
    book.answered(second, FAILED)
    third = ask(book, [user("Hi")], **count_header(0))
    again = ask(book, [user("Hi")], **count_header(1))
    assert relation(third) == (first.key, ParentWhy.SIBLING)
    assert (again.key, again.attempt) == (second.key, 2)


@pytest.mark.parametrize("member", ["model", "temperature"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_counted_retry_is_that_of_the_agent_that_sent_the_same_request(member: str, order: tuple[int, ...]) -> None:
    book = new_book()
    sent: list[dict[str, Json]] = [{member: f"value {number}"} for number in range(3)]
    first = [ask(book, [user("Hi")], members=members, **count_header(0)) for members in sent]
    for number in (1, 0, 2):
        book.answered(first[number], FAILED)
    for attempt in (2, 3):
        for number in order:
            again = ask(book, [user("Hi")], members=sent[number], **count_header(attempt - 1))
            assert (again.key, again.attempt) == (first[number].key, attempt)
            book.answered(again, FAILED)


@pytest.mark.parametrize("counts", [True, False])
def test_a_first_request_to_another_model_is_no_retry_of_one_that_failed(*, counts: bool) -> None:
    book = new_book()
    head: dict[str, Any] = count_header(0) if counts else {}
    first = ask(book, [user("Hi")], members={"model": "a"}, **head)
    book.answered(first, FAILED)
    second = ask(book, [user("Hi")], members={"model": "b"}, **head)
    assert (relation(second), second.attempt) == ((first.key, ParentWhy.SIBLING), 1)
    book.answered(second, answer("Hello."))
    third = ask(book, [user("Hi")], members={"model": "a"})
    assert (third.key, third.attempt) == (first.key, 2)


def test_another_model_that_takes_over_a_conversation_or_a_named_session_continues_it() -> None:
    book = new_book()
    talk: list[Json] = [user("Hi")]
    first = ask(book, talk, members={"model": "a"})
    book.answered(first, answer("Hello."))
    talk += [assistant("Hello."), user("So?")]
    book.answered(ask(book, talk, members={"model": "a"}), FAILED)
    assert ask(book, talk, members={"model": "b"}).key == first.key
    named: dict[str, Any] = {"headers": (("x-session-id", "s"),)}
    second = ask(book, [user("Go.")], members={"model": "a"}, **named)
    book.answered(second, FAILED)
    assert ask(book, [user("Go.")], members={"model": "b"}, **named).key == second.key


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_siblings_of_several_models_whose_answers_are_alike_go_on_with_their_own_model(order: tuple[int, ...]) -> None:
    book = new_book()
    talk: list[Json] = [user("Yes or no?")]
    placed = [ask(book, talk, members={"model": name}) for name in "abc"]
    for placement in placed:
        book.answered(placement, answer("yes"))
    talk += [assistant("yes"), user("Sure?")]
    for number in order:
        assert ask(book, talk, members={"model": "abc"[number]}).key == placed[number].key


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_raw_texts_of_several_models_that_are_alike_go_on_with_their_own_model(order: tuple[int, ...]) -> None:
    book = new_book()
    placed = [complete(book, "Once", name) for name in "abc"]
    for placement in placed:
        book.answered(placement, answer(" upon"))
    for number in order:
        assert complete(book, "Once upon a time", "abc"[number]).key == placed[number].key


def test_the_first_word_of_a_client_that_goes_on_early_decides_by_what_arrived() -> None:
    book = new_book()
    talk: list[Json] = [user("A number.")]
    first, second = ask(book, talk), ask(book, talk)
    arrived = {first.request_id: answer("one").turn, second.request_id: answer("two").turn}
    for placement, said in ((second, "two"), (first, "one")):
        later = place_early(book, [*talk, assistant(said), user("Next.")], arrived)
        assert later.key == placement.key


@pytest.mark.parametrize("second_so_far", [None, answer("").turn, answer("I lo").turn], ids=["none", "empty", "begun"])
def test_an_answer_in_other_words_is_of_the_sibling_that_has_its_answer_if_nothing_of_the_other_arrived(
    second_so_far: Turn | None,
) -> None:
    """smolagents sends back its calls as words, and an agent that was started with it waits for its first answer."""
    book = new_book()
    talk: list[Json] = [user("A number.")]
    first, second = ask(book, talk), ask(book, talk)
    book.answered(first, answer("I look."))
    has_begun = second_so_far is not None and second_so_far.parts[0].text
    arrived = {second.request_id: second_so_far} if second_so_far is not None else {}
    later = place_early(book, [*talk, assistant("Calling tools: x"), user("Next.")], arrived)
    assert later.key == (second.key if has_begun else first.key)


def test_siblings_that_write_code_go_on_with_their_own_though_it_is_sent_back_with_its_call() -> None:
    """smolagents' `CodeAgent`: the server left out the stop word `</code>`."""
    book = new_book()
    talk: list[Json] = [user("A number.")]
    placed = [ask(book, talk) for _ in range(3)]
    for number, placement in enumerate(placed):
        book.answered(placement, answer(f"Thought: Hm.\n<code>\nprint({number})\n"))
    for number in (2, 0, 1):
        call = {"id": "call_1", "function": {"name": "python_interpreter", "arguments": f"print({number})"}}
        sent = f"Thought: Hm.\n<code>\nprint({number})\n</code>\nCalling tools:\n{[call]}"
        assert ask(book, [*talk, assistant(sent), user("Observation: 1")]).key == placed[number].key


@pytest.mark.parametrize("words", ["I look.", ""], ids=["text", "no text"])
@pytest.mark.parametrize("added", ["", "\nCalling tools:\n[{'id': 'call_1'}]"], ids=["dropped", "in words"])
def test_siblings_whose_calls_are_not_sent_back_as_calls_go_on_each_once(words: str, added: str) -> None:
    """smolagents' `ToolCallingAgent` sends its calls as words, and none where they could not be made."""
    book = new_book()
    talk: list[Json] = [user("How warm?")]
    placed = [ask(book, talk) for _ in range(3)]
    parts = (Part("text", words), Part("call:0", "{}"))
    for number, placement in enumerate(placed):
        call = CallHeader("call:0", "get_weather", f"call_{number}")
        book.answered(placement, DecodedTurn(Turn(Role.ASSISTANT, parts, calls=(call,))))
    later = [ask(book, [*talk, assistant(words + added), user("Error: no")]).key for _ in placed]
    assert sorted(later) == [placement.key for placement in placed]


def place_early(book: SessionResolver, messages: list[Json], arrived: dict[str, Turn]) -> SessionAssignment:
    return ask(book, messages, so_far=arrived.get)


def test_siblings_fork_deep_in_a_conversation_with_their_history_copied() -> None:
    book = new_book()
    talk: list[Json] = [user("Hi")]
    first = ask(book, talk)
    book.answered(first, answer("Hello."))
    talk += [assistant("Hello."), user("A joke.")]
    second, third = ask(book, talk), ask(book, talk)
    assert (second.key, relation(third)) == (first.key, (first.key, ParentWhy.SIBLING))
    assert [(turn.parts[0].text, turn.flags) for turn in third.turns] == [
        ("Hi", {TurnFlag.COPIED_CONTEXT}),
        ("Hello.", {TurnFlag.COPIED_CONTEXT}),
        ("A joke.", frozenset()),
    ]


def test_what_differs_in_the_system_prompt_alone_is_no_sibling() -> None:
    book = new_book()
    placed = [ask(book, [{"role": "system", "content": f"Agent {n}."}, user("Go.")]) for n in (1, 2, 1)]
    assert [relation(placement) for placement in placed] == [None, None, ("1", ParentWhy.SIBLING)]


def test_a_sibling_is_found_when_the_first_of_them_is_forgotten() -> None:
    book = new_book()
    first, second = ask(book, [user("Hi")], at_s=0), ask(book, [user("Hi")], at_s=0)
    book.answered(first, answer("Hello."))
    assert book.forget_idle(1_000.0) == [first.key]
    again = ask(book, [user("Hi")], at_s=1, **count_header(1))
    assert (again.key, again.attempt) == (second.key, 2)
    book.answered(again, answer("Hey."))
    assert ask(book, [user("Hi"), assistant("Hey."), user("So?")], at_s=2).key == second.key


def test_nothing_of_siblings_is_held_when_they_are_forgotten() -> None:
    book = new_book()
    for number in range(20):
        talk: list[Json] = [user("Hi")]
        for placed in [ask(book, talk, at_s=number) for _ in range(5)]:
            book.answered(placed, answer("Hello."))
    book.forget_idle(1_000.0)
    assert (len(book), book.size) == (0, 0)


# A generator of interleavings, and the truth that it knows


@dataclass
class Agent:
    """One conversation: what it says next, and what it got; `number` is the truth."""

    number: int
    messages: list[Json]
    head: dict[str, Any]
    policy: str
    requests: int
    parent: "Agent | None" = None
    why: ParentWhy | None = None
    opening: int = 0
    attempt: int = 0
    open: list[SessionAssignment] = field(default_factory=list)
    tried: list[tuple[int, int]] = field(default_factory=list)
    answers: int = 0


class World:
    """Agents whose requests and answers interleave, as seeded dice have it.

    Every answer is its own text, so that the truth is never in doubt: each request belongs to its agent. Retries come
    with the client's count, with a key, or silently behind a failure. Silent clients have no sibling that begins while
    one of theirs has failed: who looks on could not tell which is which.
    """

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.book = new_book()
        self.now_s = 0.0
        self.words = count()
        self.agents: list[Agent] = []
        self.traces: dict[str, int] = {}
        self.wrong: list[str] = []
        self.seen: Counter[str] = Counter()
        for group in range(self.dice.randint(1, 3)):
            self._begin_group(group)

    def _begin_group(self, group: int) -> None:
        dice = self.dice
        head: dict[str, Any] = {"client": dice.choice(["a", "b"]), "headers": ()}
        if dice.random() < 0.3:
            head["headers"] = (("x-session-id", f"s{group}"),)
        opening: list[Json] = [{"role": "system", "content": f"Crew {'ABC'[group]}."}, user(f"Task {group}.")]
        policy = dice.choice(["count", "key", "silent"])
        first: Agent | None = None
        for _ in range(dice.choice([1, 2, 3, 5])):
            agent = self._agent(opening, head, policy, first, ParentWhy.SIBLING if first else None)
            first = first or agent

    def _agent(
        self, messages: list[Json], head: dict[str, Any], policy: str, parent: Agent | None, why: ParentWhy | None
    ) -> Agent:
        agent = Agent(
            len(self.agents), list(messages), head, policy, self.dice.randint(1, 4), parent, why, len(messages)
        )
        self.agents.append(agent)
        return agent

    def run(self) -> None:
        starting = list(self.agents)  # they start while the first of each group is open
        for agent in starting:
            self.ask(agent)
            self.now_s += self.dice.random()
        while live := [agent for agent in self.agents if agent.open or agent.requests]:
            self.now_s += self.dice.random() * 3
            self._step(self.dice.choice(live))

    def _step(self, agent: Agent) -> None:
        dice = self.dice
        if not agent.open:
            self.ask(agent)
            return
        placement = agent.open.pop(0)
        if agent.attempt and dice.random() < 0.25:
            if agent.policy == "count" and not self._oldest_open(agent):
                agent.open.insert(0, placement)
                return
            self._fail(agent, placement)
            return
        text = f"words {next(self.words)}"
        calls_early = dice.random() < 0.2
        agent.requests -= 1
        agent.attempt = 0
        agent.messages.append(assistant(text))
        agent.answers += 1
        if calls_early and agent.requests:
            agent.messages.append(user(f"word {next(self.words)}"))
            self.ask(agent, so_far={placement.request_id: answer(text).turn})
        self.book.answered(placement, answer(text))
        self._branch(agent)

    def _branch(self, agent: Agent) -> None:
        """Now and then somebody forks the conversation, alone or several at once, or a sub-agent begins."""
        dice = self.dice
        if agent.open or len(self.agents) > 12:
            return
        if agent.requests:
            agent.messages.append(user(f"word {next(self.words)}"))
        by_id = bool(agent.head["headers"])
        if agent.answers > 1 and dice.random() < 0.3:
            kept = agent.messages[: agent.opening + 1]  # with the first answer of its own
            self._at_once([*kept, user(f"fork {next(self.words)}")], agent, ParentWhy.FORK)
        elif by_id and dice.random() < 0.15:
            system: Json = {"role": "system", "content": "Search of " + "GHIJKLMNOPQRSTUVW"[len(self.agents)]}
            self._at_once([system, user("Look.")], agent, ParentWhy.SUBAGENT)

    def _at_once(self, messages: list[Json], parent: Agent, why: ParentWhy) -> None:
        first: Agent | None = None
        for _ in range(self.dice.choice([1, 1, 2, 3])):
            known = (first, ParentWhy.SIBLING) if first else (parent, why)
            agent = self._agent(messages, parent.head, parent.policy, *known)
            first = first or agent
            self.ask(agent)

    def _oldest_open(self, agent: Agent) -> bool:
        """Whether no other agent of this policy waits with the same messages: else nobody can say whose retry it is."""
        return not any(other is not agent and other.open and other.messages == agent.messages for other in self.agents)

    def _fail(self, agent: Agent, placement: SessionAssignment) -> None:
        """The attempt fails and is repeated: at once, where nothing else can tell it; else when its turn comes."""
        self.seen["retry"] += 1
        races = agent.policy != "silent" and self.dice.random() < 0.5
        if races:  # the client gave up and asks anew before the end of the first attempt is noted
            self.seen["race"] += 1
            self.ask(agent)
            self.book.answered(placement, FAILED)
        else:
            self.book.answered(placement, FAILED)
            self.ask(agent)

    def ask(self, agent: Agent, so_far: dict[str, Turn] | None = None) -> None:
        headers = agent.head["headers"]
        if agent.policy == "count":
            headers = (*headers, ("x-stainless-retry-count", str(agent.attempt)))
        elif agent.policy == "key":
            headers = (*headers, ("idempotency-key", f"{agent.number}.{agent.answers}"))
        placement = ask(
            self.book,
            agent.messages,
            self.now_s,
            client=agent.head["client"],
            headers=headers,
            so_far=(so_far or {}).get,
        )
        agent.attempt += 1
        agent.open.append(placement)
        self._check(agent, placement)

    def _check(self, agent: Agent, placement: SessionAssignment) -> None:
        what = f"agent {agent.number}, request {agent.answers + 1}, attempt {agent.attempt}"
        begins = not agent.tried
        agent.tried.append((agent.answers, agent.attempt))
        self.seen["requests"] += 1
        if begins:
            self.seen[agent.why.value if agent.why else "alone"] += 1
            if placement.begins is None:
                self.wrong.append(f"{what}: goes on with trace {placement.key}")
                return
            self.traces[placement.key] = agent.number
            parent = placement.begins.parent
            actual = (self.traces.get(parent.external_id.value) if parent else None, parent.why if parent else None)
            truth = (agent.parent.number if agent.parent else None, agent.why)
            of_session = agent.why is ParentWhy.SUBAGENT  # whichever of its agents began it
            if actual[1] is not truth[1] or (actual[0] != truth[0] and not of_session):
                self.wrong.append(f"{what}: is {actual}, not {truth}")
        elif placement.begins is not None or self.traces.get(placement.key) != agent.number:
            self.wrong.append(f"{what}: in trace of agent {self.traces.get(placement.key)}")
        if placement.attempt != agent.attempt:
            self.wrong.append(f"{what}: is attempt {placement.attempt}")


def run_worlds(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    wrong: dict[int, list[str]] = {}
    for seed in seeds:
        world = World(seed)
        world.run()
        seen += world.seen
        if world.wrong:
            wrong[seed] = world.wrong
    assert not wrong, f"{len(wrong)} of {len(seeds)} interleavings, first {next(iter(wrong.items()))}"
    return seen


@pytest.mark.parametrize("count", [300, pytest.param(1_000, marks=pytest.mark.slow)])
def test_made_up_interleavings_give_the_traces_that_are_known_to_be_there(count: int) -> None:
    seen = run_worlds(range(count))
    assert min(seen[kind] for kind in ("sibling", "fork", "subagent", "retry", "race", "alone")) >= count / 10, seen


class Twins:
    """Agents that say the same and get one of two answers: nobody can tell them apart, but they are never fewer."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.book = new_book()
        self.held: dict[str, list[Json]] = {}
        self.waiting: dict[str, SessionAssignment] = {}

    def run(self) -> None:
        dice = self.dice
        talks: list[list[Json]] = [[user("Yes or no?")] for _ in range(dice.randint(2, 5))]
        left = [dice.randint(1, 4) for _ in talks]
        open_: dict[int, SessionAssignment] = {number: self.ask(talk) for number, talk in enumerate(talks)}
        while open_ or any(left):
            number = dice.choice([n for n in range(len(talks)) if n in open_ or left[n]])
            if number not in open_:
                open_[number] = self.ask(talks[number])
                continue
            said = dice.choice(["yes", "yes", "no"])
            placement = open_.pop(number)
            self.book.answered(placement, answer(said))
            self.held[placement.key] = [*talks[number], assistant(said)]
            del self.waiting[placement.key]
            left[number] = max(left[number] - 1, 0)
            talks[number] += [assistant(said), user(dice.choice(["Sure?", "Really?"]))]
        assert len(self.held) == len(talks), "as many traces as agents"

    def ask(self, talk: list[Json]) -> SessionAssignment:
        placement = ask(self.book, talk)
        assert placement.key not in self.waiting, "two live ones in one trace"
        assert placement.attempt == 1, "a retry where there was none"
        held = self.held.setdefault(placement.key, [])
        assert talk[: len(held)] == held, "a trace goes on with the history that it has"
        self.waiting[placement.key] = placement
        return placement


@pytest.mark.parametrize(
    "seeds", [range(first_seed, first_seed + 100) for first_seed in range(0, 500, 100)], ids=lambda seeds: seeds.start
)
def test_agents_that_nobody_can_tell_apart_stay_as_many_as_they_are(seeds: range) -> None:
    for seed in seeds:
        Twins(seed).run()


def test_an_id_of_a_session_says_whose_retry_it_is_whatever_was_overtaken_elsewhere() -> None:
    book = new_book()
    for name in ("s1", "s2"):
        headers = [(("x-session-id", name), ("x-stainless-retry-count", str(attempt))) for attempt in (0, 0, 1)]
        first = ask(book, [user("Hi")], headers=headers[0])
        if name == "s1":
            book.answered(first, FAILED)
            again = ask(book, [user("Hi")], headers=headers[1])
            book.answered(again, answer("Hello."))
        else:
            again = ask(book, [user("Hi")], headers=headers[2])
        assert (again.key, again.attempt) == (first.key, 2)


def test_a_gateway_may_repeat_a_counted_attempt_that_failed() -> None:
    book = new_book()
    first = ask(book, [user("Hi")], **count_header(0))
    book.answered(first, FAILED)
    for attempt, count_ in ((2, 1), (3, 1), (4, 2)):
        again = ask(book, [user("Hi")], **count_header(count_))
        assert (again.key, again.attempt) == (first.key, attempt)
        book.answered(again, FAILED)


class CountingTwins:
    """Agents that say and hear the same, and whose SDK counts its retries: no trace holds two of them."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.book = new_book()
        self.complete: Counter[tuple[str, int]] = Counter()

    def run(self) -> None:
        """Requests begin, fail and are answered in any order; a failure may be noted after the retry has begun."""
        dice = self.dice
        requests, agents = dice.randint(1, 3), dice.randint(2, 6)
        failures = [[dice.choice([0, 1, 1, 2]) for _ in range(requests)] for _ in range(agents)]
        where = [(0, 0)] * agents
        in_flight: dict[int, SessionAssignment] = {}
        while live := [number for number, (request, _) in enumerate(where) if request < requests]:
            number = dice.choice(live)
            request, attempt = where[number]
            placement = in_flight.pop(number, None)
            if placement is None:
                in_flight[number] = self.ask(request, attempt)
            elif attempt < failures[number][request]:
                self.book.answered(placement, FAILED)
                where[number] = (request, attempt + 1)
            else:
                self.book.answered(placement, answer("yes"))
                self.complete[placement.key, request] += 1
                where[number] = (request + 1, 0)
        assert self.complete == Counter(dict.fromkeys(self.complete, 1)), "one answer to each request of a trace"
        for request in range(requests):
            assert sum(of == request for _, of in self.complete) == agents, "each agent's answer in a trace of its own"

    def ask(self, request: int, attempt: int) -> SessionAssignment:
        said: list[Json] = [user("Sure?"), *[assistant("yes"), user("Really?")] * request]
        return ask(self.book, said, **count_header(attempt))


@pytest.mark.parametrize(
    "seeds", [range(first_seed, first_seed + 200) for first_seed in range(0, 1000, 200)], ids=lambda seeds: seeds.start
)
def test_agents_that_say_and_hear_the_same_each_have_their_answers_whatever_was_retried(seeds: range) -> None:
    for seed in seeds:
        CountingTwins(seed).run()
