"""Verifiers as functions: one verdict, and reward functions for reinforcement learning frameworks.

Each framework calls a reward function in its own way; a function for one of them refuses the call of another, because a
reward that ignores what it was given trains for nothing:

* TRL's `GRPOTrainer` (`trl/trainer/grpo_trainer.py`, `_calculate_rewards`): lists `prompts`, `completions`,
  `completion_ids` and a list for each column of the data set, by name: `reward`, `trl_reward`;
* `verifiers` (`Rubric`): `prompt`, `completion`, `answer`, `state`, `info` of one rollout, by name: `reward`;
* verl (`verl/workers/reward_manager/naive.py`): `data_source`, `solution_str`, `ground_truth` and `extra_info` of one
  answer: `verl_reward`;
* Atropos (`atroposlib/envs/reward_fns/reward_function.py`, `RewardFunction.compute`): `completions` as the first
  argument, and more by name: `atropos_reward`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, Protocol, TypedDict, Unpack, cast

from msgspec import Struct, structs

from weaklink.inspector.chain.expected_calls import CALLS
from weaklink.inspector.dataset.candidates import VerifierInput, candidate_of
from weaklink.inspector.dataset.data_files import DataRow
from weaklink.inspector.dataset.samples import read_sample
from weaklink.inspector.dataset.scoring import score_calls
from weaklink.inspector.dataset.verifiers import Verifier, VerifierVerdict, find_verifier, run_verifier
from weaklink.inspector.model import Json
from weaklink.inspector.rules.verification import EMPTY_ANSWER
from weaklink.inspector.segmentation import AUTO

_FACTS = (
    "schema",
    "response_format",
    "answer_format",
    "type",
    "annotation",
    "should_call_tool",
    "reward_model",
    *CALLS,
)
_TOOLS = ("tools", "functions")
_PROMPTS = ("prompt", "messages", "question", "raw_prompt")


class RewardFunction(Protocol):
    """A reward function for TRL (`prompts`, `completions`, columns) and for `verifiers` (`prompt`, `completion`)."""

    __name__: str

    def __call__(
        self, prompts: Sequence[Json] | None = None, completions: Sequence[Json] | None = None, **columns: object
    ) -> float | list[float]:
        """The reward of one `completion`, or the rewards of all `completions`. Raises TypeError without either."""
        ...


class ListRewardFunction(Protocol):
    """A reward function whose first argument is a list of completions; the columns of the data set come by name."""

    __name__: str

    def __call__(self, completions: Sequence[Json], **columns: object) -> list[float]:
        """The rewards of all completions."""
        ...


class ScoreFunction(Protocol):
    """verl's `compute_score`."""

    __name__: str

    def __call__(
        self, data_source: str, solution_str: str, ground_truth: object, extra_info: object = None, **more: object
    ) -> float:
        """The reward of one answer."""
        ...


class RewardOptions(TypedDict, total=False):
    """The options of every reward function; `reward` describes them, and `_Rewarding` has their defaults."""

    tools: Json
    schema: Json
    format: str
    select: Sequence[str]
    ignore: Sequence[str]
    require_call: bool | None
    passed: float
    failed: float
    partial: bool


class _Rewarding(Struct, frozen=True):
    """How an answer is rewarded: the verifier and its options, and the facts for rows that have none."""

    verifier: Verifier
    tools: Json = None
    schema: Json = None
    format: str = ""
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    require_call: bool | None = None
    passed: float = 1.0
    failed: float = 0.0
    partial: bool = False

    def of(self, prompt: Json, completion: Json, columns: Mapping[str, Json]) -> float:
        """The reward of one answer; None is an empty answer. Raises ValueError for facts that cannot be read."""
        facts = {name: columns[name] for name in _FACTS if columns.get(name) is not None}
        if self.schema is not None:
            facts.setdefault("schema", self.schema)
        offered = next((columns[name] for name in _TOOLS if columns.get(name) is not None), self.tools)
        answer = "" if completion is None else completion
        candidate = candidate_of(prompt, answer, tools=offered, format=self.format, facts=facts)
        candidate = structs.replace(candidate, require_call=self.require_call)
        if self.partial:
            return self.failed + (self.passed - self.failed) * self._score(candidate, answer, offered)
        verdict = run_verifier(self.verifier, candidate, select=self.select, ignore=self.ignore)
        return float(self.passed if verdict.passed else self.failed)

    def _score(self, candidate: VerifierInput, answer: Json, tools: Json) -> float:
        """The mean of the four scores of the answer's own calls, from 0 to 1; 0 for an empty answer."""
        if candidate.reference_error is not None or candidate.expected is None:
            raise ValueError(candidate.reference_error or "a partial reward needs a reference, and the row has none")
        if not run_verifier(self.verifier, candidate, select=(EMPTY_ANSWER.code,)).passed:
            return 0.0
        said: Json = [{"role": "assistant", "content": answer}] if isinstance(answer, str) else answer
        messages: list[Json] = [{"role": "user", "content": ""}, *(said if isinstance(said, list) else [said])]
        row = DataRow("", "line 1", 1, {"messages": messages, "tools": tools})
        return score_calls(read_sample(row, format=self.format or AUTO), candidate.expected).overall

    def of_all(
        self, prompts: Sequence[Json] | None, completions: Sequence[Json], columns: Mapping[str, object]
    ) -> list[float]:
        """The reward of each completion. Raises ValueError if there are more or fewer prompts."""
        if prompts is not None and len(prompts) != len(completions):
            raise ValueError(f"{len(prompts)} prompts for {len(completions)} completions")
        rows = _rows(columns, len(completions))
        return [
            self.of(prompt, answer, row)
            for prompt, answer, row in zip(prompts or repeat(None), completions, rows, strict=False)
        ]

    def named(self, function: Any) -> Any:
        """The function under the name that logs show: `tool_use_reward`."""
        function.__name__ = f"{self.verifier.name.replace('-', '_')}_reward"
        return function


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
    require_call: bool | None = None,
) -> VerifierVerdict:
    """The verdict of a verifier (`schema-adherence`, `tool-use`, ...) on one answer.

    `messages` are the conversation as OpenAI messages, or the user's message as a string. `completion` is the answer, a
    string or messages; without it, the answer is the last assistant message. `tools` are the offered tools in OpenAI's
    form. `schema` is the requested JSON Schema, `expected` the calls of the reference (`[]`: none), and `answer_format`
    a regular expression. `format` names the wire format of the answers; without it, the format is detected. `select`
    are rules instead of the verifier's own; `ignore` are rules that do not count. `require_call`: True makes an answer
    without a call fail if there is no reference, False makes it pass if there is one. Raises UnknownVerifierError,
    UnknownRuleError, UnknownFormatError, and ValueError for a reference or a schema that cannot be read.
    """
    chosen = find_verifier(verifier) if isinstance(verifier, str) else verifier
    facts: dict[str, Json] = {"schema": schema, "expected": expected, "answer_format": answer_format}
    candidate = candidate_of(messages, completion, tools=tools, format=format, facts=facts)
    candidate = structs.replace(candidate, require_call=require_call)
    return run_verifier(chosen, candidate, select=select, ignore=ignore)


def reward(verifier: str | Verifier = "tool-use", **options: Unpack[RewardOptions]) -> RewardFunction:
    """A reward function: `passed` (1.0) for an answer that passes the verifier, else `failed` (0.0).

    With `partial`, which only `tool-use` has, the reward lies between the two: at the mean of the four scores of
    `weaklink data score`. Every row then needs a reference.

    The same function works for TRL (`GRPOTrainer(reward_funcs=...)`), which passes `prompts`, `completions` and the
    data set's columns as lists, and for `verifiers` (`Rubric(funcs=...)`), which passes `prompt`, `completion`, `info`
    and more of one rollout. The columns, or the members of `info`, named `tools`, `functions`, `schema`,
    `response_format`, `answer_format`, `type` and `annotation` are used, and the reference: `expected`, `ground_truth`,
    `answers`, `reward_model` and the other names of `verify`; `tools` and `schema` given here are used if those columns
    are missing. `format`, `select`, `ignore` and `require_call` are those of `verify`. An empty answer fails. The
    function raises TypeError for the arguments of another framework, and ValueError for a reference it cannot read.
    """
    rewarding = _rewarding(verifier, options)

    def reward_function(
        prompts: Sequence[Json] | None = None, completions: Sequence[Json] | None = None, **columns: object
    ) -> float | list[float]:
        if completions is not None:
            _require_lists(prompts, completions)
            return rewarding.of_all(prompts, completions, columns)
        if prompts is not None or "completion" not in columns:
            raise TypeError(_wrong_arguments(columns))
        return rewarding.of(cast(Json, columns.get("prompt")), cast(Json, columns["completion"]), _facts_of(columns))

    return cast(RewardFunction, rewarding.named(reward_function))


def trl_reward(verifier: str | Verifier = "tool-use", **options: Unpack[RewardOptions]) -> RewardFunction:
    """A reward function for `GRPOTrainer(reward_funcs=...)` of TRL; the options are those of `reward`."""
    return reward(verifier, **options)


def verl_reward(verifier: str | Verifier = "tool-use", **options: Unpack[RewardOptions]) -> ScoreFunction:
    """A function with the signature of verl's `compute_score`, for `custom_reward_function`.

    The options are those of `reward`. `ground_truth` is the reference. If `extra_info` is an object, its `tools`,
    `prompt` (or `messages`, `question`) and the other columns of `reward` are used; without the prompt, it is not
    judged whether values come from it.
    """
    rewarding = _rewarding(verifier, options)

    def compute_score(
        data_source: str, solution_str: str, ground_truth: object, extra_info: object = None, **more: object
    ) -> float:
        info = _plain(extra_info)
        columns = {**info, "ground_truth": _plain(ground_truth)} if isinstance(info, dict) else {}
        columns = columns or {"ground_truth": _plain(ground_truth)}
        prompt = next((columns[name] for name in _PROMPTS if columns.get(name) is not None), None)
        return rewarding.of(prompt, solution_str, columns)

    return cast(ScoreFunction, rewarding.named(compute_score))


def atropos_reward(verifier: str | Verifier = "tool-use", **options: Unpack[RewardOptions]) -> ListRewardFunction:
    """A function with the signature of `RewardFunction.compute` of Atropos.

    The options are those of `reward`. Besides `completions`, `prompts` (or `prompt`, the same one for all) and the
    columns of `reward` are used: a list of one entry per completion, or one value for all. A list of calls is one
    reference for all, also if there are as many completions as calls.
    """
    rewarding = _rewarding(verifier, options)

    def compute(completions: Sequence[Json], **columns: object) -> list[float]:
        prompts = cast("Sequence[Json] | None", columns.get("prompts"))
        if prompts is None and columns.get("prompt") is not None:
            prompts = [cast(Json, columns["prompt"])] * len(completions)
        _require_lists(prompts, completions)
        return rewarding.of_all(prompts, completions, _repeated(columns, len(completions)))

    return cast(ListRewardFunction, rewarding.named(compute))


def _repeated(columns: Mapping[str, object], count: int) -> Mapping[str, object]:
    """The columns with each reference that is a list of calls once for every completion: a group has one task."""
    calls = {
        name: columns[name]
        for name in CALLS
        if isinstance(listed := columns.get(name), list) and all(isinstance(call, dict) for call in listed)
    }
    return {**columns, **{name: [value] * count for name, value in calls.items()}}


def _rewarding(verifier: str | Verifier, options: RewardOptions) -> _Rewarding:
    rewarding = _Rewarding(find_verifier(verifier) if isinstance(verifier, str) else verifier, **options)
    if rewarding.partial and not rewarding.verifier.uses_reference:
        raise ValueError(f"`{rewarding.verifier.name}` has no partial rewards: it compares with no reference")
    return rewarding


def _require_lists(prompts: object, completions: object) -> None:
    for name, value in (("prompts", prompts), ("completions", completions)):
        if value is not None and (isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence)):
            raise TypeError(f"`{name}` must be a list, one entry per completion, not {type(value).__name__}")


def _wrong_arguments(columns: Mapping[str, object]) -> str:
    if {"solution_str", "ground_truth"} & columns.keys():
        return "these are the arguments of verl's compute_score; use weaklink.verl_reward(...)"
    given = ", ".join(f"`{name}`" for name in columns) or "nothing"
    return f"a reward function needs `completions` (TRL) or `completion` (verifiers), and was given {given}"


def _plain(value: object) -> Json:
    """The value as lists and objects: frameworks pass what NumPy made of a Parquet column."""
    to_list: Callable[[], object] | None = getattr(value, "tolist", None)
    if to_list is not None:
        return _plain(to_list())
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return cast(Json, value)


def _facts_of(columns: Mapping[str, object]) -> Mapping[str, Json]:
    """The facts of one rollout: those in `info` and those passed by name."""
    info = columns.get("info")
    facts = dict(info) if isinstance(info, dict) else {}
    named = {name: columns[name] for name in (*_FACTS, *_TOOLS) if name in columns}
    return cast(Mapping[str, Json], {**facts, **named})


def _rows(columns: Mapping[str, object], count: int) -> list[Mapping[str, Json]]:
    """The columns as rows.

    A column that is not a list of this length, or is a list of tools itself, has the same value in each row.
    """
    facts = {name: columns[name] for name in (*_FACTS, *_TOOLS) if columns.get(name) is not None}
    listed = {
        name: value
        for name, value in facts.items()
        if isinstance(value, list)
        and len(value) == count
        and not (name in _TOOLS and isinstance(next(iter(value), None), dict))
    }
    same = {name: value for name, value in facts.items() if name not in listed}
    return [
        cast(Mapping[str, Json], {**same, **{name: value[index] for name, value in listed.items()}})
        for index in range(count)
    ]
