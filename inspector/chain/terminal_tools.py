"""Tools that end the work or hand it over: they need no result and no final answer."""

import re

# OpenHands `finish`, SWE-agent `submit`, smolagents `final_answer`, Pydantic AI `final_result`, Cline and Roo Code
# `attempt_completion`, tau-bench and the OpenAI Agents SDK `transfer_to_...`.
_NAMES_TABLE = (
    "finish finished submit submit_answer submit_final_answer final_result final_answer finish_task task_complete "
    "task_done complete complete_task mark_task_complete attempt_completion done stop terminate exit end end_task "
    "end_conversation end_call hang_up handoff hand_off escalate_to_human"
)
_NAMES = frozenset(_NAMES_TABLE.split())
_HAND_OVERS = ("transfer_to_", "handoff_to_", "hand_off_to_", "hand_over_to_", "final_result_")
_NAMESPACE = re.compile(r"(?:.*(?:[.:/]|__))?", re.DOTALL)


def is_terminal(tool: str | None) -> bool:
    """Whether a call of this tool ends the work or hands it over."""
    if tool is None or len(tool) > 200:
        return False
    name = bare_name(tool)
    return name in _NAMES or name.startswith(_HAND_OVERS)


def bare_name(tool: str) -> str:
    """A tool's name in lower case, with underscores and no namespace: `functions.Final-Answer` is `final_answer`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool[:200])
    flat = snake.lower().replace("-", "_")
    return flat[_NAMESPACE.match(flat).end() :]  # type: ignore[union-attr]  # it matches any text
