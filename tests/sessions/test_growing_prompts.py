"""Agents that send one message, to which they add each answer and what they observed: LangChain's scratchpad."""

import random
from collections import Counter

import pytest

from tests.sessions.test_book import answer, ask, new_book, user
from weaklink.inspector.model import Json
from weaklink.inspector.sessions.resolver import SessionAssignment

TEMPLATES = ("Question: {question}\nThought:{scratchpad}", "{question}\n\n{scratchpad}\n (reminder: one JSON blob)")


class Agent:
    """An agent whose history is `scratchpad`, and the texts of the turns that its trace must have."""

    def __init__(self, question: str, template: str) -> None:
        self.question, self.template, self.scratchpad = question, template, ""
        self.texts = [template.format(question=question, scratchpad="")]

    def request(self) -> list[Json]:
        return [user(self.template.format(question=self.question, scratchpad=self.scratchpad))]

    def hear(self, text: str, observation: str) -> None:
        observed = f"\nObservation: {observation}\nThought: "
        self.scratchpad += text + observed
        self.texts += [text, observed]


class Agents:
    """Some agents, asking at once; those with the same question hear the same answers or others."""

    def __init__(self, seed: int) -> None:
        self.chance, self.book = random.Random(seed), new_book()
        template = self.chance.choice(TEMPLATES)
        self.agents = [Agent(self.chance.choice("ab"), template) for _ in range(self.chance.randint(1, 4))]
        self.traces: dict[str, list[str]] = {}

    def _take(self, placement: SessionAssignment, text: str) -> None:
        self.traces.setdefault(placement.key, []).extend(turn.parts[0].text for turn in placement.turns)
        self.traces[placement.key].append(text)
        self.book.answered(placement, answer(text))

    def run(self) -> None:
        for second in range(self.chance.randint(1, 4)):
            asking = [(agent, ask(self.book, agent.request(), second)) for agent in self.agents]
            self.chance.shuffle(asking)
            for agent, placement in asking:
                text = "".join(map(self.chance.choice, (("", " "), ("I do x.", "I do y."), ("", "\n"))))
                self._take(placement, text)
                agent.hear(text, self.chance.choice("12"))
        written = Counter(tuple(texts) for texts in self.traces.values())
        assert written == Counter(tuple(agent.texts[:-1]) for agent in self.agents)


@pytest.mark.parametrize(
    "seeds", [range(start, start + 200) for start in range(0, 1000, 200)], ids=lambda seeds: seeds.start
)
def test_each_of_several_agents_has_a_trace_with_its_own_answers(seeds: range) -> None:
    for seed in seeds:
        Agents(seed).run()


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_request_that_failed_is_repeated_in_its_trace(template: str) -> None:
    book, agent = new_book(), Agent("a", template)
    first = ask(book, agent.request())
    book.answered(first, answer("I do x."))
    agent.hear("I do x.", "1")
    failed = ask(book, agent.request(), 1)
    book.answered(failed, answer(""))
    again = ask(book, agent.request(), 2)
    assert (again.key, again.attempt, again.retry_of) == (first.key, 2, failed.request_id)
    assert not again.turns
    book.answered(again, answer("I do y."))
    agent.hear("I do y.", "2")
    assert [turn.parts[0].text for turn in ask(book, agent.request(), 3).turns] == agent.texts[-1:]


@pytest.mark.parametrize(
    ("asked", "said", "then"),
    [("1", "0", "10 plus 2?"), ("1", "0", "10"), ("a\nb", "c", "ac\nd"), ("Say A.", "A", "Say B.A\n")],
)
def test_a_prompt_that_begins_like_another_and_its_answer_is_another_conversation(
    asked: str, said: str, then: str
) -> None:
    book = new_book()
    first = ask(book, [user(asked)])
    book.answered(first, answer(said))
    assert ask(book, [user(then)], 1).key != first.key
