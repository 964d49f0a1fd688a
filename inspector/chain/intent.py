"""What a call is after: the tool and the values that identify its object, for shells the program and its target."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from inspector.chain.shell_words import code_words, is_interpreter, is_shell, read_command
from inspector.chain.terminal_tools import bare_name
from inspector.model import Json, ToolCall

# Arguments that say how, not what: equal ones do not make two calls one intent.
_KNOBS = re.compile(
    r"(?:.*_)?(?:units?|limit|offset|page|page_size|per_page|max|min|top_?k|n|count|size|lang|language|locale|format|"
    r"sort|sort_by|order|order_by|mode|encoding|timeout|verbose|recursive|include|exclude|max_results|num_results|"
    r"detail|currency|timezone|tz|temperature|version|type|kind|reason|with_\w+|is_\w+)",
    re.IGNORECASE,
)
_IDENTIFIERS = re.compile(
    r"(?:.*_)?(?:ids?|path|paths|file|files|file_?name|folder|directory|dir|url|uri|link|number|key|symbol|ticker|query|"
    r"q|email|sku|sql|name|location|city|place|keyword|keywords)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{3,80}")
_PATH = re.compile(r"[^\s]*/[^\s]*|[^\s/]+\.[A-Za-z]\w{0,7}")
_NAME_IN_TEXT = re.compile(r"[\"']name[\"']?\s{0,9}[:=]\s{0,9}[\"']?([\w.-]{1,80})")
_LONGEST, _MOST_VALUES, _MOST_WORDS = 400, 24, 48


@dataclass(frozen=True, slots=True)
class Sought:
    """One value that identifies what a call is after: folded to lower case, and its telling words."""

    text: str
    words: frozenset[str]
    is_path: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """The tool (`$ git` for a program in a shell; None where unreadable) and what its call is after.

    `loose` says that `sought` is a bag of words from a text that is no list of values: a broken payload, or code.
    """

    tool: str | None
    sought: tuple[Sought, ...]
    loose: bool = False

    def keys(self) -> Iterator[str]:
        """Words under which calls of the same intent find each other: any two share one at least."""
        yield f"{self.tool}"
        for value in self.sought:
            yield f"{self.tool}\0{value.text}"
            for word in value.words:
                yield f"{self.tool}\0{word}"


def intent_of(call: ToolCall) -> Intent:
    """What `call` is after. A broken call whose arguments nothing could read is judged by the words of its text."""
    if call.name is None or (not call.valid and not isinstance(call.arguments, dict)):
        name = call.name or _name_within(call.raw_arguments)
        if name is not None and is_interpreter(name):
            return _code_intent(name, call.raw_arguments)
        return Intent(bare_name(name) if name else None, (_bag(call.raw_arguments),), loose=True)
    tool = bare_name(call.name)
    arguments: dict[str, Json] = call.arguments if isinstance(call.arguments, dict) else {"": call.arguments}
    command = is_shell(tool, arguments)
    if command is not None:
        program, targets, are_paths = read_command(command)
        sought = Sought(" ".join(targets), frozenset(targets), is_path=are_paths)
        return Intent(f"$ {program}", (sought,) if targets else ())
    if is_interpreter(tool):
        code = arguments.get("code", arguments.get("", ""))
        return _code_intent(tool, code if isinstance(code, str) else call.raw_arguments)
    return Intent(tool, tuple(_identifying(arguments)))


def same_intent(one: Intent, other: Intent) -> bool:
    """Whether two calls are after the same thing; a tool without identifying arguments has one intent only."""
    if one.tool is not None and one.tool != other.tool:
        return False
    if one.loose or other.loose:
        return _overlap(_all_words(one), _all_words(other))
    if not one.sought or not other.sought:
        return not one.sought and not other.sought
    return any(_alike(mine, theirs) for mine in one.sought for theirs in other.sought)


def _alike(one: Sought, other: Sought) -> bool:
    if one.text == other.text:
        return True
    if one.is_path and other.is_path:
        return not one.words.isdisjoint(other.words)
    shorter, longer = sorted((one.text, other.text), key=len)
    if len(shorter) >= 3 and shorter in longer and len(longer) <= 200:
        return True
    return _overlap(one.words, other.words)


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether more than half of the smaller set's words are shared."""
    return bool(one) and 2 * len(one & other) > min(len(one), len(other))


def _all_words(intent: Intent) -> frozenset[str]:
    return frozenset().union(*(value.words for value in intent.sought))


def _identifying(arguments: dict[str, Json]) -> list[Sought]:
    leaves = [leaf for leaf in islice(_leaves(arguments), _MOST_VALUES) if not _KNOBS.fullmatch(leaf[0][:80])]
    named = [leaf for leaf in leaves if _IDENTIFIERS.fullmatch(leaf[0][:80])]
    return [sought for _, value in named or leaves if (sought := _sought(value)) is not None]


def _leaves(value: Any, name: str = "", depth: int = 4) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from _leaves(inner, key, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value:
            yield from _leaves(inner, name, depth - 1)
    else:
        yield name, value


def _sought(value: Any) -> Sought | None:
    if isinstance(value, str):
        return _sought_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) < 100:
        return None
    if isinstance(value, int) and value.bit_length() > 1_000:
        return None  # Python refuses to write the longest integers
    is_whole = isinstance(value, float) and value.is_integer()
    return Sought(str(int(value)) if is_whole else repr(value)[:80], frozenset())


def _sought_text(value: str) -> Sought | None:
    text = value[:_LONGEST].strip().casefold()
    if len(text) < 2:
        return None
    if len(value) > _LONGEST:
        text += f"… {len(value)}"
    elif _PATH.fullmatch(text):
        base = text.rstrip("/").rsplit("/", 1)[-1]
        return Sought(text, frozenset((base,)) if base else frozenset(), is_path=True)
    return Sought(text, _telling_words(text))


def _telling_words(text: str) -> frozenset[str]:
    return frozenset(islice((word for word in _WORD.findall(text) if not word.isdigit() or len(word) > 4), _MOST_WORDS))


def _code_intent(tool: str, code: str) -> Intent:
    return Intent(bare_name(tool), (Sought(code[:_LONGEST].casefold(), code_words(code)),), loose=True)


def _bag(text: str) -> Sought:
    head = text[: 5 * _LONGEST].casefold()
    words = (word for word in _WORD.findall(head) if word not in ("name", "arguments", "parameters", "function"))
    return Sought(head[:_LONGEST], frozenset(islice(words, _MOST_WORDS)))


def _name_within(text: str) -> str | None:
    found = _NAME_IN_TEXT.search(text, 0, 2_000)
    return found[1] if found else None
