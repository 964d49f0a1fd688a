"""The model's input for a turn: the messages of its request, and the changes since the previous request.

Theory of operation. Agents send the whole conversation with each request, so a trace stores each message once, as a
turn. `requests_of` gives a request as the number of messages that it keeps of an earlier request, and its own: turns by
their numbers, and whole messages where a text differs from its turn or belongs to none. With a system prompt, a
question, an answer with a call, its result and another answer, the requests are

    ReadRequest(turn=3, before=None, kept=0, own=(turn 1, turn 2))
    ReadRequest(turn=5, before=<that of turn 3>, kept=2, own=(turn 3, turn 4))

and the difference of the second from the first: turns 3 and 4 added, nothing dropped. A context that was compacted
shows here as turns dropped and a message added that is no turn.

A cache of a provider can reuse a request up to its first difference. So the last line counts the equal messages and
characters at the beginning, and names what ends them: a changed list of tools (which providers send first), or a
message and, if the difference is near a clock or a date, that.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from weaklink.inspector.chain.history import history_diagnostics, tools_difference
from weaklink.inspector.checks.context import window_of
from weaklink.inspector.checks.reasoning import estimated_tokens
from weaklink.inspector.diagnostics import SENT_PART, Diagnostic
from weaklink.inspector.model import Generation, Trace, Turn
from weaklink.inspector.model.exchange import ReadMessage, ReadRequest, requests_of
from weaklink.inspector.rules.layers import RESULT_TRUNCATED_BEFORE_READ
from weaklink.inspector.text import shared_prefix
from weaklink.inspector.wire.events import WIRE_PREFIX
from weaklink.ui.views.styled_text import Line, Run, Style, counted, padded, visible_line, wrapped, wrapped_words
from weaklink.ui.views.text_diff import KeyedLine, side_by_side
from weaklink.ui.views.turn import characters_in

NOT_RECORDED = "not recorded"
_MAX_PART_CHARS = 100_000  # code points
_SHOWN = 200  # code points shown of a message
_NEAR = 24  # code points around a difference that are searched for a clock
_CLOCK = re.compile(  # a time or a date in an instruction, which makes each request another one
    r"""
      \d\d?:\d\d(?::\d\d)?                 # 9:05, 09:05:30
    | \d{4}-\d\d(?:-\d\d)?                 # 2026-11-30, 2026-11
    | \d\d?[./]\d\d?[./]\d{2}              # 30.11.26, 11/30/2026
    | \b\d{10,13}\b                        # seconds or milliseconds since 1970
    | (?i: \b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b )
    | (?i: \b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ ]\d )  # November 3
    """,
    re.VERBOSE,
)
_ALIKE = (
    "No name of a tool, setting or message differs here; the tools' schemas, and whether the answer is to be streamed, "
    "are not compared."
)


def context_lines(trace: Trace, turn: int, *, width: int) -> Iterator[Line]:
    """The request that `turn` answers (0: the last recorded one), message by message, in the order sent."""
    return (line for line, _ in context_rows(trace, turn, width=width))


def context_rows(trace: Trace, turn: int, *, width: int) -> Iterator[tuple[Line, int | None]]:
    """The lines of `context_lines`, each with the turn that it is about."""
    turns = tuple(trace.turns)
    request = _requests(turns, turn)[1]
    if request is None:
        yield _missing(turn), None
        return
    messages = request.messages()
    sums = _sums(messages, turns, request.turn)
    yield (Run(f"The request of turn {request.turn}", Style.STRONG), Run(f": {sums}")), request.turn
    for number, message in enumerate(messages, 1):
        sent = _message(message, turns)
        head = Run(f"{number:>4} {sent.role.value:<9} ", Style.STRONG)
        where = Run(f"{_place(message)}  ", Style.DIM)
        for line in wrapped((head, where, Run(visible_line(_words(sent)))), width, indent=15):
            yield line, message.turn


def context_diff_lines(
    trace: Trace, turn: int, *, width: int, differences: Iterable[Diagnostic] | None = None
) -> Iterator[Line]:
    """The messages added and dropped in the request of `turn` (0: the last recorded one) since the previous request.

    `differences` are the diagnostics of the trace's requests, if the caller already has them.
    """
    turns = tuple(trace.turns)
    before, request = _requests(turns, turn)
    if request is None:
        yield _missing(turn)
        return
    new = request.messages()
    old = before.messages() if before is not None else []
    since = f" since turn {before.turn}" if before is not None else ", the first recorded"
    yield (Run(f"The request of turn {request.turn}{since}", Style.STRONG),)
    was, now = {message.turn for message in old}, {message.turn for message in new}
    for number, message in enumerate(new, 1):
        if message.turn is None or message.turn not in was:
            yield from _changed("+ added", number, message, turns, width)
    for number, message in enumerate(old, 1):
        if message.turn is not None and message.turn not in now:
            yield from _changed("- dropped", number, message, turns, width)
    yield from _difference_lines(
        history_diagnostics(trace) if differences is None else differences, request, turns, width
    )
    if before is not None:
        yield from _changed_settings(_generation(before, turns), _generation(request, turns), width)
    gained = _size(new, turns) - _size(old, turns)
    lost = _size([message for message in old if message.turn is not None and message.turn not in now], turns)
    sums = f"characters: {gained:+}, {lost} of them dropped; {_tokens(before, request, turns)}"
    yield from wrapped((Run(sums),), width, indent=4)
    yield from wrapped((Run(_prefix(before, request, old, turns)),), width, indent=4)


def request_pair_lines(
    first: tuple[Trace, int], second: tuple[Trace, int], width: int, *, whole: bool = False
) -> Iterator[Line]:
    """The requests of a turn of each trace (0: the last recorded one) side by side, in `width` cells.

    A run of equal lines is folded into one line unless `whole`; a sentence says so if all are equal. If a request was
    not recorded, the turns before its answer are shown instead, and the first line contains a note.
    """
    sides = [_request_side(tuple(trace.turns), turn, (width - 3) // 2 - 2) for trace, turn in (first, second)]
    (left, left_lines), (right, right_lines) = sides
    yield (*padded((Run(left, Style.STRONG),), (width - 3) // 2), Run(" │ ", Style.GUTTER), Run(right, Style.STRONG))
    if [key for key, _ in left_lines] == [key for key, _ in right_lines]:
        yield from wrapped((Run(_ALIKE, Style.DIM),), width)
    yield from side_by_side(left_lines, right_lines, width, whole=whole)


def _request_side(turns: Sequence[Turn], turn: int, room: int) -> tuple[str, list[KeyedLine]]:
    """The name of a request, and its tools and messages as lines."""
    request = _requests(turns, turn)[1]
    number = request.turn if request is not None else turn or len(turns)
    if request is not None:
        name, messages = f"The request of turn {number}", [_message(message, turns) for message in request.messages()]
    else:
        name, messages = f"Turn {number}: request {NOT_RECORDED}; earlier turns", list(turns[: number - 1])
    generation = turns[number - 1].generation if 0 < number <= len(turns) else None
    tools = ", ".join(tool.name for tool in generation.tools) if generation is not None else ""
    lines: list[KeyedLine] = []
    for row in wrapped_words(f"tools: {tools or 'none'}", room):
        lines.append((("tools", row), (Run(visible_line(row), Style.DIM),)))
    if generation is not None and generation.parameters:
        for row in wrapped_words(generation.parameters, room):
            lines.append((("parameters", row), (Run(visible_line(row), Style.DIM),)))
    for message in messages:
        lines.append((message.role, (Run(message.role.value, Style.STRONG),)))
        names = {call.part: f"{call.name or '?'} " for call in message.calls}
        for part in message.parts:
            if not part.name.startswith(WIRE_PREFIX):
                for text in f"{names.get(part.name, '')}{part.text[:_MAX_PART_CHARS]}".splitlines():
                    lines += ((row, (Run(f"  {visible_line(row)}"),)) for row in wrapped_words(text, room - 2))
    return name, lines


def _difference_lines(
    differences: Iterable[Diagnostic], request: ReadRequest, turns: Sequence[Turn], width: int
) -> Iterator[Line]:
    for diagnostic in differences:
        location = diagnostic.location
        if location.turn == request.turn and location.part.startswith(SENT_PART):
            words = f"~ {diagnostic.rule.code} turn {diagnostic.place_in_turn.turn}: {diagnostic.fault.message}"
            yield from wrapped((Run(visible_line(words), Style.WARNING),), width, indent=4)
            if diagnostic.rule is RESULT_TRUNCATED_BEFORE_READ:
                yield from _kept_and_lost(diagnostic, turns, width)


def _changed_settings(then: Generation, now: Generation, width: int) -> Iterator[Line]:
    tools = tools_difference(then.tools, now.tools)
    changed = [f"tools: {tools}"] if tools else []
    if then.parameters != now.parameters:
        changed.append(f"parameters: {then.parameters or '{}'} became {now.parameters or '{}'}")
    for words in changed:
        yield from wrapped((Run(visible_line(f"~ {words}"), Style.WARNING),), width, indent=4)


def _kept_and_lost(diagnostic: Diagnostic, turns: Sequence[Turn], width: int) -> Iterator[Line]:
    """The end of the kept part of a truncated text, and the beginning of the lost part, as separate lines."""
    location = diagnostic.place_in_turn
    part = turns[location.turn - 1].part(location.part)
    text = part.text if part is not None else ""
    kept, lost = (
        text[max(location.range.start - _SHOWN, 0) : location.range.start],
        text[location.range.start : location.range.end],
    )
    for name, words, style in (("kept", kept, Style.DIM), ("lost", lost[:_SHOWN], Style.REMOVED)):
        yield from wrapped((Run(f"    {name}: ", Style.DIM), Run(visible_line(words), style)), width, indent=10)


def _generation(request: ReadRequest | None, turns: Sequence[Turn]) -> Generation:
    return (turns[request.turn - 1].generation if request is not None else None) or Generation()


def _requests(turns: Sequence[Turn], turn: int) -> tuple[ReadRequest | None, ReadRequest | None]:
    """The request before that of a turn (0: the last recorded one), and that request; None if it is not recorded."""
    before: ReadRequest | None = None
    last: ReadRequest | None = None
    for request in requests_of(turns):
        if isinstance(request, ReadRequest) and (not turn or request.turn <= turn):
            before, last = last, request
    return (before, last) if last is not None and turn in (0, last.turn) else (None, None)


def _missing(turn: int) -> Line:
    if not turn:
        return (Run("No request of this trace was recorded.", Style.DIM),)
    return (Run(f"The request of turn {turn} was not recorded.", Style.DIM),)


def _message(message: ReadMessage, turns: Sequence[Turn]) -> Turn:
    return message.version if message.version is not None else turns[(message.turn or 1) - 1]


def _place(message: ReadMessage) -> str:
    if message.turn is None:
        return "in no turn"
    return f"turn {message.turn}" + (", different text" if message.version is not None else "")


def _words(turn: Turn) -> str:
    """The beginning of a message's texts, with the names of calls, and of other parts such as reasoning."""
    names = {call.part: call.name or "?" for call in turn.calls}
    parts = [part for part in turn.parts if part.text and not part.name.startswith(WIRE_PREFIX)]
    texts = [f"{names.get(part.name, '' if part.name == 'text' else part.name)} {part.text[:_SHOWN]}" for part in parts]
    whole = " ".join(" ".join(text.split()) for text in texts)
    is_cut = len(whole) > _SHOWN or any(len(part.text) > _SHOWN for part in parts)
    return f"{whole[: _SHOWN - 1]}…" if is_cut else whole


def _sums(messages: Sequence[ReadMessage], turns: Sequence[Turn], number: int) -> str:
    generation = turns[number - 1].generation or Generation()
    words = [counted(len(messages), "message"), counted(_size(messages, turns), "character")]
    words.append(counted(len(generation.tools), "tool"))
    tokens, is_counted = _taken(messages, turns, generation)
    about = "" if is_counted else "about "
    amount = counted(tokens, "token") if is_counted else f"{counted(tokens, 'token')}, estimated"
    words.append(f"{about}{amount}: {_share(tokens, generation)}")
    return ", ".join(words)


def _taken(messages: Sequence[ReadMessage], turns: Sequence[Turn], generation: Generation) -> tuple[int, bool]:
    """The tokens of a request, and whether its server counted them; if not, they are estimated from its texts."""
    if generation.usage.input_tokens is not None:
        return generation.usage.input_tokens, True
    parts = (part for message in messages for part in _message(message, turns).parts)
    texts = (part.text for part in parts if not part.name.startswith(WIRE_PREFIX))
    return sum(map(estimated_tokens, (*texts, *(tool.raw for tool in generation.tools)))), False


def _share(tokens: int, generation: Generation) -> str:
    window = window_of(generation)
    return f"{tokens / window.tokens:.0%} of a window of {window.described}"


def _size(messages: Sequence[ReadMessage], turns: Sequence[Turn]) -> int:
    return sum(characters_in(_message(message, turns)) for message in messages)


def _changed(what: str, number: int, message: ReadMessage, turns: Sequence[Turn], width: int) -> Iterator[Line]:
    sent = _message(message, turns)
    style = Style.ADDED if what.startswith("+") else Style.REMOVED
    head = Run(f"{what} message {number}, {sent.role.value}, {_place(message)}  ", style)
    yield from wrapped((head, Run(visible_line(_words(sent)))), width, indent=4)


def _tokens(before: ReadRequest | None, request: ReadRequest, turns: Sequence[Turn]) -> str:
    generation = _generation(request, turns)
    now, is_counted = _taken(request.messages(), turns, generation)
    then, was_counted = 0, is_counted
    if before is not None:
        then, was_counted = _taken(before.messages(), turns, _generation(before, turns))
    gained = f"{now - then:+}" if was_counted == is_counted else NOT_RECORDED
    about = "" if is_counted else f", about {now:,}, estimated"
    return f"tokens: {gained}{about}, {_share(now, generation)}"


def _prefix(before: ReadRequest | None, request: ReadRequest, old: Sequence[ReadMessage], turns: Sequence[Turn]) -> str:
    """The prefix that a prompt cache could reuse from the previous request, why it ends, and the cached tokens."""
    now, then = _generation(request, turns), _generation(before, turns)
    same, characters, why = 0, 0, ""
    tools = tools_difference(then.tools, now.tools) if before is not None else ""
    if tools:
        tools = f"differs in the tools ({tools})"
    else:
        for earlier, later in zip(old, request.messages(), strict=False):
            old_turn, new_turn = _message(earlier, turns), _message(later, turns)
            if old_turn.parts != new_turn.parts or old_turn.calls != new_turn.calls:
                begins, why = _first_difference(old_turn, new_turn)
                characters += begins
                break
            same += 1
            characters += characters_in(old_turn)
    read = now.usage.cached_tokens
    cached = NOT_RECORDED if read is None else counted(read, "token")
    message = f"message {same + 1} ({why})" if why else f"message {same + 1}"
    ends = f", {tools}" if tools else f", differs in {message}" if same < len(old) else ""
    could = ""
    if before is not None and then.usage.input_tokens is not None and (whole := _size(old, turns)):
        could = f" of about {counted(round(then.usage.input_tokens * characters / whole), 'cacheable token')}"
    equal = f"{counted(same, 'equal message')}, {counted(characters, 'character')}"
    return f"prompt cache: {equal}{ends}; cached: {cached}{could}"


def _first_difference(old_turn: Turn, new_turn: Turn) -> tuple[int, str]:
    """The length in code points of the common prefix of two messages, and a description of the first difference."""
    text, sent = old_turn.part("text"), new_turn.part("text")
    if text is None or sent is None:
        return 0, ""
    offset = shared_prefix(text.text, sent.text)
    start = max(offset - _NEAR, 0)
    times = ([match.span() for match in _CLOCK.finditer(part.text[start : offset + _NEAR])] for part in (text, sent))
    if all(any(begins <= offset - start < ends for begins, ends in spans) for spans in times):
        return offset, f"a time or date, character {offset}"
    return offset, f"character {offset}"
