"""Recovery by a corrected call: the same tool or program, without what was wrong in the failed call.

An agent that repeats a call with another target does not always do another thing: `make docs`, which the Makefile does
not know, becomes `make apidoc`; a playlist's name becomes its id. Structure tells a correction from the next item of a
series ("read a.pdf, b.pdf, c.pdf"):

* of a tool that no table knows, the next call that works corrects the failed one, unless calls of the same tool worked
  before or beside it, or the user named what both act on, or the service was at fault: then it is the next item. A
  value that a result brought after the failure makes it a correction even after others;
* a line of a shell corrects another of the same program if all words that it drops are numbers, options, or words that
  the error quotes, or names if a result in between brought what is there instead;
* code in a line that prints something is corrected by other code that prints, on one of its files;
* an identical call that gets a negative answer has worked, too.

What changes files, and a check that reports faults, are left to `inspector.chain.same_effect`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import msgspec

from weaklink.inspector.chain.assertions import clauses_of
from weaklink.inspector.chain.effects import (
    Effect,
    EffectKind,
    effects_of,
    has_known_effect,
    inline_code,
    installs,
    main_effect,
    only_asks,
)
from weaklink.inspector.chain.provenance_terms import folded_names, leaves
from weaklink.inspector.chain.same_effect import looks_instead, only_explains
from weaklink.inspector.chain.session_facts import MAX_READ_CHARS, SessionFacts, known_turn
from weaklink.inspector.chain.similar_calls import are_spellings, is_typo
from weaklink.inspector.chain.statements import sentences_of
from weaklink.inspector.chain.steps import ResultKind, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, code_words, is_interpreter, kind_of
from weaklink.inspector.scanning import lazy_pattern

_MAX_CANDIDATES, _MAX_BEFORE = 8, 20  # later steps that may correct a call; earlier results that may have had a value
_MIN_VALUE_CHARS, _MAX_VALUE_CHARS = 3, 80
_FILE = lazy_pattern(r"[\w./-]*\w\.[A-Za-z]\w{0,7}\b")
_ACTS = (EffectKind.RUN, EffectKind.READ, EffectKind.PROBE)


class Corrections:
    """Finds the calls of one trace that correct failed ones."""

    def __init__(self, facts: SessionFacts) -> None:
        self._facts = facts
        self._results: dict[int, str] = {}  # in lower case, by step: each value of each candidate is looked for

    def of(self, failed: Step) -> int | None:
        """The number of the first later step that corrects a failed one."""
        effect, known = main_effect(effects_of(failed.call)), known_turn(failed)
        if effect is None or failed.result_kind is ResultKind.FINDING:
            return None
        for step in islice(self._facts.steps, failed.number, failed.number + _MAX_CANDIDATES):
            if step.location.turn <= known:
                continue
            is_retry = step.retry_of is not None and step.retry_of in (failed.number, failed.retry_of)
            if is_retry and step.result_kind is ResultKind.PROBE:
                return step.number
            if step.is_good and effect.kind in _ACTS and self._corrects(step, failed, effect):
                return step.number
            if step.is_good and (_is_moved(step, failed, effect) or _is_below(step, failed, effect)):
                return step.number
        return None

    def _corrects(self, step: Step, failed: Step, effect: Effect) -> bool:
        if (only_asks(failed.call) is False and only_asks(step.call)) or only_explains(step):
            return False
        if effect.command is not None:
            if self.is_other_item(step, failed):
                return False
            if _is_respelt(failed, step, effect) or self._is_named_otherwise(step, failed, effect):
                return True
            is_informed = any(self.is_brought_between(word, failed, step) for word in _new_words(failed, step))
            lines = effects_of(step.call)
            return any(_corrects_line(later, step, failed, effect, is_informed=is_informed) for later in lines)
        is_same = bare_name(step.call.name or "") == bare_name(failed.call.name or "")
        if is_same and is_interpreter(bare_name(step.call.name or "")):
            code = step.call.raw_arguments
            if _NO_MODULE.search(failed.error or "") is not None:
                return _INSTALLS.search(code) is None
            shared = code_words(code) & code_words(failed.call.raw_arguments) - _COMMON_CODE
            return step.number == failed.number + 1 and bool(shared)
        if not is_same or has_known_effect(failed.call) or self._does_other_thing(step, failed):
            return False
        return not self._is_next_item(step, failed)

    def _does_other_thing(self, step: Step, failed: Step) -> bool:
        """Whether a call only looks (`calendar(action="list")`), or shares nothing with the failed one.

        A call whose keys are others, of which no value was in the failed one or brought by a result since then, has
        another aim.
        """
        if looks_instead(step, failed):
            return True
        old, new = (frozenset(key for key, _ in leaves(either.call.arguments)) for either in (failed, step))
        if not old or not old.isdisjoint(new) or not _values(failed).isdisjoint(_values(step)):
            return False
        return not any(self.is_brought_between(value, failed, step) for value in _values(step))

    def _is_next_item(self, step: Step, failed: Step) -> bool:
        """Whether a call only does to the next thing what the failed one was to do to another."""
        if failed.outcome is StepOutcome.MALFORMED and _completes(step, failed):
            return False
        mine, theirs = _values(failed), _values(step)
        dropped, new = mine - theirs, theirs - mine
        error = failed.error or ""
        is_blamed = any(key.rpartition("/")[2].casefold() in error.casefold() for key in _keys_of(failed, dropped))
        is_blamed = is_blamed or _names_element_again(failed, dropped, new)
        if dropped and _BLAMES_NOTHING.search(error) is not None and not is_blamed:
            return True
        if dropped and self.are_both_named(step, failed) and not self._has_alternatives(failed):
            return True
        if not dropped or any(self.is_brought_between(value, failed, step) for value in new):
            return False
        if any(len(value) >= _MIN_VALUE_CHARS and value in error.casefold() for value in new):
            return False  # "unknown service db2, did you mean postgres?"
        if _plain(dropped) == _plain(new):
            return False  # `W300`, `#W300`
        if mine & theirs and _keys_of(failed, dropped).isdisjoint(_keys_of(step, new)):
            return False  # the same thing by another key: `place`, `zip`
        if len(mine & theirs) > max(1, len(dropped)) and len(new) <= len(dropped):
            return False  # most stays as it was: the same payment from another account
        return self._is_series(failed)

    def is_other_item(self, step: Step, failed: Step) -> bool:
        """Whether a later call acts on another thing: of a tool, if the user named both; of a line, its URL.

        Or both are calls of one series over the items of a list.
        """
        if self._is_next_in_series(step, failed):
            return True
        if not has_known_effect(failed.call):
            return self.are_both_named(step, failed)
        if self._facts.are_listed_together(step, failed) or self._pushes_elsewhere(step, failed):
            return True
        named = self._facts.words_before(failed)
        pairs = (pair for pair in _paired_values(failed, step) if all(value.isdigit() for value in pair))
        return any(named.issuperset(pair) for pair in pairs) and not self._has_alternatives(failed)

    def _is_next_in_series(self, step: Step, failed: Step) -> bool:
        """Whether two calls that change something, and an earlier one that worked, differ in the same one value.

        That value of the failed call must be one that was to be processed: the user named it, or a result listed it and
        each item of the list got its call. Else the agent may have chosen another thing for the same end.
        """
        if not _changes(failed) or self._has_alternatives(failed) or (pair := _varied(failed, step)) is None:
            return False
        key, item, other = pair
        if are_spellings(item, other) or other in _error_of(failed) or self.is_brought_between(other, failed, step):
            return False
        before = self._facts.steps[max(0, failed.number - 1 - _MAX_BEFORE) : failed.number - 1]
        varied = [pair for earlier in before if earlier.is_good and (pair := _varied(failed, earlier)) is not None]
        first = next((value for varied_key, _, value in varied if varied_key == key and value != other), None)
        if first is None or _pieces(item) & _pieces(other) - _pieces(first):
            return False  # `php-fpm`, then `php8.3-fpm`
        name = item.rsplit("/", 1)[-1]
        request = self._facts.texts_before(failed)
        named = (
            not request
            or item in request
            or not self._facts.words_before(failed).isdisjoint({name, name.partition(".")[0]})
        )
        return named or self._is_processed_whole(name, failed, before)

    def _is_processed_whole(self, name: str, failed: Step, before: Sequence[Step]) -> bool:
        """Whether a result lists a name among others of its form, `p1.tif` or `R-101`, and calls name all of them."""
        form = _form_of_name(name)
        listing = next((text for text in map(self._result_of, reversed(before)) if form and name in text), "")
        listed = {other for other in _ITEM_NAME.findall(listing) if _form_of_name(other) == form}
        calls = (step.call for step in self._facts.steps if step.call.name == failed.call.name)
        processed = {
            other.rsplit("/", 1)[-1]
            for call in islice(calls, _MAX_SERIES)
            for _, value in leaves(call.arguments)
            for other in _ARGUMENT_WORD.findall(str(value)[:MAX_READ_CHARS].casefold())
        }
        return name in listed and listed <= processed

    def _pushes_elsewhere(self, step: Step, failed: Step) -> bool:
        """Whether two pushes have other branches as their targets, and the user named the first one's."""
        old, new = _pushed_branches(failed), _pushed_branches(step)
        named = self._facts.words_before(failed)
        if not new or not old.isdisjoint(new) or self._has_alternatives(failed):
            return False
        return any(branch in named for branch in old)

    def _has_alternatives(self, failed: Step) -> bool:
        """Whether the user named several ways or conditions."""
        return _OR.search(self._facts.texts_before(failed)) is not None

    def _is_named_otherwise(self, step: Step, failed: Step, effect: Effect) -> bool:
        """Whether a line asks for the same package or service by another name: `mariadb-server`, `apache2`.

        The first name was not there, and the user did not name both. One name holds the other, the error has the
        other, or the answer tells of the other and does not claim the first.
        """
        pair, error = _renamed(step, effect), _error_of(failed)
        if pair is None or self.are_both_named(step, failed):
            return False
        if not any(pair[0] in line and _NOT_THERE.search(line) is not None for line in error.splitlines()):
            return False
        item, other = map(_plain_text, pair)
        if item in other or other in item or pair[1] in error:
            return True
        lost, won = (_long_pieces(name) - _long_pieces(replaced) for name, replaced in (pair, pair[::-1]))
        answer = self._facts.answer.text if self._facts.answer is not None else ""
        clauses = [clause for sentence in sentences_of(answer) for clause in clauses_of(sentence.read)]
        named = [(clause, _has_any(lost, clause.text), _has_any(won, clause.text)) for clause in clauses]
        is_asked = _has_any(lost, self._facts.texts_before(failed))
        return (
            any(is_told for _, _, is_told in named)
            and all(not is_lost or is_told or clause.denies or not clause.is_done for clause, is_lost, is_told in named)
            and (not is_asked or any(is_lost for _, is_lost, _ in named))
        )

    def is_other_record(self, step: Step, failed: Step) -> bool:
        """Whether an earlier result lists what both calls act on, and the user's words fit only the first one's record.

        "Cancel the Pro subscription", of `{"id": "sub_41", "plan": "Pro"}` and `{"id": "sub_42", "plan": "Storage"}`.
        """
        old, new = _values(failed) - _values(step), _values(step) - _values(failed)
        asked = self._facts.texts_before(failed)
        if not old or not new or self._facts.texts_before(step) != asked:
            return False
        for before in reversed(self._facts.steps[max(0, failed.number - 1 - _MAX_BEFORE) : failed.number - 1]):
            text = self._result_of(before)
            if any(value in text for value in old) and any(value in text for value in new):
                mine, theirs = (_words_of_record(text, values) for values in (old, new))
                if mine and theirs:
                    named = _words_and_times(asked)
                    return not named.isdisjoint(mine - theirs) and named.isdisjoint(theirs - mine)
        return False

    def are_both_named(self, step: Step, failed: Step) -> bool:
        """Whether the user's words name both what a failed call acted on and what a later one acts on instead."""
        text = self._facts.texts_before(failed)
        old, new = _values(failed) - _values(step), _values(step) - _values(failed)
        is_spelling = any(value in other or other in value for value in old for other in new)  # `W300`, `#W300`
        named = self._facts.words_before(failed)
        is_named = any(_is_in(value, text, named) for value in old) and any(_is_in(value, text, named) for value in new)
        if is_named and not is_spelling:
            return True
        mine, theirs = _words(failed), _words(step)
        dropped, others = (frozenset(word[:4] for word in words & named) for words in (mine - theirs, theirs - mine))
        return bool(dropped - others) and bool(others - dropped)  # `ports` for `port` is the same, spelt right

    def _is_series(self, failed: Step) -> bool:
        """Whether calls of the same tool worked before a failed one, or beside it."""
        first = self._facts.first_good.get(failed.call.name or "")
        return first is not None and first < known_turn(failed)

    def is_brought_between(self, value: str, failed: Step, later: Step) -> bool:
        """Whether a result between two calls was the first to contain a value."""
        steps = self._facts.steps
        if not any(value in self._result_of(step) for step in steps[failed.number : later.number - 1]):
            return False
        before = steps[max(0, failed.number - _MAX_BEFORE) : failed.number]
        return not self._facts.is_users(value) and not any(value in self._result_of(step) for step in before)

    def _result_of(self, step: Step) -> str:
        if step.number not in self._results:
            self._results[step.number] = _result_of(step)
        return self._results[step.number]


def _changes(step: Step) -> bool:
    """Whether a call changes or runs something."""
    effect = main_effect(effects_of(step.call))
    if effect is None or effect.command is not None or has_known_effect(step.call):
        return effect is not None and effect.kind in (EffectKind.RUN, EffectKind.WRITE)
    return kind_of(step.call.name or "") is not ToolKind.READS


def _varied(failed: Step, other: Step) -> tuple[str, str, str] | None:
    """The key or place of the one value in which two calls of a tool or program differ, and both values; else None."""
    mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(other.call))
    if failed.call.name != other.call.name or mine is None or theirs is None:
        return None
    lines: list[dict[Any, Any]]
    if mine.command is not None and theirs.command is not None and mine.command.program == theirs.command.program:
        lines = [dict(enumerate(command.words)) for command in (mine.command, theirs.command)]
    elif mine.command is None and theirs.command is None:
        lines = [dict(leaves(step.call.arguments)) for step in (failed, other)]
    else:
        return None
    old, new = lines
    differing = [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]
    if len(differing) != 1 or old.keys() != new.keys():
        return None
    values = [str(line[differing[0]]).casefold() for line in lines]
    is_short = all(0 < len(value) <= _MAX_VALUE_CHARS and "\n" not in value for value in values)
    return (str(differing[0]), values[0], values[1]) if is_short else None


def _pieces(value: str) -> frozenset[str]:
    """The longer pieces of letters of a value, and all its letters and digits."""
    return frozenset((*_LETTERS.findall(value), _plain_text(value)))


_LETTERS = lazy_pattern(r"[^\W\d_]{3,}")


def _form_of_name(name: str) -> str:
    """What the names of things of one kind share: the suffix of files, else the letters around their digits."""
    suffix = name.rpartition(".")
    return f".{suffix[2]}" if suffix[0] else _DIGITS.sub("0", name) if _DIGITS.search(name) else ""


def _plain_text(value: str) -> str:
    return "".join(filter(str.isalnum, value))


_ITEM_NAME = lazy_pattern(r"[\w@-]+(?:[.@+-]+\w+)*")
_ARGUMENT_WORD = lazy_pattern(r"[\w./@+-]+")
_MAX_SERIES = 100


def _completes(step: Step, malformed: Step) -> bool:
    """Whether a call has every word of a malformed one, the last of which may have been cut off."""
    written, words = step.call.raw_arguments, _ANY_WORD.findall(malformed.call.raw_arguments[:_MAX_ARGUMENT_CHARS])
    return bool(words) and all(word in written for word in words)


_ANY_WORD = lazy_pattern(r"\w+")
_MAX_ARGUMENT_CHARS = 4_000
_COMMON_CODE_TABLE = "code print import from for in range len str int float list dict open with as def return"
_COMMON_CODE = frozenset(_COMMON_CODE_TABLE.split())
# Code that lacks a library is corrected by code that needs none, but not by what only installs it.
_NO_MODULE = lazy_pattern(r"no module named|cannot find module|importerror", re.IGNORECASE)
_INSTALLS = lazy_pattern(r"\b(?:pip|conda|npm|apt)\b[^\n]{0,40}\binstall\b")
# The service was wrong, not the call.
_BLAMES_NOTHING = lazy_pattern(
    r"unavailable|time[ds]?[ -]?out|rate limit|too many|overload|connection|\b5\d\d\b|temporar|internal|offline",
    re.IGNORECASE,
)

# Nor was the service where a page has no such element within the time.
_ELEMENT_MISSING = lazy_pattern(r"\b(?:locator|selector|element)\b", re.IGNORECASE)
_MIN_WORD_CHARS = 3


def _names_element_again(failed: Step, dropped: frozenset[str], new: frozenset[str]) -> bool:
    """Whether a page had no such element within the time, and the new values do not name another one."""
    old, other = (_words_and_times(" ".join(values)) - _KINDS_OF_ELEMENTS for values in (dropped, new))
    is_other = bool(old and other) and old.isdisjoint(other)
    return _ELEMENT_MISSING.search(_error_of(failed)) is not None and not is_other


_KINDS_OF_ELEMENTS = frozenset(("button", "link", "input", "submit", "type", "text", "field", "form", "div", "span"))


def _words_of_record(text: str, values: frozenset[str]) -> frozenset[str]:
    """The words beside one of the values in a result: in the innermost object of JSON that has it, else in its line."""
    try:
        records = list(_objects(msgspec.json.decode(text)))
    except (ValueError, RecursionError):  # no JSON, or half a surrogate pair in it
        records = [[line] for line in text.splitlines() if any(value in _words_and_times(line) for value in values)]
        return _words_and_times(" ".join(records[0])) if records else frozenset()
    fitting = [record for record in records if not values.isdisjoint(record)]
    record: list[str] = min(fitting, key=len, default=[])
    return _words_and_times(" ".join(record))


def _objects(value: Any) -> Iterator[list[str]]:
    """The values of each object of a JSON document as texts."""
    if isinstance(value, dict):
        yield [str(leaf) for _, leaf in leaves(value)]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _words_and_times(text: str) -> frozenset[str]:
    """The words of a text, and its times of day without a zero before them."""
    words = (word for word in folded_names(text) if len(word) >= _MIN_WORD_CHARS)
    return frozenset(words) | {time.removeprefix("0") for time in _TIME.findall(text)}


_TIME = lazy_pattern(r"(?<!\d)\d{1,2}:\d\d(?!\d)")


def replaced_values(failed: Step, later: Step) -> list[tuple[str, str]]:
    """The values of a failed call, each with the one that a later call has in its place.

    An error that does not know a name, or its form, asks for another one of the same thing: then only the values count
    that it calls unknown or unsupported, of a program those of its options, even if the later call has none instead.
    """
    if _ASKS_FOR_FORM.search(failed.error or "") is not None:
        return []  # the same value in another unit, zone or type
    error, pairs = _UNSUPPORTED.search(failed.error or ""), _paired_values(failed, later)
    if error is None:
        return [pair for pair in pairs if pair[1] and len(pair[0]) <= _MAX_VALUE_CHARS]
    blamed = [pair for pair in pairs if pair[0].isalnum() and pair[0].casefold() in error[0].casefold()]
    mine = main_effect(effects_of(failed.call))
    options = None if mine is None or mine.command is None else _options(mine.command.words).values()
    return [pair for pair in blamed if options is None or pair[0] in options]


def _paired_values(failed: Step, later: Step) -> list[tuple[str, str]]:
    """The values of two calls that differ: under one key or option, or at one place of lines of equal length."""
    mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
    if mine is None or theirs is None or is_interpreter(bare_name(failed.call.name or "")):
        return []
    if mine.command is not None and theirs.command is not None:
        old, new = mine.command.words, theirs.command.words
        before, after = _options(old), _options(new)
        same_length = list(zip(old, new, strict=True)) if len(old) == len(new) else []
    else:
        before, after = ({path: str(value) for path, value in leaves(step.call.arguments)} for step in (failed, later))
        same_length = []
    lacking = [key for key in before if key not in after] if after.keys() - before.keys() else []  # by another key
    pairs = [*((value, after.get(key, "")) for key, value in before.items() if key not in lacking), *same_length]
    return [(old, new) for old, new in pairs if old != new and (old[:1] == "-") is (new[:1] == "-")]


_ASKS_FOR_FORM = lazy_pattern(
    r"\b(?:must be|no rule|expect(?:s|ed)|missing|format|time ?zone|between|integer|string|in (?:cents|[kmg]b|ms))\b",
    re.IGNORECASE,
)


def _options(words: Sequence[str]) -> dict[str, str]:
    return {name: value for name, value in pairwise(words) if name.startswith("-") and not value.startswith("-")}


_UNSUPPORTED = lazy_pattern(
    r"\b(?:unknown|unsupported|unrecogni[sz]ed|unavailable|invalid|no such|(?:is|are) not|not)\b[^\n]{0,80}",
    re.IGNORECASE,
)


@lru_cache(256)  # each repaired failure of a session asks for those of the same request and answer
def spoken_words(text: str) -> frozenset[str]:
    """The words of a text and of its longer names, its numbers, and its times of day, as people say them."""
    text = _GROUP_END.sub("", text[:MAX_READ_CHARS])
    times = {f"{int(match[1]) % 12 + 12}:{match[2] or '00'}" for match in _AFTERNOON.finditer(text)}
    times |= {f"{int(match[1])}:{match[2]}" for match in _SPOKEN_TIME.finditer(text)}
    rest = _SPOKEN_TIME.sub(" ", text)
    words = {
        word.casefold() for word in (*folded_names(rest), *_WORD_PIECE.findall(rest)) if len(word) >= _MIN_VALUE_CHARS
    }
    return frozenset((words - _METHODS) | times | {number.lstrip("0") or "0" for number in _DIGITS.findall(rest)})


def are_spoken_alike(words: AbstractSet[str], spoken: AbstractSet[str]) -> bool:
    """Whether one of some words is spoken: a time also by its hour alone, a longer word with an ending."""
    if not words.isdisjoint(spoken):
        return True
    return any(_is_spoken_as(word, other) for word in words for other in spoken)


def _is_spoken_as(word: str, other: str) -> bool:
    if word.endswith(":00"):
        return word[:-3] == other
    if not (word.isalpha() and other.isalpha()) or len(word) < _MIN_STEM_CHARS:
        return False
    is_spelt_otherwise = _MIN_STEM_CHARS + 1 < len(word) <= len(other) and is_typo(word, other[: len(word)])
    return other.startswith(word) or is_spelt_otherwise


_AFTERNOON = lazy_pattern(r"(?<![\d:.])(\d{1,2})(?::(\d\d))? ?(?:pm|p\.m\.)", re.IGNORECASE)
_SPOKEN_TIME = lazy_pattern(r"(?<!\d)(\d{1,2})[:h](\d\d)(?!\d)")
_METHODS = frozenset(("get", "post", "put", "patch", "delete", "head"))  # of HTTP, and words of other meanings
_GROUP_END = lazy_pattern(r"(?<=\d)[.,'\u2019\u00a0\u202f](?=\d{3}(?!\d))")
_WORD_PIECE = lazy_pattern(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]{2,}")
_DIGITS = lazy_pattern(r"\d+")
_MIN_STEM_CHARS = 4


def _pushed_branches(step: Step) -> frozenset[str]:
    """The branches that `git push` names as its targets; `HEAD` alone names none."""
    pushes = (effect.command for effect in effects_of(step.call) if effect.subject == "git push")
    words = (word for command in pushes if command is not None for word in command.operands[2:])
    branches = (word.rpartition(":")[2].removeprefix("refs/heads/").casefold() for word in words)
    return frozenset(branch for branch in branches if branch != "head")


_OR = lazy_pattern(
    r"\b(?:if|unless|wenn|falls|si|se|если|jeśli|or|otherwise|else|oder|sonst|ou|sinon|o|ou senão|oppure|или|lub)\b|"
    r"或|否则|または"
)


def _plain(values: frozenset[str]) -> frozenset[str]:
    """Values without what is neither a letter nor a digit."""
    return frozenset(map(_plain_text, values))


def _keys_of(step: Step, values: frozenset[str]) -> frozenset[str]:
    """The keys of a call's arguments that have one of these values."""
    return frozenset(key for key, value in leaves(step.call.arguments) if str(value).casefold() in values)


def _is_in(value: str, text: str, words: frozenset[str]) -> bool:
    """Whether a text has a value; a short one only as a word."""
    return value in (text if len(value) >= _MIN_VALUE_CHARS else words)


def _values(step: Step) -> frozenset[str]:
    """The texts and numbers in a call's arguments, in lower case."""
    values = (str(value).casefold() for _, value in leaves(step.call.arguments) if isinstance(value, str | int | float))
    return frozenset(value[:MAX_READ_CHARS] for value in values if value)


def _words(step: Step) -> frozenset[str]:
    """The words of the short values in a call's arguments."""
    values = (value for value in _values(step) if len(value) <= _MAX_VALUE_CHARS)
    return frozenset(word for value in values for word in folded_names(value) if len(word) >= _MIN_VALUE_CHARS)


def _new_words(failed: Step, later: Step) -> frozenset[str]:
    """The words of a later line that a failed one does not have."""
    words = (later.call.raw_arguments, failed.call.raw_arguments)
    new, old = (frozenset(_WORD.findall(text[:MAX_READ_CHARS].casefold())) for text in words)
    return frozenset(word for word in new - old if len(word) >= _MIN_VALUE_CHARS)


_WORD = lazy_pattern(r"[\w.@-]*[A-Za-z]\w*")


def _result_of(step: Step) -> str:
    return step.result.content[:MAX_READ_CHARS].casefold() if step.result is not None else ""


def _corrects_line(later: Effect, step: Step, failed: Step, effect: Effect, *, is_informed: bool) -> bool:
    """Whether a command of a later line is the failed one without what was wrong in it."""
    mine, theirs = effect.command, later.command
    if (
        mine is None
        or theirs is None
        or mine.program != theirs.program
        or later.kind not in (effect.kind, EffectKind.RUN)
    ):
        return False
    if failed.outcome is not StepOutcome.ERROR_RESULT or installs(later) is not installs(effect):
        return False
    if installs(effect) and _renamed(step, effect) is not None:
        return False  # another package is another thing, unless it has another name only
    code = inline_code(mine.words)
    if code is not None:
        later_code = step.call.raw_arguments
        shows = _SHOWS.search(code) is not None and _SHOWS.search(later_code) is not None
        is_next = step.number == failed.number + 1 and _INSTALLS.search(later_code) is None
        lacks_library = is_next and _NO_MODULE.search(failed.error or "") is not None and not _files(code)
        return shows and (lacks_library or not _files(code).isdisjoint(_files(later_code)))
    dropped = [word for word in mine.words if word not in theirs.words]
    blamed = frozenset(_QUOTED.findall(_error_of(failed)))
    if is_informed:
        blamed |= frozenset(_WORD.findall(_error_of(failed)))
    if _BLAMES_CALLER.search(_error_of(failed)) is not None:
        blamed = frozenset()
    if not dropped:
        added = frozenset(theirs.words) - frozenset(mine.words)
        blames_added = installs(effect) and any(_VERSION.sub("", word) in _error_of(failed) for word in added)
        return blames_added or _only_adds_options(mine.words, theirs.words)
    if any(map(_STANDS_FOR.search, dropped)):  # of a loop, only the item that failed
        items = _error_words(failed)
        is_item = any(
            not items.isdisjoint({word.casefold(), word.casefold().partition(".")[0]}) for word in theirs.operands
        )
        dropped = [word for word in dropped if not is_item or _STANDS_FOR.search(word) is None]
    named = (word for word in dropped if not word.startswith("-") and any(map(str.isalpha, word)))
    return all(word.casefold() in blamed for word in named)


def _error_words(failed: Step) -> frozenset[str]:
    """The words of a failed call's error that are names of files or things, in lower case."""
    words = (word.strip(".:'\"`,;").casefold() for word in (failed.error or "")[:_MAX_READ_ERROR].split())
    return frozenset(word for word in words if len(word) >= _MIN_VALUE_CHARS or _DIGITS.search(word))


_STANDS_FOR = lazy_pattern(r"[$*]")  # a variable, or all files of a kind
_MAX_READ_ERROR = 400
_VERSION = lazy_pattern(r"(?<=.)(?:@|[=<>~!]=?).*")  # `react@19`, `numpy==2.0`


# Who called is not allowed to: another line does another thing.
_BLAMES_CALLER = lazy_pattern(
    r"\bno ?perm\b|no permissions? to\b|not (?:permitted|authori[sz]ed|allowed) to\b|forbidden"
)


def _only_adds_options(words: Sequence[str], later: Sequence[str]) -> bool:
    """Whether a later command has the words of a failed one and options beside them: `msmtp -C etc/msmtprc ada`."""
    added = [(before, word) for before, word in pairwise(("", *later)) if word not in words]
    are_options = all(word.startswith("-") or before.startswith("-") for before, word in added)
    return bool(words) and bool(added) and are_options


def _is_moved(step: Step, failed: Step, effect: Effect) -> bool:
    """Whether a call makes the change of a failed one in another file, because the first was not there."""
    later = main_effect(effects_of(step.call))
    if effect.kind is not EffectKind.WRITE or later is None or later.kind is not EffectKind.WRITE:
        return False
    if _MISSING.search(failed.error or "") is None or later.subject != effect.subject:
        return False
    old, new = (_without_targets(*pair) for pair in ((failed, effect), (step, later)))
    return old == new and bool(old)


def _is_below(step: Step, failed: Step, effect: Effect) -> bool:
    """Whether a call does to a file in a folder what the failed one was to do to the folder as if it were a file."""
    later = main_effect(effects_of(step.call))
    if later is None or later.kind is not effect.kind or _IS_FOLDER.search(failed.error or "") is None:
        return False
    return any(path.startswith(f"{folder}/") for folder in effect.targets for path in later.targets)


_IS_FOLDER = lazy_pattern(r"\beisdir\b|is a directory|is a folder", re.IGNORECASE)


def _without_targets(step: Step, effect: Effect) -> frozenset[str]:
    """The words of a command, or the values of a tool's arguments, that name no target of the call."""
    words = frozenset(effect.command.words) if effect.command is not None else _values(step)
    names = {target.rsplit("/", 1)[-1] for target in effect.targets}
    return frozenset(word for word in words if word.casefold().rsplit("/", 1)[-1] not in names)


_MISSING = lazy_pattern(r"no such file|file (?:was )?not found|(?:file|path) does not exist|enoent", re.IGNORECASE)


def _is_respelt(failed: Step, step: Step, effect: Effect) -> bool:
    """Whether a line is a failed one with the name that was not found spelt right, or whole: `php8.3-fpm`."""
    error = _error_of(failed)
    if effect.command is None or not effect.command.words or "not found" not in error:
        return False
    old, new = (Counter(_LINE_WORD.findall(either.call.raw_arguments)) for either in (failed, step))
    dropped, added = old - new, new - old
    is_blamed = len(dropped) == len(added) == 1 and all(word.casefold() in error for word in dropped)
    if not is_blamed:
        return False
    old_pieces, pieces = (frozenset(_LETTERS.findall(next(iter(words)).casefold())) for words in (dropped, added))
    return is_typo(*dropped, *added) or frozenset() < old_pieces <= pieces


_LINE_WORD = lazy_pattern(r"[\w.+-]+")


def _renamed(step: Step, effect: Effect) -> tuple[str, str] | None:
    """The one package or service of a command, and what a later line has in its place, in lower case; else None."""
    if effect.command is None or not (installs(effect) or effect.command.program in _STARTERS):
        return None
    for later in effects_of(step.call):
        if later.command is not None and later.subject == effect.subject:
            old, new = (Counter(map(str.casefold, command.operands)) for command in (effect.command, later.command))
            if (old - new).total() == (new - old).total() == 1:
                return next(iter(old - new)), next(iter(new - old))
    return None


_STARTERS = frozenset(("systemctl", "service", "rc-service", "snap", "a2enmod"))
_NOT_THERE = lazy_pattern(
    r"not (?:be )?found|no (?:match|such|candidate|package|\w+ candidate|matching|available)|"
    r"unable to (?:find|locate|select)|could not find|does(?: not|n't) exist|"
    r"not available|unknown|deprecated|not loaded|unrecognized"
)


def _long_pieces(name: str) -> frozenset[str]:
    return frozenset(piece for piece in _LETTERS.findall(name) if len(piece) >= _MIN_STEM_CHARS)


def _has_any(pieces: AbstractSet[str], text: str) -> bool:
    return any(piece in text for piece in pieces)


def _files(code: str) -> frozenset[str]:
    """The names of files in a piece of code."""
    return frozenset(name.rsplit("/", 1)[-1] for name in _FILE.findall(code[:MAX_READ_CHARS]) if "." in name.strip("."))


_SHOWS = lazy_pattern(r"\b(?:print\w*|puts|echo|display|console\.\w+|say|p)\b ?\(?")


_QUOTED = lazy_pattern(r"[`'\"\u2018\u201c]([^`'\"\u2019\u201d\n]{1,120})[`'\"\u2019\u201d]")


def _error_of(failed: Step) -> str:
    text = failed.result.content[:MAX_READ_CHARS] if failed.result is not None else ""
    return f"{failed.error or ''}\n{text[:2_000]}".casefold()
