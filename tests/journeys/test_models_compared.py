"""A program that asks several models the same: each answer, failure and retry is in the trace of its own model."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.journeys.story import TIMEOUT_S, listed_traces, recording_proxy, start_of_agent, variables

QUESTION = "how warm is it in the north?"
STATUSES = {"refused": "aborted", "slow-down": "ok", "answered": "ok", "malformed": "broken"}


@pytest.mark.parametrize(
    ("sdk", "together"),
    [
        pytest.param("openai_chat", True, id="openai-at-once"),
        pytest.param("anthropic_messages", False, id="anthropic-one-after-the-other"),
        pytest.param("openai_chat", False, id="openai-one-after-the-other", marks=pytest.mark.slow),
        pytest.param("anthropic_messages", True, id="anthropic-at-once", marks=pytest.mark.slow),
    ],
)
@pytest.mark.xdist_group("models")
def test_each_model_has_its_own_trace(sdk: str, model_url: str, tmp_path: Path, *, together: bool) -> None:
    models = [*STATUSES, "slow-down"]
    database = tmp_path / "runs.db"
    with recording_proxy(tmp_path, database, model_url) as address:
        commands = [_agent(sdk, model) for model in models] if together else [_agent(sdk, *models)]
        agents = [
            subprocess.Popen(command, cwd=tmp_path, env=variables(tmp_path, address), stdout=subprocess.DEVNULL)
            for command in commands
        ]
        for agent in agents:
            agent.wait(TIMEOUT_S)
    listed = Counter((trace["model"], trace["status"]) for trace in listed_traces(tmp_path, database))
    assert listed == Counter((model, STATUSES[model]) for model in models)


def _agent(sdk: str, *models: str) -> list[str]:
    words = [word for model in models for word in ("+", model, QUESTION)]
    return [*start_of_agent(sdk), *words[1:]]
