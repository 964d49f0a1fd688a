"""Short digests of messages, compared to match requests to traces without keeping any text.

A client sends an answer back as it understood it: without its reasoning, without outer white space, its arguments
rewritten, its cache marks moved. None of this changes a digest. Prompts of raw completions are split by their
template.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from msgspec import Struct, structs

from weaklink.inspector.apis import ollama
from weaklink.inspector.apis.content_blocks import blocks_by_value, sorted_json
from weaklink.inspector.apis.openai import completions as openai_completions
from weaklink.inspector.formats.transcript import split_turns
from weaklink.inspector.memory import RECORD_MEMORY, transcript_memory
from weaklink.inspector.model import Part, Role, Turn
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import REFUSED_CALL, plain_tags, unquoted
from weaklink.inspector.wire.events import WIRE_PREFIX, DecodedRequest
from weaklink.inspector.wire.provider_json import parse_json

_SIZE = 16
_GAPS, _MAX_REST = 3, 400
"""How many line ends before the end of a prompt may have the answers before them, and how far from it (code points)."""

_REASONING = lazy_pattern(
    r"\s*(?:<(think|thinking|reasoning|thought)>.*?</\1>|\[THINK\].*?\[/THINK\]|◁think▷.*?◁/think▷"
    r"|<\|channel\|>analysis<\|message\|>.*?<\|end\|>)",
    re.DOTALL,
)
"""Reasoning at the beginning of a text, in the tags that templates use."""

_REMINDER_END = "</system-reminder>"
_REMINDER = lazy_pattern(f"<system-reminder>.*?{_REMINDER_END}", re.DOTALL)  # Claude Code adds it to some requests
_CLOSER = "</think>"

_CLOCK = lazy_pattern(
    r"\d+|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|[ap]m)\b",
    re.IGNORECASE,
)
"""Numbers, weekdays, months and `am` or `pm`: what the clock in a system prompt changes."""

PROMPT_TAIL_PART = "wire:prompt_tail"
"""The part that keeps the end of a prompt that belongs to the answer: its header, `<think>`, its first words."""

_RAW_APIS = frozenset({openai_completions.API, ollama.GENERATE})
_TOKEN = lazy_pattern(r"<\|[^|<>\n]{1,60}\|>|<｜[^｜<>\n]{1,60}｜>|<(?:start|end)_of_turn>|</?s>|<bos>|<eos>")


class Fingerprint(Struct, frozen=True):
    """A request's messages as digests of 16 bytes each; memory is linear in their number, whatever their length.

    `system` is the digest of everything before the conversation, `system_words` the same without dates, times and
    numbers; both are empty without a system prompt. `messages` are the digests of the other turns, `chain[i]` is the
    digest of the first `i` of them in their order, so `chain` is longer by one. `roles` are their roles.
    `calls_in_words`: an agent writes its calls as words into what it sends back (smolagents).
    """

    system: bytes
    system_words: bytes
    messages: tuple[bytes, ...]
    chain: tuple[bytes, ...]
    roles: tuple[Role, ...]
    calls_in_words: bool = False

    @property
    def last_answer(self) -> int:
        """How many messages there are up to the last one that a model wrote; 0 if there is none."""
        return next((index for index in range(len(self.roles), 0, -1) if self.roles[index - 1] is Role.ASSISTANT), 0)


def fingerprint_of(turns: Sequence[Turn], *, body: bytes = b"", begins: bytes = b"", raw: bool = False) -> Fingerprint:
    """The digests of a request's turns; `begins` is the chain that they continue, `raw`: a template wrote them.

    For a request without turns, its `body` counts as its one message.
    """
    before = count_system(turns)
    messages = tuple(message_digest(turn, raw=raw) for turn in turns[before:])
    if not messages:
        messages = (blake2b(body, digest_size=_SIZE).digest(),)
    return Fingerprint(
        _digest([_text(turn) for turn in turns[:before]]) if before else b"",
        _digest([_CLOCK.sub("0", _text(turn)) for turn in turns[:before]]) if before else b"",
        messages,
        chain_of(messages, begins),
        tuple(turn.role for turn in turns[before:]) or (Role.USER,),
        any(turn.role is Role.ASSISTANT and _CALLING in part.text for turn in turns for part in turn.parts),
    )


def count_system(turns: Sequence[Turn]) -> int:
    """How many system prompts there are before the conversation; 0 if there is nothing after them."""
    return next((index for index, turn in enumerate(turns) if turn.role is not Role.SYSTEM), 0)


def chain_of(messages: Iterable[bytes], begins: bytes = b"") -> tuple[bytes, ...]:
    """The digests of the first 0, 1, 2, ... messages."""
    chain = [begins]
    for message in messages:
        chain.append(extended_chain(chain[-1], message))
    return tuple(chain)


def extended_chain(chain: bytes, message: bytes) -> bytes:
    """The chain with one more message."""
    return blake2b(chain + message, digest_size=_SIZE).digest()


def message_digest(turn: Turn, *, raw: bool = False) -> bytes:
    """A message's digest: its role, its texts, its calls with their ids, and the id of the call that it answers.

    Left out are the signs in ids, which some clients drop; reasoning, parts that are not the model's answer (`wire:`),
    further choices, outer white space, and reminders that a client adds to the user's text in some requests. Arguments
    count by value (`_by_value`).
    """
    texts = [text_without_template(turn, text) if raw else text for text in _compared_texts(turn)]
    if turn.role is Role.ASSISTANT and texts:
        texts[0] = _by_value(_without_reasoning(texts[0]))
    elif texts and _REMINDER_END in texts[0]:
        texts[0] = _without_reminders(texts[0])
    called = {header.part: header for header in turn.calls}
    calls = [
        [header.name, _plain_id(header.id), arguments_by_value(part.text)]
        for part in turn.parts
        if (header := called.get(part.name)) is not None
    ]
    answers = _plain_id(turn.result.call_id) if turn.result is not None else None
    return _digest([turn.role.value, [text for written in texts if (text := written.strip())], calls, answers])


def _by_value(text: str) -> str:
    """An answer's text without what an agent adds to it when it sends it back, and how it prints arguments.

    LlamaIndex's ReAct agent prints arguments as Python. smolagents adds the calls as words, its `CodeAgent` also the
    stop word that the server left out. OpenHands writes the tags of a call anew.
    """
    if _CALLING in text or _CODE in text:
        return text.partition(_CALLING)[0].rstrip().removesuffix(_CODE_END)
    if _FUNCTION in text:
        return plain_tags(text)
    before, marker, written = text.rpartition(ACTION_INPUT)
    return before + marker + unquoted(written) if marker and written.lstrip().startswith("{") else text


_CODE, _CODE_END, _CALLING = "<code>", "</code>", "Calling tools:\n[{"
_FUNCTION = "<function="
ACTION_INPUT = "\nAction Input:"
"""What precedes the arguments of a call in an answer of a ReAct agent."""


def _plain_id(call_id: str | None) -> str | None:
    return None if call_id is None else "".join(filter(str.isalnum, call_id))


def exact_digest(turn: Turn, *, raw: bool = False) -> bytes:
    """A message's exact digest: messages share it only if all their texts, calls and ids are equal.

    The order of parts, empty parts, `wire:` parts, and the template of `raw` prompts do not count.
    """
    compared = ((part.name, part.text) for part in turn.parts if part.text and not part.name.startswith(WIRE_PREFIX))
    texts = sorted((name, text_without_template(turn, text) if raw else text) for name, text in compared)
    heads = [turn.role.value, [[name, len(text)] for name, text in texts]]
    calls = [[call.part, call.name, call.id] for call in turn.calls]
    result = turn.result and [turn.result.call_id, turn.result.name, turn.result.is_error]
    digest = blake2b(json.dumps([heads, calls, result]).encode("ascii"), digest_size=_SIZE)
    for _, text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def joined(begun: Turn, answer: Turn) -> Turn:
    """An answer as one message with the beginning of its text, which was in the request already."""
    text = "".join(part.text for turn in (begun, answer) if (part := turn.part("text")) is not None)
    return structs.replace(answer, parts=(Part("text", text), *(part for part in answer.parts if part.name != "text")))


def has_no_content(turn: Turn) -> bool:
    """Whether an answer has neither text nor calls, so that a client has nothing to send back."""
    return not turn.calls and not any(text.strip() for text in _compared_texts(turn))


class RunningDigest:
    """The digest of a text that grows; `length` is how many code points it has."""

    __slots__ = ("_state", "length")

    def __init__(self) -> None:
        self._state = blake2b(digest_size=_SIZE)
        self.length = 0

    def add(self, text: str) -> None:
        """More of the text."""
        self._state.update(text.encode("utf-8", "surrogatepass"))
        self.length += len(text)

    @property
    def value(self) -> bytes:
        """The digest of all so far."""
        return self._state.copy().digest()


class Gap(NamedTuple):
    """A place in a prompt where the answer may be added: its start, and digests of the text before and behind it.

    LangChain's prompts have the answers at their end (`Thought:`), or before their last line (`(reminder to respond in
    a JSON blob no matter what)`). `rest_length` counts the code points behind it.
    """

    start: int
    before: bytes
    rest_length: int
    rest: bytes


def gaps_of(prompt: str) -> tuple[Gap, ...]:
    """Where an answer may be added to a prompt: before each of its last line ends, and last, at its end."""
    starts = [len(prompt)]
    while len(starts) <= _GAPS and (end := prompt.rfind("\n", max(len(prompt) - _MAX_REST, 0), starts[-1])) >= 0:
        starts.append(end)
    before = RunningDigest()
    gaps: list[Gap] = []
    for start in reversed(starts):
        before.add(prompt[before.length : start])
        gaps.append(Gap(start, before.value, len(prompt) - start, text_digest(prompt[start:])))
    return tuple(gaps)


def text_digest(text: str) -> bytes:
    """The digest of a text, as that of a `RunningDigest`."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()


def _compared_texts(turn: Turn) -> list[str]:
    """The texts of a turn that are compared, its `text` first."""
    texts = [part.text for part in turn.parts if part.name in {"text", "refusal"}]
    return texts + blocks_by_value(turn)


def _text(turn: Turn) -> str:
    return "".join(part.text for part in turn.parts if not part.name.startswith(WIRE_PREFIX)).strip()


def _without_reasoning(text: str) -> str:
    """The text after the reasoning that it begins with; a prompt may have opened the reasoning."""
    match = _REASONING.match(text)
    if match is not None:
        return text[match.end() :]
    end = text.find(_CLOSER)
    return text[end + len(_CLOSER) :] if end >= 0 and text.find("<think>", 0, end) < 0 else text


def _without_reminders(text: str) -> str:
    end = text.rfind(_REMINDER_END) + len(_REMINDER_END)  # linear: after the last end no opener can match
    return _REMINDER.sub("", text[:end]) + text[end:]


def arguments_by_value(text: str) -> str:
    """Arguments by value, if they are JSON: with their members sorted by name."""
    bare = text.strip()
    if not bare:
        return "{}"
    try:
        return sorted_json(parse_json(bare)) or bare
    except ValueError:
        return bare


def _digest(value: object) -> bytes:
    return blake2b(json.dumps(value).encode("ascii"), digest_size=_SIZE).digest()


def is_raw(request: DecodedRequest) -> bool:
    """Whether a request's prompt is one raw text that the model continues."""
    return request.api in _RAW_APIS


def raw_prompt(request: DecodedRequest) -> str | None:
    """The text that the model continues; None if there are several prompts, token ids, or no prompt."""
    prompts = [turn for turn in request.turns if turn.role is Role.USER]
    part = prompts[0].part("text") if len(prompts) == 1 else None
    return None if part is None else part.text


def only_text(turns: Sequence[Turn]) -> str | None:
    """The text of a request's only message beside the system prompt; None if it has several, or other parts."""
    messages = turns[count_system(turns) :]
    if len(messages) != 1 or messages[0].role is not Role.USER:
        return None
    texts = [part for part in messages[0].parts if not part.name.startswith(WIRE_PREFIX)]
    return texts[0].text if len(texts) == 1 and texts[0].name == "text" else None


def refusals_apart(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turns, with OpenHands' words for an answer that it refused as turns of the user; itself if there are none.

    It leaves the answer out of its next requests, and adds the words to the user's text before it
    (fn_call_converter.py). Its tools are in the system prompt then.
    """
    if not any(_TOOL_IN_PROMPT in _text(turn) for turn in turns[: count_system(turns)]):
        return turns
    refused = [list(_REFUSED.finditer(_text(turn))) if turn.role is Role.USER else [] for turn in turns]
    return tuple(chain.from_iterable(map(_apart, turns, refused))) if any(refused) else turns


def _apart(turn: Turn, refusals: Sequence[re.Match[str]]) -> Iterator[Turn]:
    text = turn.part("text")
    if text is None or not refusals:
        yield turn
        return
    rest = _REFUSED.sub("", text.text)
    yield structs.replace(turn, parts=tuple(Part("text", rest) if part is text else part for part in turn.parts))
    for refusal in refusals:
        yield Turn(Role.USER, (Part("text", refusal["words"]),))


_TOOL_IN_PROMPT = "---- BEGIN FUNCTION #1: "
_REFUSED = lazy_pattern(rf"\n(?P<words>{REFUSED_CALL}[^\n]{{1,2000}})(?=\n|\Z)")


def split_prompt(request: DecodedRequest) -> tuple[Turn, ...]:
    """The turns of a raw prompt, split by its chat template; the request's own turns if there is no template.

    The joined texts of the turns' parts are the prompt. The text after the last header of the assistant belongs to the
    coming answer; it is kept in the part `wire:prompt_tail` of the last turn. A prompt whose turns would take more than
    `RECORD_MEMORY` is one turn.
    """
    prompt = raw_prompt(request)
    segments = split_turns(prompt) if prompt and transcript_memory(prompt) <= RECORD_MEMORY else ()
    if prompt is None or not any(turn.source_role for turn in segments):
        return request.turns
    prompt_turn = next(turn for turn in request.turns if turn.role is Role.USER)
    turns = [Turn(turn.role, (Part("text", turn.range.of(prompt)),), turn.source_role) for turn in segments]
    if turns[-1].role is Role.ASSISTANT and len(turns) > 1:
        tail = Part(PROMPT_TAIL_PART, turns.pop().parts[0].text)
        turns[-1] = structs.replace(turns[-1], parts=(*turns[-1].parts, tail))
    others = tuple(part for part in prompt_turn.parts if part.name != "text")
    turns[-1] = structs.replace(turns[-1], parts=(*turns[-1].parts, *others))
    return (*(turn for turn in request.turns if turn is not prompt_turn), *turns)


def text_without_template(turn: Turn, text: str) -> str:
    """The text of a raw prompt's turn without the template's tokens and the name of its role."""
    bare = _TOKEN.sub("", text).strip()
    return bare.removeprefix(turn.source_role).strip() if turn.source_role else bare
