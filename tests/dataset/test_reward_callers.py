"""Rewards are called with exactly the arguments that the installed trainers pass, as their own source states them.

Both import PyTorch where they call a reward, and verl Ray too: here the call is read from their source. `make
test-trainers` installs both without their dependencies; test_trl_training.py trains with TRL.
"""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import weaklink
from weaklink.inspector.model import Json

TOOLS: Json = [
    {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
ASKED = "How is the weather in Rome?"
RIGHT = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
WRONG = RIGHT.replace("Rome", "Oslo")
REFERENCE = [{"name": "get_weather", "arguments": {"city": "Rome"}}]


def source_of(package: str, *path: str) -> ast.Module:
    """The parsed source of a file of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed: make test-trainers")
    file = Path(spec.submodule_search_locations[0]).joinpath(*path)
    return ast.parse(file.read_text(encoding="utf-8"))


def keywords_of_calls(module: ast.Module, function: str) -> Iterator[set[str]]:
    """The keywords of each call of a function or a method of that name; those of `**` are left out."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name == function and node.keywords:
                yield {keyword.arg for keyword in node.keywords if keyword.arg is not None}


def members_set(module: ast.Module, name: str) -> set[str]:
    """The keys that the code sets in the dictionary of that name."""
    return {
        target.slice.value
        for node in ast.walk(module)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
        if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)
    }


def test_trl_s_trainer_calls_the_reward() -> None:
    module = source_of("trl", "trainer", "grpo_trainer.py")
    keywords = next(one for one in keywords_of_calls(module, "reward_func") if "prompts" in one)
    asked = [{"role": "user", "content": ASKED}]
    answers = [[{"role": "assistant", "content": text}] for text in (RIGHT, WRONG)]
    known: dict[str, Any] = {"prompts": [asked, asked], "completions": answers, "completion_ids": [[1], [2]]}
    assert keywords <= known.keys()
    columns = {"ground_truth": [REFERENCE, REFERENCE], **dict.fromkeys(members_set(module, "reward_kwargs"))}
    reward: Any = weaklink.trl_reward("tool-use", tools=TOOLS, format="hermes")
    assert reward(**{name: known[name] for name in keywords}, **columns) == [1.0, 0.0]


def test_verl_s_reward_managers_call_the_score() -> None:
    managers = ("naive", "dapo", "limited")
    calls = [
        keywords
        for name in managers
        for keywords in keywords_of_calls(
            source_of("verl", "experimental", "reward_loop", "reward_manager", f"{name}.py"), "compute_score"
        )
    ]
    assert len(calls) >= len(managers)
    known: dict[str, Any] = {"data_source": "tools", "ground_truth": REFERENCE, "extra_info": {"num_turns": 2}}
    score: Any = weaklink.verl_reward("tool-use", tools=TOOLS, format="hermes")
    for keywords in calls:
        assert keywords == {*known, "solution_str"}
        assert score(solution_str=RIGHT, **known) == 1.0
        assert score(solution_str=WRONG, **known) == 0.0
