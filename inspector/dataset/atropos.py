"""Atropos's scored groups: their rollouts as candidates, and candidates as groups.

A group is `{"tokens", "masks", "scores", "messages"?, ...}`, entry N of each list for rollout N; an environment writes
one a line (`atroposlib` 0.4, `atroposlib/envs/base.py`, `ScoredDataGroup`). A score that an environment derives from a
binary verifier is 1.0 or 0.0, or 1.0 and -1.0.
"""

from collections.abc import Iterable, Iterator, Sequence

from inspector.model import Json

PER_ROLLOUT = (
    *("tokens", "masks", "scores", "messages", "advantages", "ref_logprobs", "inference_logprobs", "overrides"),
    *("images", "distill_token_ids", "distill_logprobs"),
)
"""The members of a group that are lists with an entry a rollout."""
_SHARED = ("generation_params", "group_overrides")


def is_group(row: dict[str, Json]) -> bool:
    """Whether a row is a scored group: lists of tokens, of masks and of scores."""
    return all(isinstance(row.get(key), list) for key in ("tokens", "masks", "scores"))


def rollouts(group: dict[str, Json], prompt_id: str) -> Iterator[dict[str, Json]]:
    """The rollouts of a group as rows of their own: `messages`, `tokens`, `masks`, `score` and `prompt_id`.

    Every other member of the group that is no list of entries a rollout is in each row. Raises ValueError for a group
    whose lists have different lengths, or that has no messages: its tokens alone need the model's tokenizer.
    """
    scores = group["scores"]
    assert isinstance(scores, list)
    lists = {key: value for key in PER_ROLLOUT if isinstance(value := group.get(key), list) and value}
    if any(len(value) != len(scores) for value in lists.values()):
        told = ", ".join(f"{len(value)} of `{key}`" for key, value in lists.items())
        raise ValueError(f"the group's lists have different lengths: {told}")
    if "messages" not in lists and scores:
        raise ValueError("the group has no `messages`; its tokens alone need the model's tokenizer")
    shared = {key: value for key, value in group.items() if key not in PER_ROLLOUT}
    for at in range(len(scores)):
        own = {("score" if key == "scores" else key): value[at] for key, value in lists.items()}
        yield {"prompt_id": prompt_id, **shared, **own}


def scored_group(rows: Sequence[dict[str, Json]], scores: Iterable[float]) -> dict[str, Json]:
    """The group of these rows, with new scores.

    Members that not every row has are left out; `tokens` and `masks` of rows that never were tokens are empty lists.
    """
    group: dict[str, Json] = {key: value for key, value in (rows[0] if rows else {}).items() if key in _SHARED}
    for key in PER_ROLLOUT:
        if key == "scores":
            group[key] = list(scores)
        elif rows and all(key in row for row in rows):
            group[key] = [row[key] for row in rows]
        elif key in ("tokens", "masks"):
            group[key] = [row.get(key, []) for row in rows]
    return group
