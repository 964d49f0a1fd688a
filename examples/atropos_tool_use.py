"""A small Atropos environment whose score is weaklink's verifier `tool-use`: 1 for a candidate that passes, else 0.

    pip install atroposlib weaklink
    python examples/atropos_tool_use.py serve --env.rows_file tasks.jsonl --slurm false

Each line of `tasks.jsonl` is a task: `messages` (the prompt), `tools`, and `expected` where the calls are known (`[]`:
none is needed). The environment asks the model for a group of answers, scores each, and sends the group to the trainer.
A group in which all or none passed has no signal and is left out.
"""

import json
from pathlib import Path
from typing import Any

from atroposlib.envs.base import BaseEnv, BaseEnvConfig, ScoredDataGroup

import weaklink


class ToolUseConfig(BaseEnvConfig):  # type: ignore[misc]  # atroposlib has no types
    """The usual configuration of an environment, the file with tasks, and the verifier's name."""

    rows_file: str = "tasks.jsonl"
    verifier: str = "tool-use"


class ToolUseEnv(BaseEnv):  # type: ignore[misc]  # atroposlib has no types
    """Asks for answers to tasks with tools, and scores them."""

    name = "tool_use"
    env_config_cls = ToolUseConfig

    async def setup(self) -> None:
        """Read the tasks."""
        lines = Path(self.config.rows_file).read_text(encoding="utf-8").splitlines()
        self.tasks: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
        self.next_task = 0

    async def get_next_item(self) -> dict[str, Any]:
        """The next task; after the last comes the first."""
        task = self.tasks[self.next_task % len(self.tasks)]
        self.next_task += 1
        return task

    async def collect_trajectories(self, item: dict[str, Any]) -> tuple[ScoredDataGroup | None, list[Any]]:
        """A group of answers to one task, scored."""
        answers = await self.server.chat_completion(
            messages=item["messages"],
            tools=item.get("tools"),
            n=self.config.group_size,
            max_tokens=self.config.max_token_length,
        )
        group = [[*item["messages"], _message(choice.message)] for choice in answers.choices]
        return self.score(item, group), []

    def score(self, item: dict[str, Any], group: list[list[dict[str, Any]]]) -> ScoredDataGroup | None:
        """The scored group of these conversations, which differ in their last message; None without signal."""
        reward = weaklink.reward(self.config.verifier, tools=item.get("tools"))
        scores = [self._score(reward, item, messages) for messages in group]
        if len(set(scores)) < 2:
            return None
        tokens, masks = zip(*(self._tokens(messages) for messages in group), strict=True)
        scored = ScoredDataGroup()
        scored["tokens"], scored["masks"], scored["scores"] = list(tokens), list(masks), scores
        scored["messages"] = group
        return scored

    @staticmethod
    def _score(reward: weaklink.RewardFunction, item: dict[str, Any], messages: list[dict[str, Any]]) -> float:
        facts = {key: item[key] for key in ("expected", "schema") if key in item}
        score = reward(prompt=messages[:-1], completion=messages[-1:], info=facts)
        assert isinstance(score, float)
        return score

    def _tokens(self, messages: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
        """The conversation's tokens, and the same with -100 for those that the model did not generate."""
        prompt = self.tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True)
        whole = self.tokenizer.apply_chat_template(messages, tokenize=False)
        given = len(self.tokenizer.encode(prompt, add_special_tokens=False))
        tokens = list(self.tokenizer.encode(whole, add_special_tokens=False))
        return tokens, [-100] * given + tokens[given:]

    async def evaluate(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: `weaklink data verify` reports pass@k of the rollouts that Atropos writes."""


def _message(message: Any) -> dict[str, Any]:
    """A chat completion's message as Atropos and weaklink take it."""
    said: dict[str, Any] = {"role": "assistant", "content": message.content or ""}
    if message.tool_calls:
        said["tool_calls"] = [call.model_dump() for call in message.tool_calls]
    return said


if __name__ == "__main__":
    ToolUseEnv.cli()
