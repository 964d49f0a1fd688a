"""Atropos: the example environment's score, and scored groups through `weaklink data verify`.

The real `atroposlib` is used where it is installed (`make test-atropos`); it brings 100 packages, so the gate runs the
same tests on what its documentation says of the classes that the example uses.
"""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from weaklink.inspector.dataset.verified_rows import PER_ROLLOUT, rollouts, scored_group
from weaklink.inspector.importers.data.atropos import ATROPOS, is_group

ROOT = Path(__file__).parents[2]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
PROMPT = [{"role": "user", "content": "How is the weather in Oslo?"}]


def call(city: str) -> str:
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}\n</tool_call>'


class WordTokenizer:
    """A token a word, in ChatML."""

    def apply_chat_template(
        self, messages: list[dict[str, Any]], *, tokenize: bool, add_generation_prompt: bool = False
    ) -> str:
        assert not tokenize
        turns = "".join(f"<|im_start|> {message['role']} {message['content']} <|im_end|> " for message in messages)
        return turns + ("<|im_start|> assistant " if add_generation_prompt else "")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        return [sum(map(ord, word)) for word in text.split()]


class _DocumentedConfig(SimpleNamespace):
    """`BaseEnvConfig`: a model whose fields have defaults."""

    def __init__(self, **given: Any) -> None:
        defaults = {"group_size": 4, "max_token_length": 2048, "rows_file": "tasks.jsonl", "verifier": "tool-use"}
        super().__init__(**{**defaults, **given})


class _DocumentedEnv:
    """`BaseEnv`, as far as the example uses it: its configuration, its server and its tokenizer."""

    config: Any
    server: Any
    tokenizer: Any


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example's module."""
    if importlib.util.find_spec("atroposlib") is None:
        base = ModuleType("atroposlib.envs.base")
        vars(base).update(BaseEnv=_DocumentedEnv, BaseEnvConfig=_DocumentedConfig, ScoredDataGroup=dict)
        for name in ("atroposlib", "atroposlib.envs"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, "atroposlib.envs.base", base)
    spec = importlib.util.spec_from_file_location("atropos_tool_use", ROOT / "examples" / "atropos_tool_use.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_environment_scores_its_answers_by_the_verifier(environment: Any, tmp_path: Path) -> None:
    answers = [call("Oslo"), call("Rome"), "It is 30 degrees.", call("Oslo")[:-12]]

    async def chat_completion(**asked: Any) -> Any:
        messages = [SimpleNamespace(content=text, tool_calls=None) for text in answers[: asked["n"]]]
        return SimpleNamespace(choices=[SimpleNamespace(message=message) for message in messages])

    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"messages": PROMPT, "tools": TOOLS}) + "\n", encoding="utf-8")
    env = environment.ToolUseEnv.__new__(environment.ToolUseEnv)  # without the server that a real one connects to
    env.config = environment.ToolUseConfig(rows_file=str(tasks), group_size=4)
    env.server, env.tokenizer = SimpleNamespace(chat_completion=chat_completion), WordTokenizer()

    async def group_of_a_task() -> Any:
        await env.setup()
        return await env.collect_trajectories(await env.get_next_item())

    group, backlog = asyncio.run(group_of_a_task())
    assert backlog == []
    assert group["scores"] == [1.0, 0.0, 0.0, 0.0]
    for tokens, masks in zip(group["tokens"], group["masks"], strict=True):
        generated = [token for token, mask in zip(tokens, masks, strict=True) if mask != -100]
        assert 0 < len(generated) < len(tokens)
        assert generated == tokens[-len(generated) :]
    answers[:] = [call("Rome")] * 4
    assert asyncio.run(env.collect_trajectories(env.tasks[0])) == (None, [])
    assert ATROPOS.recognises(SimpleNamespace(rows=[group])) > 0.5  # type: ignore[arg-type]  # a sample's rows


def test_groups_and_rollouts_are_each_other_s_reverse() -> None:
    group: dict[str, Any] = {
        "tokens": [[1, 2], [1, 3]],
        "masks": [[-100, 2], [-100, 3]],
        "scores": [1.0, 0.0],
        "messages": [[*PROMPT, {"role": "assistant", "content": text}] for text in ("a", "b")],
        "generation_params": {"temperature": 1.0},
    }
    assert is_group(group)
    rows = list(rollouts(group, "g1"))
    assert [row["score"] for row in rows] == [1.0, 0.0]
    assert [row["prompt_id"] for row in rows] == ["g1", "g1"]
    assert scored_group(rows, [1.0, 0.0]) == group
    assert set(group) - {"generation_params"} <= set(PER_ROLLOUT)


@pytest.mark.parametrize("broken", [{"tokens": [[1]]}, {"messages": None}])
def test_a_group_without_a_conversation_for_each_score_is_refused(broken: dict[str, Any]) -> None:
    group: dict[str, Any] = {"tokens": [[1], [2]], "masks": [[1], [2]], "scores": [1, 0], "messages": [PROMPT, PROMPT]}
    with pytest.raises(ValueError, match=r"lengths|tokenizer"):
        list(rollouts({**group, **broken}, "g"))
