"""Compares the requests of a session: how the agent changed calls, results and messages before the model read them.

Only the new messages of a request are compared, and those that the request before had after the messages that both
share: a growing history costs only its new messages. A changed version is reported only at its first appearance.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from weaklink.inspector.apis.content_blocks import blocks_by_value
from weaklink.inspector.chain.layers import SameTexts, result_difference, same_arguments, same_text, without_injected
from weaklink.inspector.chain.steps import quoted, tool_named
from weaklink.inspector.diagnostics import SENT_PART, Diagnostic, Fault, Location
from weaklink.inspector.model import CallHeader, Generation, Role, ToolDefinition, Trace, Turn, TurnFlag
from weaklink.inspector.model.exchange import ReadMessage, ReadRequest, requests_of
from weaklink.inspector.rules import layers as rules
from weaklink.inspector.rules.rule import Rule
from weaklink.inspector.text import Range, plain_tags, shared_prefix, shared_suffix, unquoted
from weaklink.inspector.wire.events import WIRE_PREFIX, stop_words

_SUMMARY = re.compile(
    r"summar|compact|previous conversation|ran out of context|continued from|omitted|truncated", re.IGNORECASE
)
_SUMMARY_WITHIN = 2_000
_ANNOUNCES = (Role.USER, Role.SYSTEM)
_REASONING = re.compile(
    r"""
    \s*(?:
        # tags of Qwen, DeepSeek and others
        <(think|thinking|reasoning|thought)>.*?</\1>
        # Mistral, Kimi, harmony
        | \[THINK\].*?\[/THINK\] | ◁think▷.*?◁/think▷ | <\|channel\|>analysis<\|message\|>.*?<\|end\|>
    )
    """,
    re.DOTALL | re.VERBOSE,
)

# APIs that require reasoning back together with the calls that came with it, until the model has answered.
_REQUIRES_REASONING = {
    "messages": "Anthropic's Messages API",  # docs.anthropic.com, Extended thinking, "Preserving thinking blocks"
    "responses": "OpenAI's Responses API",  # platform.openai.com/docs/guides/reasoning, "Keeping reasoning items"
}
# DeepSeek's API refuses such requests with 400: api-docs.deepseek.com/guides/thinking_mode, "Tool calls";
# GitNexus#43 for the reasoner, qwen-code#3578 and earendil-works/pi#3636 for version 4.
_DEEPSEEK_WITH_REASONING = re.compile(r"deepseek-(?:reasoner|v4)", re.IGNORECASE)


class _Difference(Struct, frozen=True):
    """The location of a difference: request and message of the later layer, and turn of the earlier one.

    `version` is the later layer's message, None if its request ends before it. `is_gone` means that the whole turn is
    missing, and that `version` is the message that follows its former position.
    """

    request: int
    index: int
    number: int
    turn: Turn
    version: Turn | None
    is_gone: bool = False

    def diagnostic(
        self, rule: Rule, message: str, part: str, here: Range | None = None, there: Range | None = None
    ) -> Diagnostic:
        """The diagnostic at `there` in the message (default: its start), against `here` in the turn (default: all)."""
        own = self.turn.part(part) or (self.turn.parts[0] if self.turn.parts else None)
        length = len(own.text) if own is not None else 0
        where = here if here is not None and here.end <= length else Range(0, length)
        against = Location(self.number, own.name if own is not None else part, where)
        name, missing = self._part_of(part)
        fault = Fault(rule, there if there is not None else missing, message, against=against)
        return fault.at(self.request, f"{SENT_PART}{self.index + 1}:{name}")

    def _part_of(self, part: str) -> tuple[str, Range]:
        """The part and its start; if it is missing, the part that followed it, or the end of the last part."""
        parts = self.version.parts if self.version is not None else ()
        if not parts or (any(sent.name == part for sent in parts) and not self.is_gone):
            return part, Range(0, 0)
        if self.is_gone:
            return parts[0].name, Range(0, 0)
        names = [own.name for own in self.turn.parts]
        later = names[names.index(part) + 1 :] if part in names else []
        following = next((sent.name for sent in parts if sent.name in later), None)
        end = len(parts[-1].text)
        return (following, Range(0, 0)) if following is not None else (parts[-1].name, Range(end, end))


class _Results(Struct, frozen=True):
    """The results of a trace: the numbers of their turns, and their texts."""

    turns: Sequence[int]
    same: SameTexts

    def earlier(self, read: str, difference: _Difference) -> int | None:
        """The first turn before a request whose result is the one that the request shows for another call."""
        others = (self.turns[index] for index in self.same.of(read) if self.turns[index] != difference.number)
        other = next(others, difference.request) if read.strip() else difference.request
        return other if other < difference.request else None


def history_diagnostics(trace: Trace) -> Iterator[Diagnostic]:
    """The differences between the turns and their versions in later requests."""
    turns = tuple(trace.turns)
    tool_turns = [number for number, turn in enumerate(turns, 1) if turn.role is Role.TOOL]
    results = _Results(tool_turns, SameTexts(lambda: (_text_of(turns[number - 1]) for number in tool_turns)))
    is_reported = False
    before: ReadRequest | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    offered_at = 0
    for request in requests_of(turns):
        number = request if isinstance(request, int) else request.turn
        offered = (turns[number - 1].generation or Generation()).tools
        if tools and offered != tools and (offered or not isinstance(request, int)):
            words = tools_difference(tools, offered)
            if words:
                yield _tools_changed(_beginning(turns, number), words, _beginning(turns, offered_at))
        tools, offered_at = (offered, number) if offered else (tools, offered_at)
        if isinstance(request, int):
            before = None
            continue
        for diagnostic in _versions(request, turns, results):
            is_once = diagnostic.rule is rules.REASONING_DROPPED_FROM_HISTORY
            if not (is_once and is_reported):
                yield diagnostic
            is_reported = is_reported or is_once
        if before is not None:
            yield from _dropped(before, request, turns)
        before = request


def _versions(request: ReadRequest, turns: Sequence[Turn], results: _Results) -> Iterator[Diagnostic]:
    """The differences of the messages of which a request has its own version."""
    for offset, message in enumerate(request.own):
        version, number = message.version, message.turn
        if version is None or number is None:
            continue
        difference = _Difference(request.turn, request.kept + offset, number, turns[number - 1], version)
        match difference.turn.role:
            case Role.ASSISTANT:
                yield from _answer(difference, version)
                if _lacks_reasoning(difference.turn, version):
                    yield _reasoning(difference, request.own[offset + 1 :], turns)
            case Role.TOOL:
                yield from _result(difference, version, results)
            case Role.SYSTEM:
                yield from _system(difference, version)
            case Role.USER:
                yield from _rewritten(difference, version, without_injected)


def _answer(difference: _Difference, version: Turn) -> Iterator[Diagnostic]:
    turn = difference.turn
    texts, sent = ({part.name: part.text for part in answer.parts} for answer in (turn, version))
    named = {call.id: call for call in turn.calls if call.id}
    kept: list[CallHeader | None] = []
    for index, call in enumerate(version.calls):
        own = named.get(call.id) if call.id else None
        own = own or (turn.calls[index] if index < len(turn.calls) and turn.calls[index].name == call.name else None)
        kept.append(own)
        if own is None:
            if turn.calls or not _calls_in_text(turn):
                message = (
                    f"In the request, this answer has a call of {tool_named(call.name)} that the model did not make."
                )
                there = Range(0, len(sent.get(call.part, "")))
                yield difference.diagnostic(rules.CALL_INVENTED_IN_HISTORY, message, call.part, Range(0, 0), there)
        elif own.name != call.name or not same_arguments(texts.get(own.part, ""), sent.get(call.part, "")):
            wrote, read = quoted(texts.get(own.part, "")), quoted(sent.get(call.part, ""))
            model = f"The model called {tool_named(own.name)} with {wrote}"
            message = f"{model}, and the request of turn {difference.request} has {read}."
            there = Range(0, len(sent.get(call.part, "")))
            yield difference.diagnostic(rules.ARGUMENTS_CHANGED_BEFORE_READ, message, own.part, None, there)
    as_words = _calls_as_words(sent.get("text", "")) if len(kept) < len(turn.calls) else ()
    left_out = (own for own in turn.calls if own.id and own not in kept)
    gone = next((own for own in left_out if (own.name, unquoted(texts.get(own.part, ""))) not in as_words), None)
    if gone is not None:
        message = f"The request of turn {difference.request} lacks the call of {tool_named(gone.name)} (dropped)."
        yield difference.diagnostic(rules.HISTORY_REWRITTEN, message, gone.part)
    yield from _rewritten(difference, version, _without_reasoning)


def _calls_in_text(turn: Turn) -> bool:
    """Whether the content may contain calls that only the client parses."""
    text = turn.part("text")
    return text is not None and any(sign in text.text for sign in ("<", "{", "[", "("))


def _lacks_reasoning(turn: Turn, version: Turn) -> bool:
    own, sent = turn.part("reasoning"), version.part("reasoning")
    return own is not None and bool(own.text.strip()) and (sent is None or not sent.text.strip())


def _requires_reasoning(generation: Generation) -> str | None:
    """The name of the API that requires reasoning back; None if the API is not known to require it."""
    if generation.api == "chat.completions" and _DEEPSEEK_WITH_REASONING.match(generation.requested_model):
        return "DeepSeek's API"
    return _REQUIRES_REASONING.get(generation.api)


def _reasoning(difference: _Difference, later: Sequence[ReadMessage], turns: Sequence[Turn]) -> Diagnostic:
    generation = turns[difference.request - 1].generation
    api = _requires_reasoning(generation) if generation is not None else None
    roles = [(sent.version or turns[(sent.turn or 1) - 1]).role for sent in later if sent.version or sent.turn]
    is_open = bool(difference.turn.calls) and bool(roles) and Role.USER not in roles
    if api is not None and is_open:
        message = f"The request of turn {difference.request} lacks the reasoning of these calls; {api} requires it."
        return difference.diagnostic(rules.REQUIRED_REASONING_DROPPED, message, "reasoning")
    message = f"The request of turn {difference.request} lacks the reasoning of this answer."
    return difference.diagnostic(rules.REASONING_DROPPED_FROM_HISTORY, message, "reasoning")


def _result(difference: _Difference, version: Turn, results: _Results) -> Iterator[Diagnostic]:
    own, read = _text_of(difference.turn), _text_of(version)
    change = result_difference(own, read)
    if change is None:
        return
    tool = tool_named(difference.turn.result.name if difference.turn.result else None)
    tool = "the tool" if difference.turn.result is None or not difference.turn.result.name else tool
    other = results.earlier(read, difference)
    if other is not None:
        message = (
            f"The request of turn {difference.request} shows the result of turn {other} as the result of this call."
        )
        yield difference.diagnostic(rules.RESULT_ATTACHED_TO_OTHER_CALL, message, "text", None, Range(0, len(read)))
        return
    rule, message = change.described(tool, f"turn {difference.number} has")
    where = Range(*change.other)
    yield difference.diagnostic(
        rule, f"{message.removesuffix('.')} (request of turn {difference.request}).", "text", where, Range(*change.read)
    )


def _system(difference: _Difference, version: Turn) -> Iterator[Diagnostic]:
    own, sent = _text_of(difference.turn), _text_of(version)
    if own.strip() == sent.strip():
        return
    start = shared_prefix(own, sent)
    end = len(own) - shared_suffix(own, sent, min(len(own), len(sent)) - start)
    changed, now = quoted(own[start:end], 40), quoted(sent[start : len(sent) - (len(own) - end)], 40)
    there = Range(start, max(len(sent) - (len(own) - end), start))
    prompt = f"The system prompt in the request of turn {difference.request}"
    message = f"{prompt} differs from character {start}: {changed} is now {now}."
    yield difference.diagnostic(rules.CACHE_PREFIX_BROKEN, message, "text", Range(start, max(end, start)), there)


def _rewritten(difference: _Difference, version: Turn, without: Callable[[str], str]) -> Iterator[Diagnostic]:
    own, sent = (without(_compared(turn)).strip() for turn in (difference.turn, version))
    if own == sent or same_text(own, sent) or (not sent and difference.turn.calls):
        return
    if difference.turn.role is Role.ASSISTANT and (sent.endswith(own) or added_observation(own, sent) is not None):
        return  # the client itself wrote the beginning of the answer, or added the result to the call
    if difference.turn.role is Role.ASSISTANT and (
        _prints_object(own, sent) or plain_tags(own) == plain_tags(sent) or _adds_calls(difference.turn, own, sent)
    ):
        return
    message = (
        f"The request of turn {difference.request} has another version of this message: {quoted(sent)} (rewritten)."
    )
    yield difference.diagnostic(rules.HISTORY_REWRITTEN, message, "text", None, Range(0, len(sent)))


def added_observation(own: str, sent: str) -> str | None:
    """The result that an agent added to the text of an answer when it sent that back; None if it added none.

    CrewAI does (`AgentAction.text`, for models whose native calls it does not use): `Action Input: {...}`, then
    `Observation:` and what the tool returned, all in the model's message.
    """
    own = own.rstrip().removesuffix(_OBSERVATION).rstrip()  # the word may be the stop word that ended the answer
    heading, _, result = sent.removeprefix(own).lstrip().partition(_OBSERVATION)
    return result.strip() if sent.startswith(own) and not heading and result.strip() else None


_OBSERVATION = "Observation:"


def _prints_object(own: str, sent: str) -> bool:
    """Whether texts differ only in how an object is printed: LlamaIndex's ReAct agent has `{'a': None}` for JSON."""
    start = own.rfind("{", 0, shared_prefix(own, sent) + 1)
    return start >= 0 and own[:start] == sent[:start] and unquoted(own[start:]) == unquoted(sent[start:])


def _adds_calls(turn: Turn, own: str, sent: str) -> bool:
    """Whether a client added nothing to an answer but the stop word that ended it and the calls, as words.

    smolagents does: `Calling tools:`, then a list of the structured calls, or of one whose argument is the code that
    the answer contains.
    """
    if not sent.startswith(own):
        return False
    added = sent[len(own) :].lstrip()
    frame, _, listed = added.partition(_CALLING)
    calls = _calls_as_words(sent)
    made = {unquoted(part.text) for part in turn.parts if part.name.startswith("call:")}
    is_known = all(arguments in made or arguments in unquoted(own) for _, arguments in calls)
    return frame.strip() in {"", *stop_words(turn.generation)} and (bool(calls) or not listed.strip()) and is_known


def _calls_as_words(text: str) -> Sequence[tuple[str, str]]:
    """The names and, without quotes, the arguments of the calls that smolagents lists at the end of a message."""
    listed = unquoted(text.partition(_CALLING)[2])
    if not listed.endswith("}}]"):
        return []
    return [(match["name"], match["arguments"]) for match in _LISTED_CALL.finditer(listed)]


_CALLING = "Calling tools:"
_LISTED_CALL = re.compile(r"function:\{name:(?P<name>[^,{}]{1,200}),arguments:(?P<arguments>.*?)\}\}(?=\]$|,\{id:)")


def _without_reasoning(text: str) -> str:
    return _REASONING.sub("", text)


def _compared(turn: Turn) -> str:
    """The text of a message; the values of its content blocks if it has no text."""
    text = turn.part("text")
    return text.text if text is not None and text.text else "\n".join(blocks_by_value(turn))


def _text_of(turn: Turn) -> str:
    """The text of a message; the JSON of its content blocks if it has no text."""
    text = turn.part("text")
    blocks = [part.text for part in turn.parts if part.name.startswith("content:")]
    if text is not None and text.text:
        return text.text
    return "\n".join(blocks)


def _dropped(before: ReadRequest, now: ReadRequest, turns: Sequence[Turn]) -> Iterator[Diagnostic]:
    """Messages of the request before that this one no longer has, or has in another order."""
    kept = now.kept if now.before is before else 0
    if kept >= len(before):
        return
    earlier, later = before.messages()[kept:], now.messages()[kept:]
    there = {message.turn for message in later if message.turn is not None}
    gone = [
        message.turn
        for message in earlier
        if message.turn is not None and message.turn not in there and not _is_own(turns, message.turn)
    ]
    if not gone:
        yield from _reordered(earlier, later, _Difference(now.turn, kept, 0, turns[0], None), turns)
        return
    first = turns[gone[0] - 1]
    position = next(
        index for index, message in enumerate(earlier) if message.turn == gone[0]
    )  # what precedes it is still there
    following = later[position] if position < len(later) else None
    version = None if following is None else following.version or turns[(following.turn or 1) - 1]
    difference = _Difference(now.turn, kept + position, gone[0], first, version, is_gone=True)
    was = {message.turn for message in earlier}
    new = (
        message.version or turns[(message.turn or 1) - 1]
        for message in later
        if message.turn is None or message.turn not in was
    )
    summary = next(
        (turn for turn in new if turn.role in _ANNOUNCES and _SUMMARY.search(_text_of(turn)[:_SUMMARY_WITHIN])), None
    )
    what = f"turn {gone[0]}" if len(gone) == 1 else f"{len(gone)} messages, the first of turn {gone[0]}"
    name = _first_text_part(first)
    if summary is not None:
        yield difference.diagnostic(
            rules.HISTORY_COMPACTED,
            f"The request of turn {now.turn} has a summary in place of {what} (compacted).",
            name,
        )
    else:
        yield difference.diagnostic(
            rules.HISTORY_REWRITTEN, f"The request of turn {now.turn} lacks {what} (dropped).", name
        )


def _is_own(turns: Sequence[Turn], number: int) -> bool:
    """Whether a turn is the beginning of an answer that the client wrote itself."""
    return TurnFlag.SYNTHETIC in turns[number - 1].flags


def _first_text_part(turn: Turn) -> str:
    """The name of the first part that has a text."""
    return next((part.name for part in turn.parts if part.text and not part.name.startswith(WIRE_PREFIX)), "text")


def _reordered(
    earlier: Sequence[ReadMessage], later: Sequence[ReadMessage], difference: _Difference, turns: Sequence[Turn]
) -> Iterator[Diagnostic]:
    expected = [sent.turn for sent in earlier if sent.turn is not None]
    order = [sent.turn for sent in later if sent.turn in expected and sent.turn is not None]
    if order == expected or sorted(order) != sorted(expected):
        return
    position = next(index for index, pair in enumerate(zip(order, expected, strict=True)) if pair[0] != pair[1])
    turn = turns[order[position] - 1]
    difference = _Difference(difference.request, difference.index + position, order[position], turn, None)
    order_of_turns = f"turn {order[position]} before turn {expected[position]}"
    message = f"The request of turn {difference.request} has {order_of_turns} (reordered)."
    yield difference.diagnostic(rules.HISTORY_REWRITTEN, message, _first_text_part(turn))


def tools_difference(before: Sequence[ToolDefinition], now: Sequence[ToolDefinition]) -> str:
    """How the tools of a request differ from those of the one before, in words; `""` if they are the same."""
    was, have = ([(tool.name, tool.description, tool.parameters) for tool in tools] for tools in (before, now))
    if was == have:
        return ""
    old, new = {tool.name for tool in before}, {tool.name for tool in now}
    words = [
        *([f"added {', '.join(quoted(name) for name in sorted(new - old)[:5])}"] if new - old else []),
        *([f"removed {', '.join(quoted(name) for name in sorted(old - new)[:5])}"] if old - new else []),
    ]
    if not words:
        is_order = len(was) == len(have) and all(tool in have for tool in was)
        words = ["reordered"] if is_order else ["changed"]
    return "; ".join(words)


def _beginning(turns: Sequence[Turn], number: int) -> Location:
    """The start of the answer to a request."""
    parts = turns[number - 1].parts
    return Location(number, parts[0].name if parts else "text", Range(0, 0))


def _tools_changed(location: Location, words: str, before: Location) -> Diagnostic:
    message = f"The tools of this request differ from those of the previous request: {words}."
    return Fault(rules.TOOLS_CHANGED, location.range, message, against=before).at(location.turn, location.part)
