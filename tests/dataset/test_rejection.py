"""Rejection sampling: rates against brute force, groups, and the best of them."""

import json
import random
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weaklink.inspector.dataset.verified_rows import CandidateGroup, ScoredCandidate, group_key, pass_all, pass_at
from weaklink.inspector.model import Json

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=6)


def group(outcomes: list[bool], key: str = "g") -> CandidateGroup:
    return CandidateGroup(
        key, [ScoredCandidate(index, passed, float(index % 3)) for index, passed in enumerate(outcomes)]
    )


@given(st.lists(OUTCOMES, min_size=1, max_size=5), st.integers(1, 4))
def test_rates_are_those_of_every_draw_of_k_candidates(sets: list[list[bool]], k: int) -> None:
    groups = [group(outcomes) for outcomes in sets]
    drawn = [list(combinations(outcomes, k)) for outcomes in sets if len(outcomes) >= k]
    for rate, holds in ((pass_at(groups, k), any), (pass_all(groups, k), all)):
        if not drawn:
            assert rate is None
            continue
        assert rate is not None
        wanted = sum(sum(map(holds, draws)) / len(draws) for draws in drawn) / len(drawn)
        assert rate.value == pytest.approx(wanted)
        assert rate.groups == len(drawn)
        assert (rate.interval is None) == (len(drawn) < 2)
        if rate.interval is not None:
            assert 0 <= rate.interval.low <= rate.value + 1e-12
            assert rate.value - 1e-12 <= rate.interval.high <= 1


def test_the_interval_holds_the_true_rate_in_about_19_of_20_sets() -> None:
    draw = random.Random(7)  # a seeded simulation
    held = 0
    for _ in range(200):
        chances = [draw.betavariate(2, 2) for _ in range(40)]
        groups = [group([draw.random() < chance for _ in range(8)]) for chance in chances]
        rate = pass_at(groups, 1)
        assert rate is not None
        assert rate.interval is not None
        held += rate.interval.low <= 0.5 <= rate.interval.high
    assert 180 <= held <= 200


@given(OUTCOMES, st.integers(1, 4), st.integers(0, 3))
def test_the_best_pass_and_score_highest_and_a_seed_decides_alike(outcomes: list[bool], count: int, seed: int) -> None:
    candidates = group(outcomes)
    best = candidates.best(count, seed)
    assert best == group(outcomes).best(count, seed)
    assert len(best) == min(count, sum(outcomes))
    assert all(candidate.passed for candidate in best)
    others = [candidate.score for candidate in candidates.candidates if candidate.passed and candidate not in best]
    assert not best or max(others, default=-1.0) <= min(candidate.score for candidate in best)
    assert candidates.has_signal == (0 < sum(outcomes) < len(outcomes))


def test_candidates_of_one_prompt_share_a_key() -> None:
    ask: list[Json] = [{"role": "user", "content": "Hi"}]
    first: list[Json] = [*ask, {"role": "assistant", "content": "a"}]
    second: list[Json] = [*ask, {"role": "assistant", "content": "b"}]
    assert group_key({"messages": first}) == group_key({"messages": second})
    assert group_key({"messages": first}) != group_key({"messages": first, "tools": []})
    assert group_key({"prompt": "Hi", "completion": "a"}) == group_key({"prompt": "Hi", "completion": "b"})
    assert group_key({"prompt_id": 7, "completion": "a"}) == group_key({"prompt_id": "7", "prompt": "x"})


def test_rows_of_different_questions_are_different_groups_in_every_shape() -> None:
    call = [{"name": "f", "arguments": {}}]
    shapes: list[dict[str, Any]] = [
        {"query": "Q", "answers": call, "tools": []},
        {"question": [[{"role": "user", "content": "Q"}]], "function": []},
        {"instruction": "Q", "output": "a"},
        {"messages_and_choices": [{"role": "user", "content": "Q"}]},
        {"system": "S", "chat": "USER: Q\n\nASSISTANT: a"},
    ]
    for row in shapes:
        other = json.loads(json.dumps(row).replace("Q", "R"))
        assert group_key(row) == group_key(dict(row))
        assert group_key(row) != group_key(other), row
    assert group_key({"text": "a"}) != group_key({"text": "b"})


def test_rollouts_with_different_calls_are_candidates_of_one_prompt() -> None:
    asked: list[Json] = [{"role": "user", "content": "Q"}]
    first: Json = [*asked, {"role": "assistant", "content": "one"}, {"role": "tool", "content": "1"}]
    second: Json = [*asked, {"role": "assistant", "content": "two"}]
    assert group_key({"messages": first}) == group_key({"messages": second})
