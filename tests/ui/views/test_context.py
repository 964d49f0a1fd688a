"""What the model read for a turn, and what changed since the request before, as text."""

from msgspec.structs import replace

from weaklink.inspector.model import (
    Generation,
    Part,
    Role,
    SentMessage,
    SentPart,
    SentRequest,
    ToolDefinition,
    Trace,
    Turn,
    Usage,
)
from weaklink.ui.views.context import context_diff_lines, context_lines, request_pair_lines
from weaklink.ui.views.styled_text import Line, plain

RESULT = "order 4711 was shipped on Monday with the blue van"


def said(role: Role, text: str, generation: Generation | None = None) -> Turn:
    return Turn(role, (Part("text", text),), generation=generation)


CUT = SentMessage(Role.TOOL, (SentPart("text", f"{RESULT[:20]}[cut]"),), 3)
TRACE = Trace(
    (
        said(Role.USER, "Where is it?"),
        said(Role.ASSISTANT, "I look.", Generation(request=SentRequest(messages=(1,)), usage=Usage(10))),
        said(Role.TOOL, RESULT),
        said(Role.ASSISTANT, "On its way.", Generation(request=SentRequest(2, 1, (2, 3)), usage=Usage(30))),
        said(Role.USER, "Which van?"),
        said(
            Role.ASSISTANT,
            "Red.",
            Generation(request=SentRequest(4, 2, (CUT, 5)), usage=Usage(13_107, cached_tokens=8)),
        ),
        said(Role.ASSISTANT, "Red!", Generation()),
    )
)


def text(lines: list[Line]) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def test_the_request_of_a_turn_has_its_messages_in_their_own_words() -> None:
    lines = text(list(context_lines(TRACE, 6, width=120)))
    assert lines[0].startswith("The request of turn 6: 4 messages,")
    assert "13,107 tokens: 10% of a window of 131,072 (assumed)" in lines[0]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["1", "user", "turn"],
        ["2", "assistant", "turn"],
        ["3", "tool", "turn"],
        ["4", "user", "turn"],
    ]
    assert "turn 3, different text" in lines[3]
    assert "order 4711 was shipp[cut]" in lines[3]


def test_a_message_that_is_longer_than_its_line_ends_in_an_ellipsis() -> None:
    sent = Generation(request=SentRequest(messages=(1,)))
    trace = Trace((said(Role.USER, "Where is it? " * 40), said(Role.ASSISTANT, "There.", sent)))
    assert text(list(context_lines(trace, 2, width=300)))[1].endswith("…")
    assert any(line.endswith("…") for line in text(list(context_diff_lines(trace, 2, width=300))))


def test_the_difference_names_what_was_added_dropped_and_cut() -> None:
    lines = text(list(context_diff_lines(TRACE, 6, width=300)))
    assert lines[0] == "The request of turn 6 since turn 4"
    assert any(line.startswith("+ added message 4, user, turn 5") for line in lines)
    assert any(line.startswith("~ L809 turn 3:") and "20 of 50 characters are kept" in line for line in lines)
    assert any("dropped message 2" in line or "lacks" in line for line in lines) is False
    assert lines[-2].endswith("tokens: +13077, 10% of a window of 131,072 (assumed)")
    assert f"kept: {RESULT[:20]}" in " ".join(lines)
    assert f"lost: {RESULT[20:]}" in " ".join(lines)
    assert lines[-1].startswith("prompt cache: 2 equal messages,")
    assert lines[-1].endswith("differs in message 3 (character 20); cached: 8 tokens of about 17 cacheable tokens")


def after(first: Generation, second: Generation, *words: str) -> list[str]:
    """The difference between two requests whose system prompt has these words, one after the other."""
    prompt = SentMessage(Role.SYSTEM, (SentPart("text", words[1]),), 1)
    turns = (
        said(Role.SYSTEM, words[0]),
        said(Role.USER, "Hello"),
        said(Role.ASSISTANT, "Hi", replace(first, request=SentRequest(messages=(1, 2)))),
        said(Role.USER, "And?"),
        said(
            Role.ASSISTANT,
            "Well",
            replace(second, request=SentRequest(messages=(1 if words[0] == words[1] else prompt, 2, 3, 4))),
        ),
    )
    return text(list(context_diff_lines(Trace(turns), 5, width=300)))


def test_why_a_prompt_cache_ends_and_what_else_changed() -> None:
    clock = after(Generation(), Generation(), "It is 10:31. Be kind.", "It is 10:32. Be kind.")
    assert "differs in message 1 (a time or date, character 10)" in clock[-1]
    day = after(Generation(), Generation(), "It is 2026-03-09. Be kind.", "It is 2026-03-10. Be kind.")
    assert "(a time or date, character 14)" in day[-1]
    near = after(Generation(), Generation(), "At 10:31 you are kind.", "At 10:31 you are blunt.")
    assert "differs in message 1 (character 17)" in near[-1]
    rule = after(Generation(), Generation(), "Be kind.", "Be blunt.")
    assert "differs in message 1 (character 3)" in rule[-1]
    first, other = ToolDefinition("a", "", {}), ToolDefinition("b", "", {})
    tools = after(Generation(tools=(first, other)), Generation(tools=(other, first)), "Be kind.", "Be kind.")
    assert "0 equal messages, 0 characters, differs in the tools (reordered)" in tools[-1]
    assert "~ tools: reordered" in tools
    cold, hot = (Generation(parameters=f'{{"temperature":{value}}}') for value in (0, 1))
    assert '~ parameters: {"temperature":0} became {"temperature":1}' in after(cold, hot, "Be kind.", "Be kind.")
    assert not any(line.startswith("~") for line in after(cold, cold, "Be kind.", "Be kind."))


def test_without_a_turn_the_last_recorded_request_is_meant() -> None:
    assert text(list(context_lines(TRACE, 0, width=120)))[0].startswith("The request of turn 6:")
    assert text(list(context_diff_lines(TRACE, 2, width=120)))[0].endswith("the first recorded")


def test_a_turn_without_a_request_is_not_recorded() -> None:
    assert text(list(context_lines(TRACE, 7, width=120))) == ["The request of turn 7 was not recorded."]
    assert text(list(context_diff_lines(Trace(()), 0, width=120))) == ["No request of this trace was recorded."]


def test_two_requests_are_side_by_side_with_what_both_have_folded() -> None:
    other = Trace((said(Role.USER, "Where is it now?"), *TRACE.turns[1:]))
    lines = text(list(request_pair_lines((TRACE, 6), (other, 6), 81)))
    assert lines[0].split("│")[0].strip() == lines[0].split("│")[1].strip() == "The request of turn 6"
    changed = next(line for line in lines if "Where is it" in line)
    assert [side.strip() for side in changed.split("│")] == ["-   Where is it?", "+   Where is it now?"]
    assert lines[-1].strip().startswith("… ")
    assert not any("I look." in line for line in lines)
    whole = text(list(request_pair_lines((TRACE, 6), (other, 6), 81, whole=True)))
    assert any(line.count("I look.") == 2 for line in whole)
    assert any(line.count("order 4711 was shipp[cut]") == 2 for line in whole)


def test_two_equal_requests_are_said_to_be_equal_and_what_was_not_compared() -> None:
    """A replay diverges for `stream`, which no request keeps: equal lines alone look as if nothing had differed."""
    words = " ".join(text(list(request_pair_lines((TRACE, 6), (TRACE, 6), 81)))).split()
    assert "No name of a tool, setting or message differs here;" in " ".join(words)
    other = Trace((said(Role.USER, "Where is it now?"), *TRACE.turns[1:]))
    assert "differs here" not in " ".join(text(list(request_pair_lines((TRACE, 6), (other, 6), 81))))


def test_what_is_before_an_answer_stands_for_a_request_that_was_not_recorded() -> None:
    lines = text(list(request_pair_lines((TRACE, 7), (Trace(()), 0), 121, whole=True)))
    assert "Turn 7: request not recorded; earlier turns" in lines[0]
    assert any("Which van?" in line for line in lines)


def test_hostile_texts_of_requests_move_no_column() -> None:
    trace = Trace((said(Role.USER, "\x1b[2J\u202e\ttab" * 30), said(Role.ASSISTANT, "x")))
    other = Trace((said(Role.USER, "\U0001f600 wide" * 30), said(Role.ASSISTANT, "x")))
    lines = list(request_pair_lines((trace, 2), (other, 2), 61))
    assert {plain(line).index("│") for line in lines if "│" in plain(line)} == {30}
    assert not any("\x1b" in plain(line) for line in lines)


def test_tools_that_change_later_are_no_difference_of_the_request_before() -> None:
    turns = list(TRACE.turns)
    for number, tool in ((2, "find"), (4, "find"), (6, "search")):
        generation = turns[number - 1].generation
        assert generation is not None
        turns[number - 1] = replace(turns[number - 1], generation=replace(generation, tools=(ToolDefinition(tool),)))
    trace = replace(TRACE, turns=tuple(turns))
    assert not any("L815" in line for line in text(list(context_diff_lines(trace, 4, width=120))))
    assert any("tools: added `search`" in line for line in text(list(context_diff_lines(trace, 6, width=120))))


def test_the_share_is_of_the_window_that_is_stated_and_estimated_where_no_server_counted() -> None:
    asked = Generation(parameters='{"options":{"num_ctx":1000}}', usage=Usage(250))
    told = Generation(context_window=500, usage=Usage(250))
    assert after(asked, asked, "be", "be")[-2].endswith("tokens: +0, 25% of a window of 1,000 (`num_ctx`)")
    assert after(told, told, "be", "be")[-2].endswith("tokens: +0, 50% of a window of 500 (from the source)")
    guessed = Generation(parameters='{"num_ctx":20}')
    assert (
        "tokens: +2, about 9, estimated, 45% of a window of 20 (`num_ctx`)"
        in after(guessed, guessed, "a prompt of words", "a prompt of words")[-2]
    )
    mixed = after(asked, guessed, "be", "be")[-2]
    assert "tokens: not recorded, about" in mixed
