"""The same sessions in other clothes: what must not change a verdict, tried on every session of the rounds.

A line is run in another folder, after `set -e`, or shows the end of its output; a result states its exit code as
another agent writes it, has colours, a reminder of the agent or other line ends; the user greets first; the agent
writes its last words as bullets, under a heading, or with a courtesy at the end.
"""

import json
import re
from collections.abc import Callable
from functools import cache

import pytest

from tests.chain.building import chain_of
from tests.chain.test_short_rounds import ROUNDS, rows_of
from tests.examples import one_in
from weaklink.inspector.chain.steps import Chain

_CALL = re.compile(r"(call \S+ \w+ )(\{.*\})", re.DOTALL)
_RESULT = re.compile(r"(result \S+ )(.*)", re.DOTALL)
_TELLING = re.compile(r"\b(?:error|failed|failures?|passed|warning|denied|not found)\b", re.IGNORECASE)
_REMINDER = "<system-reminder>\nThe list of tasks was not used lately. Errors of it are not yours.\n</system-reminder>"
_CODE = re.compile(r"(result \S+ )Exit code (\d+)\n?(.*)", re.DOTALL)


def of_lines(change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    def changed(turn: str) -> str:
        match = _CALL.fullmatch(turn)
        arguments = json.loads(match[2]) if match is not None else {}
        line = arguments.get("command")
        if match is None or not isinstance(line, str) or not line.isascii() or set(arguments) != {"command"}:
            return turn
        return match[1] + json.dumps({"command": change(line)})

    return lambda turns: list(map(changed, turns))


def _in_folder(turns: list[str]) -> list[str]:
    """Each line in a folder; a session whose lines go to folders themselves would go to others from there."""
    goes_itself = any(turn.startswith("call ") and '"cd ' in turn for turn in turns)
    return turns if goes_itself else of_lines(lambda line: f"cd /srv/work && {line}")(turns)


def of_results(change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    """Each result that is text, changed; one that is JSON or in tags stays."""

    def changed(turn: str) -> str:
        match = _RESULT.fullmatch(turn)
        return turn if match is None or match[2].lstrip()[:1] in ("{", "[", "<", "") else match[1] + change(match[2])

    return lambda turns: list(map(changed, turns))


def _coloured(text: str) -> str:
    """Words by which programs tell how it went, as they are written on a terminal."""
    return _TELLING.sub("\x1b[1m\x1b[31m\\g<0>\x1b[0m", text)


def of_codes(template: str) -> Callable[[list[str]], list[str]]:
    return lambda turns: [
        turn if (match := _CODE.fullmatch(turn)) is None else match[1] + template.format(match[2], match[3])
        for turn in turns
    ]


def of_last_words(change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda turns: [
        *turns[:-1],
        f"say: {change(turns[-1].removeprefix('say: '))}" if turns[-1].startswith("say: ") else turns[-1],
    ]


def _with_tail(line: str) -> str:
    return line if any(sign in line for sign in "|;\n") else f"{line} 2>&1 | tail -30"


def _greeted(turns: list[str]) -> list[str]:
    return [turn.replace("user: ", "user: Hi! ") if "[Request interrupted" not in turn else turn for turn in turns]


VARIATIONS: dict[str, Callable[[list[str]], list[str]]] = {
    "in a folder": _in_folder,
    "set": of_lines(lambda line: f"set -euo pipefail\n{line}"),
    "end of the output": of_lines(_with_tail),
    "Codex's code": of_codes("Wall time: 0.5 seconds\nProcess exited with code {0}\nOutput:\n{1}"),
    "code in tags": of_codes("<returncode>{0}</returncode>\n<output>\n{1}\n</output>"),
    "code in an object": lambda turns: [
        turn
        if (match := _CODE.fullmatch(turn)) is None
        else match[1] + json.dumps({"output": match[3], "metadata": {"exit_code": int(match[2])}})
        for turn in turns
    ],
    "code at the end": of_codes("{1}\n\nCommand exited with code {0}"),
    "colours": of_results(_coloured),
    "reminder": of_results(lambda text: f"{text}\n\n{_REMINDER}"),
    "line ends": of_results(lambda text: text.replace("\n", "\r\n") + "\r\n"),
    "greeting": _greeted,
    "thought": lambda turns: [turn.replace("say: ", "say: THOUGHT: ", 1) for turn in turns],
    "heading": of_last_words(lambda words: f"**Summary**\n\n{words}"),
    "bullets": of_last_words(lambda words: "\n".join(f"- {text}" for text in re.split(r"(?<=[.!?]) (?=[A-Z])", words))),
    "courtesy": of_last_words(lambda words: f"{words} Let me know if you need anything else!"),
}


def _verdict(chain: Chain) -> tuple[object, ...]:
    return chain.status, chain.broken and chain.broken.step, *((step.result_kind, step.said) for step in chain.steps)


@cache
def _sessions() -> list[tuple[str, list[str], Chain]]:
    """A share of the sessions of the rounds, each with its name, its lines and what is said of it."""
    rows = one_in(8, (row for number in ROUNDS for row in rows_of(number)))
    return [(row["name"], row["turns"], chain_of(*row["turns"])) for row in rows]


@pytest.mark.one_in(4)
@pytest.mark.campaign
@pytest.mark.parametrize("name", VARIATIONS)
def test_a_variation_changes_no_verdict(name: str) -> None:
    """The gate tries each variation on one session in eight, which are some of nearly every round."""
    varied = [(session, chain, VARIATIONS[name](turns), turns) for session, turns, chain in _sessions()]
    others = [(session, chain, new) for session, chain, new, turns in varied if new != turns]
    assert others
    changed = [session for session, chain, turns in others if _verdict(chain_of(*turns)) != _verdict(chain)]
    assert len(changed) <= max(1, len(varied) // 400), changed
