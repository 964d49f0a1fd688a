"""Recovery by the same effect: a later call with the intent of the failed one, which succeeded.

The intent of a call is its effect with its targets (`inspector.chain.similar_calls`): a failed write is recovered by a
write to the same file, whichever tool does it, and never by a view; a failed `git commit` by a commit; a check by the
same check. Only a call counts that was made when the failure could be known. It is `same-intent` if tool or program
are the same, else `other-tool`. A check that could not run at all is recovered by one that ran, even if that found
faults.

Steps are indexed by every key of every intent of theirs, so that a look-up takes logarithmic time; under one key the
next few are compared.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain, islice, pairwise
from posixpath import normpath

from msgspec import Struct

from weaklink.inspector.chain.effects import (
    DATABASE_CLIENTS,
    Effect,
    EffectKind,
    checker_of,
    effects_of,
    effects_of_line,
    folder_of,
    has_known_effect,
    lists_names,
    main_effect,
    only_asks,
    searches_texts,
)
from weaklink.inspector.chain.shell_lines import ShellCommand, elsewhere
from weaklink.inspector.chain.similar_calls import Intent, intents_of, respells, same_intent
from weaklink.inspector.chain.steps import Recovery, ResultKind, Step, StepOutcome
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, kind_of, operation_of
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import ToolCall
from weaklink.inspector.scanning import lazy_pattern

_MISSING = lazy_pattern(r"no such file|not (?:be )?found|not exist|enoent|missing|cannot find", re.IGNORECASE)
_SELECTED = lazy_pattern(r"(?:^|\s)(?:--tests?|-k|-t|--filter|-run|--grep|-g|-Dtest)[ =]['\"]?([\w.:*/-]+)")
_MAX_CANDIDATES = 8  # how many steps under one key are compared; more calls are alike only by chance


class Recovered(Struct, frozen=True):
    """How a failed step was recovered, by which rule, and the number of the step that did it."""

    how: Recovery
    rule: VerdictRule
    by: int | None = None


@memoized
def _intents_and_keys(call: ToolCall) -> tuple[tuple[Intent, ...], frozenset[str]]:
    intents = intents_of(call)
    return intents, frozenset(chain.from_iterable(intent.keys() for intent in intents))


class SameEffect:
    """The successful steps, indexed by every key of every intent of theirs.

    `ran` are checks that reported faults: they replace a check that could not run at all. `is_other_item` is
    whether a later call does to another thing what the failed one was to do.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        good: Sequence[Step],
        ran: Sequence[Step],
        failed: Mapping[int, Intent],
        is_other_item: Callable[[Step, Step], bool],
    ) -> None:
        self._steps, self._failed, self._is_other_item = steps, failed, is_other_item
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)
        self._intents: dict[int, tuple[Intent, ...]] = {}
        self._ran = {step.number for step in ran}
        self._good = sorted({step.number for step in good} | self._ran)
        is_any = any(intent.tool is None for intent in failed.values())
        tools = {intent.tool for intent in failed.values()}
        for number in self._good:
            intents, keys = _intents_and_keys(steps[number - 1].call)
            if not is_any and tools.isdisjoint(intent.tool for intent in intents):
                continue
            self._intents[number] = intents
            for key in keys:
                self._by_key[key].append(number)

    def after(self, failed: Step) -> Recovered | None:
        """The first later step of the same intent that succeeded, and was made when the failure could be known."""
        intent = self._failed[failed.number]
        is_missing = _MISSING.search(f"{failed.error}") is not None
        for number in sorted(set(self._candidates(failed, intent))):
            if number in self._ran and (
                failed.result_kind is not ResultKind.FAILURE or not (intent.tool or "").startswith("check ")
            ):
                continue
            if self._does_other_thing(failed, self._steps[number - 1]):
                continue
            others = self._intents.get(number, ())
            is_same = any(same_intent(intent, other) or (is_missing and respells(intent, other)) for other in others)
            if (is_same or _is_below(failed, self._steps[number - 1])) and not self._leaves_findings(failed, number):
                return Recovered(self._how(failed, self._steps[number - 1]), VerdictRule.SAME_EFFECT, number)
        return None

    def _does_other_thing(self, failed: Step, later: Step) -> bool:
        """Whether a later call has another aim, although its tool and target are alike."""
        if only_asks(failed.call) is False and only_asks(later.call):
            return True
        if only_explains(later) and not only_explains(failed):
            return True
        if self._is_other_item(later, failed) or (not has_known_effect(failed.call) and looks_instead(later, failed)):
            return True
        if _is_part_of_check(failed, later) or _is_other_check(failed, later):
            return True
        if _runs_other_line(later, failed) or _works_in_other_folder(later, failed):
            return True
        if _puts_other_statement(later, failed):
            return True
        return counts_instead(later, failed) or asks_elsewhere(later, failed) or lists_instead(later, failed)

    def _leaves_findings(self, failed: Step, number: int) -> bool:
        """Whether the checks that pass from a later one on select some of the files with findings, but not all."""
        if failed.result_kind is not ResultKind.FINDING or failed.result is None:
            return False
        files, mine = faulty_files(failed), _checked_targets(failed)
        if len(files) < _SEVERAL or (mine and mine <= _checked_targets(self._steps[number - 1])):
            return False
        last_whole, last_of = self._last_checks
        return number > last_whole and any(last_of.get(file, 0) < number for file in files)

    @cached_property
    def _last_checks(self) -> tuple[int, Mapping[str, int]]:
        """The number of the last good check of everything or of a folder, and of the last that names each file."""
        last_whole, last_of = 0, dict[str, int]()
        for step in self._steps:
            effects = effects_of(step.call) if step.is_good else ()
            targets = [effect.targets for effect in effects if effect.kind is EffectKind.CHECK]
            names = [_name_of(target) for target in chain.from_iterable(targets)]
            if targets and (not all(targets) or any("." not in name or "*" in name for name in names)):
                last_whole = step.number
            last_of.update(dict.fromkeys(names, step.number))
        return last_whole, last_of

    def _how(self, failed: Step, later: Step) -> Recovery:
        mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
        is_same = bare_name(failed.call.name or "") == bare_name(later.call.name or "") or failed.call.name is None
        if mine is not None and _lacks_program(failed, later):
            return Recovery.OTHER_TOOL
        if mine is None or theirs is None or mine.kind is EffectKind.CHECK:
            return Recovery.SAME_INTENT
        if is_same and (mine.command is None or mine.subject in {effect.subject for effect in effects_of(later.call)}):
            return Recovery.SAME_INTENT
        return Recovery.OTHER_TOOL

    def _candidates(self, failed: Step, intent: Intent) -> Iterator[int]:
        nameless = intent.tool is None
        for numbers in [self._good] if nameless else (self._by_key.get(key, []) for key in set(intent.keys())):
            first = bisect_right(numbers, failed.number)
            later = (n for n in numbers[first : first + 4 * _MAX_CANDIDATES] if self._is_after(failed, n))
            yield from islice(later, _MAX_CANDIDATES)

    def _is_after(self, failed: Step, number: int) -> bool:
        turn = self._steps[number - 1].location.turn
        if failed.result_location is not None:
            return turn > failed.result_location.turn or failed.result_location.turn == failed.location.turn
        return turn > failed.location.turn or failed.outcome is StepOutcome.MALFORMED


def _lacks_program(failed: Step, later: Step) -> bool:
    """Whether a later line leaves out the program that was not found: only the rest of the line was repeated."""
    if VerdictRule.PROGRAM_MISSING not in failed.rules:
        return False
    before, after = (
        {effect.command.program for effect in effects_of(step.call) if effect.command is not None}
        for step in (failed, later)
    )
    return any(f"{program}: " in (failed.error or "") for program in before - after)


def looks_instead(later: Step, failed: Step) -> bool:
    """Whether a call of a tool that does several things only looks, and the failed one was to do something else."""
    operations = (operation_of(later.call), operation_of(failed.call))
    return all(operations) and [kind_of(name) is ToolKind.READS for name in operations] == [True, False]


def counts_instead(later: Step, failed: Step) -> bool:
    """Whether two lines of a program with subcommands differ in the words for what to do, and the later one only asks.

    `queuectl dead count` does not purge what `queuectl dead purge` was to.
    """
    mine = main_effect(effects_of(failed.call))
    if mine is None or mine.command is None:
        return False
    old = _plain_words(mine.command.operands)
    commands = (effect.command for effect in effects_of(later.call) if effect.command is not None)
    others = [_plain_words(other.operands) for other in commands if other.program == mine.command.program]
    return bool(others) and all(_looks(new - old) and old - new and not _looks(old - new) for new in others)


def _plain_words(operands: Sequence[str]) -> frozenset[str]:
    return frozenset(word for word in operands[:3] if word.isalpha())


def _looks(words: frozenset[str]) -> bool:
    return any(kind_of(word) is ToolKind.READS for word in words)


def asks_elsewhere(later: Step, failed: Step) -> bool:
    """Whether a later line puts a statement to another database or host, and the first error does not blame the old."""
    mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
    if mine is None or theirs is None or mine.command is None or theirs.command is None:
        return False
    if mine.command.program != theirs.command.program or only_asks(failed.call) is None:
        return False
    places = (" ".join(_addresses(command.words)) for command in (mine.command, theirs.command))
    old, new = (frozenset(_PLACE_WORD.findall(address)) for address in places)
    text = f"{failed.error} {failed.result.content[:2_000] if failed.result is not None else ''}"
    return bool(new) and any(word not in text for word in old - new)


def _runs_other_line(later: Step, failed: Step) -> bool:
    """Whether two lines that run on another machine, or in a container, have nothing but that in common.

    `ssh web1 uptime` does not reload what `ssh web1 systemctl reload nginx` was to.
    """
    mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
    if mine is None or theirs is None or mine.command is None or theirs.command is None:
        return False
    lines = (elsewhere(mine.command), elsewhere(theirs.command))
    if mine.command.program != theirs.command.program or not all(lines):
        return False
    old, new = (effects_of_line(line) for line in lines if line is not None)
    aim = main_effect(old)
    if aim is None or aim.kind in _LOOKS:
        return False
    others = (*_LOOKS, EffectKind.WRITE) if aim.kind is EffectKind.RUN else _LOOKS
    acts = [effect for effect in new if effect.kind not in others]
    words = frozenset(word for effect in old if effect.kind not in _LOOKS for word in _words_of(effect))
    return all(words.isdisjoint(_words_of(effect)) for effect in acts)


_LOOKS = (EffectKind.READ, EffectKind.PROBE, EffectKind.NOTHING)


def _words_of(effect: Effect) -> frozenset[str]:
    """The words of a program's line; of a framework's console not the names of interpreter and script."""
    command = effect.command
    if command is None:
        return frozenset()
    words = (command.program, *command.operands)
    task = effect.subject.partition(" ")[2]
    return frozenset(words[words.index(task) :] if task in words[2:] else words)


def _puts_other_statement(later: Step, failed: Step) -> bool:
    """Whether the clients of a database put statements that have no verb in common: `VACUUM t`, then `CREATE INDEX`."""
    mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
    if mine is None or theirs is None or mine.command is None or theirs.command is None:
        return False
    old, new = (frozenset(_verbs_of_statements(command)) for command in (mine.command, theirs.command))
    return mine.command.program == theirs.command.program and bool(old and new) and old.isdisjoint(new)


def _verbs_of_statements(command: ShellCommand) -> Iterator[str]:
    """The verbs of the statements in a client's words; those that may have one aim as the same."""
    if command.program in _DOCUMENT_CLIENTS:
        methods = (match[1].casefold() for match in _METHOD.finditer(" ".join(command.words)))
        yield from (verb for method in methods for verb in _DOCUMENT_VERBS if _DOCUMENT_VERBS[verb].match(method))
        return
    texts = (word for word in command.words if " " in word) if command.program in DATABASE_CLIENTS else ()
    for match in chain.from_iterable(map(_STATEMENT_VERB.finditer, texts)):
        verb = match[1].casefold()
        if verb not in _SAYS_NO_AIM:
            yield _VERBS_ALIKE.get(verb, verb)


_DOCUMENT_CLIENTS = frozenset(("mongosh", "mongo"))
_METHOD = lazy_pattern(r"\bdb(?:\.[\w$]{1,60}|\.getCollection\([^)]{1,80}\)|\[[^\]]{1,80}\])?\.(\w{1,40})\(")
_DOCUMENT_VERBS = {  # of a method that is in none, nothing is known
    "insert": lazy_pattern(r"insert|replace|update|bulkwrite|save|findoneand(?:update|replace)"),
    "delete": lazy_pattern(r"delete|remove|drop|findoneanddelete"),
    "index": lazy_pattern(r"(?:create|ensure)index"),
    "find": lazy_pattern(r"find(?:one)?$|aggregate|count|estimateddocumentcount|distinct"),
}
_STATEMENT_VERB = lazy_pattern(r"(?:^|;)\s*([A-Za-z]{3,})\s")
_VERBS_ALIKE: dict[str, str] = dict.fromkeys(("update", "merge", "replace", "upsert", "copy"), "insert")
_SAYS_NO_AIM = frozenset(("with", "do", "begin", "commit", "start", "set", "explain", "call", "end"))
_VERBS_ALIKE |= {"vacuum": "analyze", "truncate": "delete", "drop": "delete", "alter": "create"}


def _works_in_other_folder(later: Step, failed: Step) -> bool:
    """Whether two lines do the same in folders beside each other, and the first error does not blame its folder."""
    places = (folder_of(failed.call), folder_of(later.call))
    mine, theirs = (_comparable(folder) for folder in places if folder is not None) if all(places) else ("", "")
    if mine.endswith(theirs) or theirs.endswith(mine) or mine.startswith(theirs) or theirs.startswith(mine):
        return False
    return _BLAMES_PLACE.search(f"{failed.error}\n{failed.result.content[:2_000] if failed.result else ''}") is None


def _comparable(folder: str) -> str:
    """A folder between slashes, without its beginning if that is not known here: `~/x` may be `/home/ada/x`."""
    return f"/{_UNKNOWN_BEGINNING.sub('', normpath(folder)).strip('/')}/"


_UNKNOWN_BEGINNING = lazy_pattern(r"\A(?:~[^/]*|(?:\.\./)+|/(?:private/)?tmp/.*)")


_BLAMES_PLACE = lazy_pattern(
    r"""
    # the folder or file of the command is not there, or not the right one
    no[ ]such[ ]file | permission[ ]denied:[ ]['\"]?/ | \beacces\b | read-only[ ]file
    | not[ ]a[ ]git[ ]repository | missing[ ]script | no[ ]\w*file[ ]found | not[ ](?:be[ ])?found
    | no[ ]rule[ ]to[ ]make | enoent | could[ ]not[ ](?:find|read|open) | cannot[ ]find | does[ ]not[ ]exist
    | not[ ]a[ ]directory | no[ ]configuration | no[ ]tests?[ ]
    """,
    re.IGNORECASE | re.VERBOSE,
)


def only_explains(step: Step) -> bool:
    """Whether a line only asks a program what it would do: `--help`, `--dry-run`."""
    effect = main_effect(effects_of(step.call))
    words = effect.command.words if effect is not None and effect.command is not None else ()
    return any(_EXPLAINS.fullmatch(word) for word in words) or words[-1:] == ("-h",)


_EXPLAINS = lazy_pattern(r"--(?:help|version|dry-?run(?:=\w+)?|what-?if|describe|list|status)")


def lists_instead(later: Step, failed: Step) -> bool:
    """Whether a line only lists the names in a folder whose files a search was to go through."""
    mine, theirs = main_effect(effects_of(failed.call)), main_effect(effects_of(later.call))
    return mine is not None and theirs is not None and searches_texts(mine) and lists_names(theirs)


_PLACE_WORD = lazy_pattern(r"[\w.-]{2,}")
_PLACE_OPTIONS = frozenset(("-d", "--dbname", "-D", "--database", "-h", "--host", "-S", "--server"))


def _addresses(words: Sequence[str]) -> Iterator[str]:
    """The database and the host among the words of a client: what such options take, and other plain words."""
    for before, word in pairwise(("", *words)):
        is_plain = not word.startswith("-") and " " not in word and not before.startswith("-")
        if before in _PLACE_OPTIONS or is_plain:
            yield word


_SEVERAL = 2
_FAILED_FILE = lazy_pattern(r"^(?:FAILED|FAIL|ERROR):? (\S+?\.\w{1,5})(?=::|:|\s|$)", re.MULTILINE)
# A file with findings of a linter, at the beginning of a line: before a line number, or alone above its findings.
_LINTED_FILE = lazy_pattern(
    r"^(?:(?=\S{1,200}?\.\w{1,5}(?::\d|\(\d))|(?=\S{0,200}/\S{0,200}?\.\w{1,5}\s*$))([^\s:(]+?\.\w{1,5})(?=[:(\s]|$)",
    re.MULTILINE,
)
_LIST_FILES = frozenset(("lint", "types"))  # a test's output names the files of a traceback, too


def faulty_files(failed: Step) -> frozenset[str]:
    """The names of the files in which a check found something, as its output lists them, in lower case."""
    effect = main_effect(effects_of(failed.call))
    text = failed.result.content if failed.result is not None else ""
    return _files_listed(text, effect.subject if effect is not None else "")


@memoized
def _files_listed(text: str, check: str) -> frozenset[str]:
    return frozenset(map(_name_of, (_LINTED_FILE if check in _LIST_FILES else _FAILED_FILE).findall(text)))


def _checked_targets(step: Step) -> AbstractSet[str]:
    """What the checks of a call name; nothing for a check of everything."""
    return {target for effect in effects_of(step.call) if effect.kind is EffectKind.CHECK for target in effect.targets}


def _name_of(path: str) -> str:
    return path.rsplit("/", 1)[-1].casefold()


def _is_part_of_check(failed: Step, later: Step) -> bool:
    """Whether a later check leaves out what a finding names: its pass says nothing of the finding.

    It selects something that the finding does not name, excludes something that it names, or is given other files.
    """
    if failed.result_kind is not ResultKind.FINDING or failed.result is None:
        return False
    line, before, text = _line_of(later), _line_of(failed), failed.result.content
    excluded = {
        _names(match[1])[-1] for match in _EXCLUDED.finditer(line) if match[0] not in before and _names(match[1])
    }
    if any(name in text for name in excluded - _GENERATED):
        return True
    selected = _SELECTED.search(line)
    if selected is not None and _SELECTED.search(before) is None:
        names = _names(selected[1])
        return bool(names) and not any(name in text for name in names)
    files = {_name_of(target).partition(".")[0] for target in _checked_targets(later) if "." in _name_of(target)}
    if not files or _checked_targets(failed) or _TEST_FILE.search(text) is None:
        return False
    listed = "".join(filter(str.isalnum, text.casefold()))
    return not any("".join(filter(str.isalnum, file)) in listed for file in files)


def _names(selector: str) -> list[str]:
    return [name for name in re.split(r"[.:*/]+", selector) if len(name) > 2]


_GENERATED = frozenset(("build", "dist", "vendor", "node_modules", "venv", "out", "target", "generated", "git"))
# What names a file of tests, or its class; a function's name says nothing of the file: "FAIL: test_total (cart.Total)".
_TEST_FILE = lazy_pattern(
    r"""
    # a test by its name
    \b\w+Tests?\b | \b\w+\.(?:test|spec)\b | \b(?:test_\w+|\w+_(?:test|spec))\.\w{1,5}\b
    # a file of code
    | [\w-]\.(?:[cm]?[jt]sx?|py|rb|go|rs|php|java|kt|cs|swift|dart|exs?)\b
    """,
    re.VERBOSE,
)
_EXCLUDED = lazy_pattern(
    r"""
    (?:^|\s)(?:
        # options of test runners and linters
        --?skip | --deselect | --exclude(?:-\w+)? | --ignore(?:-\w+)? | -E | --testPathIgnorePatterns
        | -k[ ]'?not
    )[ =]['\"]?([\w.:*/-]+)
    """,
    re.VERBOSE,
)


def _is_below(failed: Step, later: Step) -> bool:
    """Whether a later check is of what a finding names, in the folder or file that the first one was of.

    `rspec spec/a_spec.rb:4` after `rspec spec/a_spec.rb`, as RSpec prints what failed.
    """
    if failed.result_kind is not ResultKind.FINDING or failed.result is None:
        return False
    folders, content = _checked_targets(failed), failed.result.content
    files = (file for file in _checked_targets(later) if file in content.casefold())
    return any(file.startswith((f"{folder.rstrip('/')}/", f"{folder}:")) for file in files for folder in folders)


def _is_other_check(failed: Step, later: Step) -> bool:
    """Whether two checks are made by different programs: a unit test passes, and the end-to-end test never ran."""
    if VerdictRule.PROGRAM_MISSING in failed.rules:
        return False
    effects = [main_effect(effects_of(step.call)) for step in (failed, later)]
    programs = [checker_of(effect) for effect in effects if effect is not None]
    return len(programs) == 2 and None not in programs and programs[0] != programs[1]


def _line_of(step: Step) -> str:
    """The words of the check of a call, as one line."""
    effect = main_effect(effects_of(step.call))
    return " ".join(effect.command.words) if effect is not None and effect.command is not None else ""
