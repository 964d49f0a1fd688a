"""A session without a title is named after what the user wanted."""

import pytest

from weaklink.inspector.model import Part, Role, Turn, TurnFlag
from weaklink.inspector.titles import first_words

_COMMAND = (
    "<command-message>review…</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>PR 12</command-args>"
)


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        ([_COMMAND], "/review PR 12"),
        (["[Request interrupted by user]", "start phoenix"], "start phoenix"),
        (["# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>", "rename it"], "rename it"),
        (["<system-reminder>x</system-reminder>\nSay hi<|im_end|>"], "Say hi"),
        (["x" * 300], "x" * 119 + "…"),
        (["<task>\nFix the login\n</task>\n\n<environment_details>x</environment_details>"], "Fix the login"),
        (["<env>x</env><user_query>\nFix the login\n</user_query>"], "Fix the login"),
        ([f"<env>{'x' * 19_985}</env>\nFix the login"], "Fix the login"),
        ([f"<system-reminder>{'skill ' * 5_000}</system-reminder>\n<env>x</env>Say hi"], "Say hi"),
        ([], ""),
        (
            ["We're solving this issue within our repository. Here's the text:\nISSUE:\nWrong page count\nMore."],
            "Wrong page count",
        ),
        (
            ["<uploaded_files>\n/w\n</uploaded_files>\nSee:\n<issue_description>\nBad sum\n</issue_description>"],
            "Bad sum",
        ),
        (["Please solve this issue: Look at it.\n\nYou can execute bash commands."], "Look at it."),
        (["New task:\nLook at it."], "Look at it."),
        (["\nCurrent Task: Look at it.\n\nThis is the expected criteria for your answer: A word"], "Look at it."),
        (["[[ ## question ## ]]\nWhere is it?\n\n[[ ## hint ## ]]\nFar."], "question: Where is it?"),
        (["[[ ## api_key ## ]]\nX"], "api_key: X"),  # without its name, the value could not be redacted
        (["New task: look at it."], "New task: look at it."),
        (["<b>Password:</b> hunter2-x9"], "<b>Password:</b> hunter2-x9"),  # alone, the value could not be redacted
    ],
)
def test_title(texts: list[str], title: str) -> None:
    assert first_words([Turn(Role.USER, (Part("text", text),)) for text in texts]) == title


def test_what_was_injected_is_not_the_user_s() -> None:
    injected = Turn(Role.USER, (Part("text", "rules"),), flags=frozenset({TurnFlag.INJECTED}))
    assert first_words([injected]) == ""
