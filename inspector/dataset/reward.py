"""Verifiers as functions: one verdict, and reward functions for reinforcement learning frameworks."""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Protocol, cast

from inspector.dataset.candidates import candidate_of
from inspector.dataset.verifiers import Verifier, VerifierVerdict, find_verifier, run_verifier
from inspector.model import Json

_FACTS = ("schema", "response_format", "expected", "answer_format", "type", "annotation")


class RewardFunction(Protocol):
    """A reward function for TRL (`prompts`, `completions`, columns) and for `verifiers` (`prompt`, `completion`)."""

    __name__: str

    def __call__(
        self,
        prompts: Sequence[Json] | None = None,
        completions: Sequence[Json] | None = None,
        **columns: object,
    ) -> float | list[float]:
        """The reward of one `completion`, or the rewards of all `completions`."""
        ...


def verify(
    verifier: str | Verifier,
    messages: Json,
    completion: Json = None,
    *,
    tools: Json = None,
    schema: Json = None,
    expected: Json = None,
    answer_format: str | None = None,
    format: str = "",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> VerifierVerdict:
    """The verdict of a verifier (`schema-adherence`, `tool-use`, ...) on one answer.

    `messages` are the conversation as OpenAI messages, or the user's message as a string. `completion` is the answer, a
    string or messages; without it, the answer is the last assistant message. `tools` are the offered tools in OpenAI's
    form. `schema` is the requested JSON Schema, `expected` the calls of the reference (`[]`: none), and `answer_format`
    a regular expression. `format` names the wire format of the answers; without it, the format is detected. `select`
    are rules instead of the verifier's own; `ignore` are rules that do not count. Raises UnknownVerifierError,
    UnknownRuleError, UnknownFormatError, and ValueError for a reference or a schema that cannot be read.
    """
    chosen = find_verifier(verifier) if isinstance(verifier, str) else verifier
    facts: dict[str, Json] = {"schema": schema, "expected": expected, "answer_format": answer_format}
    candidate = candidate_of(messages, completion, tools=tools, format=format, facts=facts)
    return run_verifier(chosen, candidate, select=select, ignore=ignore)


def reward(
    verifier: str | Verifier = "tool-use",
    *,
    tools: Json = None,
    schema: Json = None,
    format: str = "",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    passed: float = 1.0,
    failed: float = 0.0,
) -> RewardFunction:
    """A reward function: `passed` for an answer that passes the verifier, else `failed`.

    The same function works for TRL (`GRPOTrainer(reward_funcs=...)`), which passes `prompts`, `completions` and the
    data set's columns as lists, and for `verifiers` (`Rubric(funcs=...)`), which passes `prompt`, `completion`, `info`
    and more of one rollout. The columns, or the members of `info`, named `tools`, `schema`, `response_format`,
    `expected`, `answer_format`, `type` and `annotation` are used; `tools` and `schema` given here are used if those
    columns are missing. Raises ValueError for a reference that cannot be read.
    """
    chosen = find_verifier(verifier) if isinstance(verifier, str) else verifier

    def reward_of(prompt: Json, completion: Json, columns: Mapping[str, Json]) -> float:
        facts = {name: columns[name] for name in _FACTS if columns.get(name) is not None}
        if schema is not None:
            facts.setdefault("schema", schema)
        offered = columns.get("tools")
        candidate = candidate_of(
            prompt, completion, tools=tools if offered is None else offered, format=format, facts=facts
        )
        return passed if run_verifier(chosen, candidate, select=select, ignore=ignore).passed else failed

    def reward_function(
        prompts: Sequence[Json] | None = None, completions: Sequence[Json] | None = None, **columns: object
    ) -> float | list[float]:
        if completions is None:
            return reward_of(
                cast(Json, columns.get("prompt")), cast(Json, columns.get("completion", "")), _facts_of(columns)
            )
        rows = _rows(columns, len(completions))
        row_prompts = repeat(None) if prompts is None else prompts
        return [
            reward_of(prompt, answer, row) for prompt, answer, row in zip(row_prompts, completions, rows, strict=False)
        ]

    reward_function.__name__ = f"{chosen.name.replace('-', '_')}_reward"
    return reward_function


def _facts_of(columns: Mapping[str, object]) -> Mapping[str, Json]:
    """The facts of one rollout: those in `info` and those passed by name."""
    info = columns.get("info")
    found = dict(info) if isinstance(info, dict) else {}
    named = {name: columns[name] for name in (*_FACTS, "tools") if name in columns}
    return cast(Mapping[str, Json], {**found, **named})


def _rows(columns: Mapping[str, object], count: int) -> list[Mapping[str, Json]]:
    """The columns as rows; a column that is not a list of this length has the same value in each row."""
    facts = {name: columns[name] for name in (*_FACTS, "tools") if columns.get(name) is not None}
    listed = {name: value for name, value in facts.items() if isinstance(value, list) and len(value) == count}
    same = {name: value for name, value in facts.items() if name not in listed}
    return [
        cast(Mapping[str, Json], {**same, **{name: value[at] for name, value in listed.items()}}) for at in range(count)
    ]
