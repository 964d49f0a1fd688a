"""Which calls are alike: repeated identical calls, and calls with the same target."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from types import MappingProxyType
from typing import Any

from msgspec import Struct, structs

from weaklink.inspector.chain.effects import Effect, EffectKind, effects_of, main_effect, share_target
from weaklink.inspector.chain.steps import Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, code_words, is_interpreter, kind_of
from weaklink.inspector.checks.repetition import FEWEST_IN_TURN, call_key
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.scanning import lazy_pattern

# Arguments that set how a tool works, not its target: equal ones do not show the same intent.
_KNOBS = lazy_pattern(
    r"""
    (?:.*_)?(?:
        # how much, in which form and in which order
        units? | limit | offset | page | page_size | per_page | max | min | top_?k | n | count | size | lang
        | language | locale | format | sort | sort_by | order | order_by | mode | encoding | timeout | verbose
        | recursive | include | exclude | max_results | num_results | detail | currency | timezone | tz
        | temperature | version | type | kind | reason | with_\w+ | is_\w+
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)

_IDENTIFIERS = lazy_pattern(
    r"(?:.*_)?(?:ids?|path|paths|file|files|file_?name|folder|directory|dir|url|uri|link|number|key|symbol|ticker|"
    r"query|q|email|sku|sql|name|location|city|place|keyword|keywords)",
    re.IGNORECASE,
)

_WORD = lazy_pattern(r"\w{3,80}")
_MASKED_WORD = lazy_pattern(r"(?<![^\W_])xx+(?![^\W_])")  # what a recording without content has in place of a word
_PATH = lazy_pattern(r"[^\s]*/[^\s]*|[^\s/]+\.[A-Za-z]\w{0,7}")
_NAME_IN_TEXT = lazy_pattern(r"[\"']name[\"']?\s{0,9}[:=]\s{0,9}[\"']?([\w.-]{1,80})")
_MAX_TEXT_CHARS, _MAX_VALUES, _MAX_WORDS = 400, 24, 48
MAX_NAME_CHARS, _MIN_NAME_CHARS = 120, 4


class IntentValue(Struct, frozen=True):
    """One value that identifies the target of a call: its text in lower case, and its distinctive words."""

    text: str
    words: frozenset[str]
    is_path: bool = False


class Intent(Struct, frozen=True):
    """The effect of a call and its target: `write`, `read`, `check test`, `$ git commit` for a program, else the tool.

    `tool` is None if it is unreadable. `loose` means that `sought` is a bag of words from a text that is no list of
    values: a broken payload, or code. `is_open` means that a call without a target has any target: a whole test run,
    a commit.
    """

    tool: str | None
    sought: tuple[IntentValue, ...]
    loose: bool = False
    is_open: bool = False

    def keys(self) -> Iterator[str]:
        """Keys to look up calls of the same intent: any two such calls share at least one."""
        yield f"{self.tool}"
        for value in self.sought:
            yield f"{self.tool}\0{value.text}"
            for word in value.words:
                yield f"{self.tool}\0{word}"


@memoized
def intent_of(call: ToolCall) -> Intent:
    """The intent of `call`, of a line of several programs that of the main one."""
    if call.name is None or (not call.valid and not isinstance(call.arguments, dict)):
        return _intent_of_broken(call)
    effect = main_effect(effects_of(call))
    return _intent_of_tool(call) if effect is None else _intent_of_effect(effect, call)


def intents_of(call: ToolCall) -> tuple[Intent, ...]:
    """Every intent of `call`: one for each program of a shell's line."""
    effects = effects_of(call) if call.valid or isinstance(call.arguments, dict) else ()
    if len(effects) < 2:
        return (intent_of(call),)
    return tuple(_intent_of_effect(effect, call) for effect in effects if effect.kind is not EffectKind.NOTHING)


def _intent_of_broken(call: ToolCall) -> Intent:
    """The intent of a call with unreadable arguments: the words of its text."""
    name = call.name or _name_within(call.raw_arguments)
    if name is not None and is_interpreter(name):
        return _code_intent(name, call.raw_arguments)
    return Intent(bare_name(name) if name else None, (_bag(call.raw_arguments),), loose=True)


def _intent_of_effect(effect: Effect, call: ToolCall) -> Intent:
    are_paths = effect.command is not None and effect.command.program in _READERS
    sought = tuple(_intent_target(target, is_path=are_paths) for target in effect.targets)
    match effect.kind:
        case EffectKind.CHECK:
            return Intent(f"check {effect.subject}", sought, is_open=True)
        case EffectKind.WRITE:
            return Intent("write", sought)
        case EffectKind.READ | EffectKind.PROBE if any(value.is_path for value in sought) and not _asks_history(effect):
            return Intent("read", sought)
    if effect.command is not None:
        return Intent(f"$ {effect.subject}", sought, is_open=effect.kind is EffectKind.RUN)
    return _intent_of_tool(call)


def _asks_history(effect: Effect) -> bool:
    """Whether a read asks what happened to a file, not what it holds: `git log a.py`."""
    return effect.command is not None and effect.command.program == "git"


def _intent_of_tool(call: ToolCall) -> Intent:
    tool = bare_name(call.name or "")
    arguments: dict[str, Json] = call.arguments if isinstance(call.arguments, dict) else {"": call.arguments}
    if is_interpreter(tool):
        code = arguments.get("code", arguments.get("", ""))
        return _code_intent(tool, code if isinstance(code, str) else call.raw_arguments)
    return Intent(tool, tuple(_identifying(arguments)))


_READERS = frozenset(("ls", "cat", "head", "tail", "stat", "less", "more", "tree", "wc", "file"))


def _intent_target(target: str, *, is_path: bool) -> IntentValue:
    if is_path or "/" in target or _PATH.fullmatch(target):
        base = target.rsplit("/", 1)[-1]
        return IntentValue(target, frozenset((base,)) if base else frozenset(), is_path=True)
    return IntentValue(target, _distinctive_words(target))


def same_intent(own: Intent, other: Intent) -> bool:
    """Whether two calls have the same target; a tool without identifying arguments has one intent only."""
    if own.tool is not None and own.tool != other.tool:
        return False
    if own.loose or other.loose:
        return _overlap(_all_words(own), _all_words(other))
    if not own.sought or not other.sought:
        return own.is_open or (not own.sought and not other.sought)
    if own.tool == "write":
        texts = ([value.text for value in intent.sought] for intent in (own, other))
        return share_target(*map(tuple, texts), is_write=True) is not None
    return any(_alike(mine, theirs) for mine in own.sought for theirs in other.sought)


def _alike(value: IntentValue, other: IntentValue) -> bool:
    if value.text == other.text:
        return True
    if value.is_path and other.is_path:
        return not value.words.isdisjoint(other.words) and not _are_on_other_hosts(value.text, other.text)
    shorter, longer = sorted((value.text, other.text), key=len)
    if len(shorter) >= 3 and shorter in longer and len(longer) <= 200:
        return True
    return _overlap(value.words, other.words)


def _are_on_other_hosts(text: str, other: str) -> bool:
    """Whether two texts are URLs of pages on different hosts, neither of which names the other's, as an archive's does.

    A file of the same name is the same file on a mirror.
    """
    mine, theirs = _HOST.match(text), _HOST.match(other)
    if mine is None or theirs is None or mine[1] in other or theirs[1] in text or {mine[1], theirs[1]} <= _LOOPBACK:
        return False
    return _FILE_OF_URL.search(text) is None


_HOST = lazy_pattern(r"[a-z][a-z\d+.-]*://(?:www\.)?(\[[^\]/]*\]|[^/:?#\s]+)")
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]", "0.0.0.0"))  # names of this machine in a URL
_FILE_OF_URL = lazy_pattern(r"[^/]\.(?!(?:html?|php|aspx?|jsp)(?:[?#]|$))\w{1,6}(?:[?#]\S*)?$")


def respells(intent: Intent, other: Intent) -> bool:
    """Whether a call may have the target of another by its right name: `worker.yaml` for `worker.yml`."""
    if intent.tool is None or intent.tool != other.tool:
        return False
    pairs = product(intent.sought, other.sought)
    return any(mine.is_path and theirs.is_path and are_spellings(mine.text, theirs.text) for mine, theirs in pairs)


def are_spellings(path: str, other: str) -> bool:
    """Whether two paths may be spellings of one: `worker.yml` and `worker.yaml`, `README` and `README.md`."""
    if "/" in path and sorted(path.split("/")) == sorted(other.split("/")):
        return True  # `api/tests`, `tests/api`
    mine, theirs = (text.rsplit("/", 1)[-1][:MAX_NAME_CHARS] for text in (path, other))
    if "*" in mine + theirs or min(len(mine), len(theirs)) < _MIN_NAME_CHARS:
        return False
    (my_stem, _, my_suffix), (their_stem, _, suffix) = mine.partition("."), theirs.partition(".")
    if my_stem == their_stem:
        return not my_suffix or not suffix or my_suffix[0] == suffix[0]
    mine_only = set(_NAME_PIECE.findall(my_stem)) ^ set(_NAME_PIECE.findall(their_stem))
    is_item = any(len(piece) <= _MAX_MARK_CHARS for piece in mine_only)  # `a.tif`, `part-b`, `es.json`
    return my_suffix == suffix and not is_item and is_typo(my_stem, their_stem)


_NAME_PIECE, _MAX_MARK_CHARS = lazy_pattern(r"[^\W\d_]+"), 2


def is_typo(name: str, other: str) -> bool:
    """Whether two names differ by one letter left out, put in, replaced or moved; digits make them others."""
    if abs(len(name) - len(other)) > 1 or re.sub(r"\D", "", name) != re.sub(r"\D", "", other):
        return False
    first = next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    mine, theirs = name[first:], other[first:]
    is_moved = len(mine) > 1 and mine[1::-1] == theirs[:2] and mine[2:] == theirs[2:]
    return is_moved or mine[1:] == theirs[1:] or mine[1:] == theirs or mine == theirs[1:]


def _overlap(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether more than half of the smaller set's words are shared."""
    return bool(words) and 2 * len(words & other) > min(len(words), len(other))


def _all_words(intent: Intent) -> frozenset[str]:
    return frozenset().union(*(value.words for value in intent.sought))


def _identifying(arguments: dict[str, Json]) -> list[IntentValue]:
    leaves = [leaf for leaf in islice(_leaves(arguments), _MAX_VALUES) if not _KNOBS.fullmatch(leaf[0][:80])]
    named = [leaf for leaf in leaves if _IDENTIFIERS.fullmatch(leaf[0][:80])]
    return [sought for _, value in named or leaves if (sought := _intent_values(value)) is not None]


def _leaves(value: Any, name: str = "", depth: int = 4) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from _leaves(inner, key, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value:
            yield from _leaves(inner, name, depth - 1)
    else:
        yield name, value


def _intent_values(value: Any) -> IntentValue | None:
    if isinstance(value, str):
        return _intent_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) < 100:
        return None
    if isinstance(value, int) and value.bit_length() > 1_000:
        return None  # Python refuses to write the longest integers
    is_whole = isinstance(value, float) and value.is_integer()
    return IntentValue(str(int(value)) if is_whole else repr(value)[:80], frozenset())


def _intent_text(value: str) -> IntentValue | None:
    text = value[:_MAX_TEXT_CHARS].strip().casefold()
    if len(text) < 2:
        return None
    if len(value) > _MAX_TEXT_CHARS:
        text += f"… {len(value)}"
    elif _PATH.fullmatch(text):
        base = text.rstrip("/").rsplit("/", 1)[-1]
        return IntentValue(text, frozenset((base,)) if base else frozenset(), is_path=True)
    return IntentValue(text, _distinctive_words(text))


def _distinctive_words(text: str) -> frozenset[str]:
    return frozenset(islice((word for word in _WORD.findall(text) if not word.isdigit() or len(word) > 4), _MAX_WORDS))


def _code_intent(tool: str, code: str) -> Intent:
    return Intent(bare_name(tool), (IntentValue(code[:_MAX_TEXT_CHARS].casefold(), code_words(code)),), loose=True)


def _bag(text: str) -> IntentValue:
    head = text[: 5 * _MAX_TEXT_CHARS].casefold()
    words = (word for word in _WORD.findall(head) if word not in ("name", "arguments", "parameters", "function"))
    return IntentValue(head[:_MAX_TEXT_CHARS], frozenset(islice(words, _MAX_WORDS)))


def _name_within(text: str) -> str | None:
    match = _NAME_IN_TEXT.search(text, 0, 2_000)
    return match[1] if match else None


def link_retries(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps with `retry_of` set, which names the first of a run of identical calls.

    A call is a retry if the previous identical call failed or returned the same result; an identical call that returns
    something new is a new request. Arguments that were masked (`--no-content`) may have been different before.
    """
    all_steps = list(steps)
    if len(all_steps) < 2:
        yield from all_steps
        return
    last: dict[str, Step] = {}
    for step in all_steps:
        key = call_key(step.call)
        before = last.get(key)
        linked = step
        is_comparable = before is not None and not _MASKED_WORD.search(step.call.raw_arguments)
        if before is not None and is_comparable and (before.outcome.failed or same_result(before, step)):
            linked = structs.replace(step, retry_of=before.retry_of or before.number)
        last[key] = linked
        yield linked


class Repetition(Struct, frozen=True):
    """A call that repeats `first` identically and made no progress; it is the `count`-th of its run."""

    step: Step
    first: Step
    count: int


def repetitions(steps: Sequence[Step]) -> Iterator[Repetition]:
    """The steps of a loop.

    Such a step repeats a call with the same result, or fails again without a successful step in between. A successful
    call may be repeated for a reason after a new call of a tool that does not only read, which may have changed
    something.
    """
    last: dict[int, Step] = {}
    counts: dict[int, int] = {}
    latest_ok = latest_change = 0
    for step in steps:
        first = step.retry_of or step.number
        counts[first] = counts.get(first, 0) + 1
        before = last.get(first)
        if before is not None:
            nothing_between = step.outcome.failed and before.outcome.failed and latest_ok < before.number
            looks_again = step.outcome is StepOutcome.OK and latest_change > before.number
            if nothing_between or (same_result(before, step) and not looks_again):
                yield Repetition(step, steps[first - 1], counts[first])
        last[first] = step
        if step.outcome is StepOutcome.OK:
            latest_ok = step.number
        if step.retry_of is None and kind_of(step.call.name or "") is not ToolKind.READS:
            latest_change = step.number


def loops_in_turns(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """The identical calls of one turn, if there are at least `FEWEST_IN_TURN` of them: the model did not stop."""
    calls: dict[tuple[int, str], list[Step]] = {}
    in_turns = Counter([step.location.turn for step in steps])
    for step in steps:
        if in_turns[step.location.turn] < FEWEST_IN_TURN:
            continue
        calls.setdefault((step.location.turn, call_key(step.call)), []).append(step)
    return (same for same in calls.values() if len(same) >= FEWEST_IN_TURN)


def run_lengths(steps: Iterable[Step]) -> Mapping[int, int]:
    """The number of calls in each run, by the number of its first step."""
    counts: dict[int, int] = {}
    for step in steps:
        first = step.retry_of or step.number
        counts[first] = counts.get(first, 0) + 1
    return MappingProxyType(counts)


def same_result(step: Step, other: Step) -> bool:
    """Whether two steps have results with the same text."""
    return step.result is not None and other.result is not None and step.result.content == other.result.content
