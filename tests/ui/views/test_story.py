"""What the view of a trace tells of its chain: fates beside calls, retries as one, silence, and the agent's words."""

import pytest
from msgspec.structs import replace

from tests.chain.building import inspection_of, trace_of
from weaklink.inspector.inspection import inspect_trace
from weaklink.inspector.model import (
    BodyState,
    ErrorPhase,
    FinishReason,
    Generation,
    GenerationError,
    Part,
    Role,
    Trace,
    Turn,
)
from weaklink.ui.views.diagnostic import break_lines
from weaklink.ui.views.styled_text import plain, width_of
from weaklink.ui.views.trace import trace_lines
from weaklink.ui.views.turn import turn_facts

CALL, ERROR = 'call a1: get_weather {"city": "Oslo"}', "result a1: Error: timeout"


def story(*lines: str, width: int = 100) -> list[str]:
    shown = list(trace_lines(trace_of(*lines), inspection_of(*lines), id=1, width=width))
    assert [plain(line) for line in shown if width_of(line) > width] == []
    return [plain(line).rstrip() for line in shown]


def told(*lines: str) -> str:
    return " ".join(word for line in story(*lines) for word in line.split())


def test_a_call_that_reads_well_bears_the_mark_of_what_became_of_it() -> None:
    said = told(CALL, ERROR, CALL, "result a1: 4", "say: 4 degrees.")
    assert "✖ get_weather" not in said
    assert "◆ get_weather step 1: failure (textual), recovered by 2, silent a1" in said
    assert "✔ get_weather step 2 a1" in said


def test_a_result_says_which_step_it_answers() -> None:
    assert "tool answers step 1 get_weather · a1" in told(CALL, "result a1: 4", "say: 4.")


def test_retries_in_a_row_are_one_line_of_the_chain() -> None:
    lines = story(CALL, ERROR, CALL, ERROR, CALL, ERROR, "say: Bye.")
    rows = lines[lines.index("chain") + 1 : lines.index("", lines.index("chain"))]
    assert len(rows) == 2
    assert rows[1].split()[:2] == ["1-3", "1-5"]
    assert "failure (textual), silent ×3" in rows[1]
    assert "Error: timeout" in rows[1]


def test_steps_that_fared_differently_are_not_one() -> None:
    lines = story(CALL, ERROR, CALL, "result a1: 4", "say: 4.")
    rows = lines[lines.index("chain") :]
    assert rows.index("") == 4


def test_the_verdict_the_break_and_the_answer_come_before_facts_chain_and_turns() -> None:
    lines = story(CALL, ERROR, "say: It is four degrees.")
    heads = ["  status", "✖ broke at step 1", "  model", "chain", "── 1 "]
    line_numbers = [next(index for index, line in enumerate(lines) if line.startswith(head)) for head in heads]
    assert line_numbers == sorted(line_numbers)
    assert line_numbers[2] < 24
    message = lines[line_numbers[1]].partition(": ")[2]
    assert sum(message in line for line in lines) <= 2


def test_the_answer_of_a_trace_without_a_break_is_beside_its_status() -> None:
    lines = story(CALL, "result a1: 4", "say: It is four degrees.")
    assert "  answer   (turn 3) It is four degrees." in lines[: lines.index("")]


def test_words_before_the_last_call_are_no_answer() -> None:
    lines = story("say: I will look.", CALL, "result a1: 4")
    assert not any(line.startswith("  answer") for line in lines)


def test_a_result_without_text_is_there_with_its_fault_below() -> None:
    lines = story(CALL, "result a1: ", "say: Done.")
    position = next(index for index, line in enumerate(lines) if line.endswith("tool_result  empty"))
    assert "warning[T407]" in lines[position + 1]
    assert lines[position + 1].startswith("   │ ")


def test_what_became_of_a_call_is_said_without_carets_under_all_of_it() -> None:
    lines = story(CALL, ERROR, CALL, ERROR, "say: No.")
    position = next(index for index, line in enumerate(lines) if "T408" in line)
    assert lines[position - 1].endswith('city: "Oslo"')


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (
            "say: Well. I could not reach the service. Bye.",
            "The agent reported it (turn 3): “I could not reach the ser",
        ),
        ("say: Oslo is nice.", "as if nothing had happened; its last message (turn 3): “Oslo is nice.”"),
        ("say: Oslo has 24.", "with a value that it made up; its last message (turn 3): “Oslo has 24.”"),
        ("say: Leider nicht erreichbar.\n\nTschüss.", "reported it (turn 3): “Leider nicht erreichbar.”"),
    ],
)
def test_the_break_quotes_what_the_agent_said(after: str, words: str) -> None:
    assert words in told(CALL, ERROR, after)


def test_a_break_at_the_end_says_that_nothing_follows() -> None:
    assert "The trace ends before the agent responds to it." in told(CALL, ERROR)


def test_the_break_is_told_with_its_place_its_rule_and_what_helps() -> None:
    said = told(CALL, ERROR, "say: I could not get it.")
    assert "--> turn 2, text, line 1 column 1 | 1 | Error: timeout | ^^^^^^^^^^^^^^ rule: T406 error-result" in said
    assert "help: The call is valid: check the tool first" in said
    malformed = told('call: get_weather {"city": "Oslo",}', "say: Hm.")
    assert '--> turn 1, call:0, line 1 column 16 | 1 | {"city": "Oslo",} | ^ rule: J104 trailing-comma' in malformed


def test_what_helps_a_call_that_was_cut_is_to_ask_once_more() -> None:
    turn = Turn(Role.ASSISTANT, (Part("text", '<tool_call>\n{"name": "f", "arguments": {"a": "ZX'),))
    cut = replace(turn, generation=Generation(finish=FinishReason.LENGTH))
    for answer, is_cut in ((turn, False), (cut, True)):
        trace = Trace((answer,))
        said = "\n".join(map(plain, break_lines(trace, inspect_trace(trace, format="hermes"), 300)))
        assert ("help: Request this call again: it was truncated." in said) == is_cut
        assert ("is incomplete: the output limit was reached" in said) == is_cut


def test_where_carets_would_not_stand_under_their_text_the_place_is_told_in_words() -> None:
    lines = (CALL, ERROR, "say: I could not get it.")
    said = [plain(line) for line in break_lines(trace_of(*lines), inspection_of(*lines), 100, quote_width=0)]
    assert "  at: turn 2, text, line 1 column 1" in said
    assert not any("^" in line for line in said)


NEXT = (
    'call b1: open {"ticket": "T-4711"}',
    "result b1: closed",
    'call b2: shut {"ticket": "T-4711"}',
    "result b2: ok",
)

MANY = tuple(line.replace("open", f"open_{n}") for n in range(12) for line in NEXT[:2])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((CALL, ERROR, "say: No."), "downstream: No other call followed."),
        ((CALL, ERROR, CALL, ERROR, "say: No."), "downstream: No other call followed."),
        ((CALL, ERROR, 'call: f {"a": "x"}', "result: y", "say: It failed."), "downstream: Nothing later used it."),
        ((CALL, "say: Hm.", 'call: f {"a": "x"}', "result: y", "say: It failed."), "downstream: It returned nothing"),
        ((CALL, f"{ERROR}, see T-4711", *NEXT, "say: No."), "downstream: Steps 2 and 3 used its result."),
        (
            (CALL, ERROR, NEXT[0], NEXT[1], "say: Oslo."),
            "downstream: Step 2 used invented values instead",
        ),
        (
            (CALL, f"{ERROR}, see T-4711", *MANY, "say: It failed."),
            "downstream: Steps 2, 3, 4, 5, 6, 7, 8, 9 and 4 more used its result.",
        ),
    ],
)
def test_the_break_tells_what_it_caused(lines: tuple[str, ...], words: str) -> None:
    assert words in told(*lines)


@pytest.mark.parametrize(("role", "shown"), [(Role.SYSTEM, 6), (Role.ASSISTANT, 12)])
def test_a_long_system_prompt_is_folded_harder_than_an_answer(role: Role, shown: int) -> None:
    text = "\n".join(f"row {number}" for number in range(12))
    trace = Trace((Turn(role, (Part("text", text),)),))
    lines = [plain(line) for line in trace_lines(trace, inspect_trace(trace, format="hermes"), id=1, width=100)]
    turns = lines[lines.index("") :]
    assert sum("row " in line for line in turns) == shown


@pytest.mark.parametrize("width", [40, 80, 300])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    wide = (
        'call: get_weather_of_a_place_with_a_long_name {"city": "日本日本日本日本日本日本", "k": "' + "v" * 500 + '"}'
    )
    story(wide, ERROR.replace(" a1", ""), wide, "result: " + "日" * 400, "say: 4.", width=width)


@pytest.mark.parametrize(("text", "said"), [("", "answer not recorded"), ("Par", "answer recorded only in part")])
def test_an_answer_that_was_not_stored_is_told_from_an_empty_one(text: str, said: str) -> None:
    lost = Turn(Role.ASSISTANT, (Part("text", text),), generation=Generation(body=BodyState.NOT_STORED))
    empty = replace(lost, generation=Generation())
    assert list(turn_facts(lost, "")) == [said]
    assert list(turn_facts(empty, "")) == []


def test_a_trace_whose_last_answer_was_not_stored_is_good_only_as_far_as_it_was_kept() -> None:
    asked = Turn(Role.USER, (Part("text", "Go."),))
    answer = Turn(Role.ASSISTANT, (Part("text", ""),), generation=Generation(body=BodyState.NOT_STORED))
    kept = replace(answer, parts=(Part("text", "Done."),), generation=Generation())
    for turns, said in (((asked, answer), True), ((asked, answer, kept), False)):
        trace = Trace(turns)
        lines = [plain(line) for line in trace_lines(trace, inspect_trace(trace, format="hermes"), id=1, width=100)]
        assert any("? unknown the log has no last answer" in line for line in lines) == said


def test_a_fault_of_an_answer_without_text_stands_beside_its_text() -> None:
    error = GenerationError(ErrorPhase.TRANSPORT, "peer closed connection")
    trace = Trace((Turn(Role.ASSISTANT, (Part("text", ""),), generation=Generation(error=error)),))
    lines = [plain(line) for line in trace_lines(trace, inspect_trace(trace, format="hermes"), id=1, width=100)]
    assert any(line.startswith("   │ text  warning[C504]") for line in lines), lines
