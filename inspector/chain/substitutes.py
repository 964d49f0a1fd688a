"""Recovery in another way: another tool that brought what the failed call was to bring, or the way the agent named.

Another tool replaces a failed call if it has the same effect on the same target, or if it brought what was wanted:

* a lookup of the same thing by another key, whose result later calls use (`find_user_by_email`, then
  `find_user_by_name`);
* for a file that could not be read, any later call whose arguments or result hold it;
* for a file that could not be written, a command that names it and writes;
* for a program that could not run, another program with the same target, or with most of its words;
* for a finding that is not checked again, a later write to a file that it names.

Else the agent itself may name its other way, right after the failure ("GitHub refuses; PyPI knows the version as
well"): the next call that takes it, by the words that both share, works around the failure. That holds for what looks
at something and for what runs something that the user did not ask for by name; a file that was to be changed has no
other way but one that these rules can see.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import islice, pairwise
from sys import intern

from weaklink.inspector.chain.assertions import clauses_of
from weaklink.inspector.chain.effects import (
    Effect,
    EffectKind,
    effects_of,
    effects_of_line,
    has_known_effect,
    inline_code,
    main_effect,
    only_asks,
    runs_task,
)
from weaklink.inspector.chain.provenance_terms import folded_names, leaves
from weaklink.inspector.chain.same_effect import Recovered, asks_elsewhere, faulty_files, lists_instead
from weaklink.inspector.chain.session_facts import MAX_READ_CHARS, SessionFacts, is_not_installed, known_turn
from weaklink.inspector.chain.shell_lines import elsewhere, host_of
from weaklink.inspector.chain.similar_calls import Intent, IntentValue
from weaklink.inspector.chain.statements import Judged
from weaklink.inspector.chain.steps import Recovery, ResultKind, Said, Step
from weaklink.inspector.chain.tool_kinds import (
    SPOKEN,
    ToolKind,
    bare_name,
    ends_run,
    is_interpreter,
    is_terminal,
    kind_of,
    subjects_of,
)
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.memoized import is_memoizing, memoized
from weaklink.inspector.scanning import lazy_pattern

_MAX_CANDIDATES = 4
_LOCAL = frozenset(("docker", "podman", "docker-compose", "nerdctl"))
_MIN_WORDS = 4
_MAX_OTHER_WAYS = 6
_MAX_SEARCHED_WORDS = 16  # to search a text for more words takes longer than to split it into its words
_WORD = lazy_pattern(r"\w+")
_HAVE_OTHER_WAYS = (EffectKind.READ, EffectKind.PROBE, EffectKind.RUN)


class Substitutes:
    """The successful steps, indexed by rare words in the targets of the failed ones; and the lookups among them."""

    def __init__(self, steps: Sequence[Step], failed: Iterable[tuple[Step, Intent]]) -> None:
        self._steps = steps
        self._failed = list(failed)
        keys = {key for _, intent in self._failed for value in intent.sought if (key := _rarest(value)) is not None}
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for step in steps if keys else ():
            if step.is_good and step.result is not None and not is_terminal(step.call.name):
                for word in _keys_in(step, keys):
                    self._by_word[word].append(step.number)

    def of(self, failed: Step, intent: Intent) -> Recovered | None:
        """The first later step of another tool that did the work of `failed`, and how."""
        if failed.call.name is None or failed.result_kind is ResultKind.FINDING:
            return None
        if _CONFLICT.search(_result_of(failed)) is not None and (ended := self._concluded(failed, intent)) is not None:
            return ended
        if (number := self._lookup(failed)) is not None:
            return Recovered(Recovery.OTHER_TOOL, VerdictRule.OTHER_LOOKUP, number)
        if (alike := self._alike(failed) or self._other_service(failed)) is not None:
            return alike
        if (elsewhere := self._elsewhere(failed)) is not None:
            return Recovered(Recovery.WORKED_AROUND, VerdictRule.WRITTEN_ELSEWHERE, elsewhere)
        if (rewritten := self._rewritten(failed)) is not None:
            return Recovered(Recovery.WORKED_AROUND, VerdictRule.TARGET_REACHED, rewritten)
        made = _made_by(failed)  # what reads such a file later reads what was there before
        for value in (value for value in intent.sought if value.text not in made):
            for number in self._holding(value, failed):
                step = self._steps[number - 1]
                how = None if _stays_here(step, failed) else self._serves(step, failed, intent, value)
                if how is not None:
                    return Recovered(how, VerdictRule.TARGET_REACHED, number)
        return None

    def _alike(self, failed: Step) -> Recovered | None:
        """The next step of another tool or program that looks or runs with most words of a failed one's arguments.

        A program that is not installed is replaced by the next one that looks at something, too.
        """
        mine = main_effect(effects_of(failed.call))
        if mine is not None and (launched := self._launched_otherwise(failed, mine)) is not None:
            return Recovered(Recovery.OTHER_TOOL, VerdictRule.SAME_WORDS, launched)
        if mine is None or mine.kind not in _HAVE_OTHER_WAYS:
            return None
        words, known = _query_words(failed), (failed.result_location or failed.location).turn
        is_missing = is_not_installed(failed)
        names = _operand_names(mine)
        for step in islice(self._steps, failed.number, failed.number + _MAX_CANDIDATES):
            later = main_effect(effects_of(step.call))
            if later is None or not _is_other_program(mine, later) or not step.is_good or step.location.turn <= known:
                continue
            if ends_run(step.call):
                continue  # its words are the agent's report
            if _PRINTED_ERROR.search(_result_of(step)) or _only_quotes(step, mine):
                continue
            if mine.command is not None and _does_by_name(mine.command.operands, step):
                return Recovered(Recovery.OTHER_TOOL, VerdictRule.SAME_WORDS, step.number)
            if mine.subject.endswith(" install") and later.subject.endswith(" install") and not mine.targets:
                return Recovered(
                    Recovery.OTHER_TOOL, VerdictRule.SAME_WORDS, step.number
                )  # both install what the project needs
            is_alike = len(words) >= _MIN_WORDS and 2 * len(words & _query_words(step)) > len(words)
            does_same = later.kind is mine.kind and (
                mine.kind is not EffectKind.RUN or not names.isdisjoint(_operand_names(later))
            )
            does_same = does_same or (later.kind is mine.kind and _covers(step, mine))
            is_alike = is_alike and later.kind in (mine.kind, EffectKind.RUN, EffectKind.WRITE)
            if is_alike or (is_missing and does_same) or _serves_same_purpose(mine, step):
                is_same = not is_missing and _is_run_in(mine, step)  # `curl a | tee b` after `curl c`
                how = Recovery.SAME_INTENT if is_same else Recovery.OTHER_TOOL
                return Recovered(how, VerdictRule.SAME_WORDS, step.number)
        return None

    def _concluded(self, failed: Step, intent: Intent) -> Recovered | None:
        """The edit of a file with a conflict, else the next commit or `--continue`, which ends what stopped there."""
        if (edited := self.edited(failed, intent)) is not None:
            return edited
        for step in self._steps[failed.number :]:
            commands = (effect.command for effect in effects_of(step.call) if step.is_good)
            words = (command.words for command in commands if command is not None and command.program == "git")
            if any(line[:1] == ("commit",) or "--continue" in line for line in words):
                return Recovered(Recovery.SAME_INTENT, VerdictRule.TARGET_REACHED, step.number)
        return None

    def _in_script(self, failed: Step, mine: Effect) -> int | None:
        """The next step that runs a file into which a failed command was written."""
        scripts: set[str] = set()
        for step in islice(self._steps, failed.number, failed.number + _MAX_CANDIDATES):
            if scripts and step.is_good and _runs_file(step, scripts):
                return step.number
            if step.is_good and _only_quotes(step, mine):
                scripts.update(target.rsplit("/", 1)[-1] for target in written_paths(step))
        return None

    def _launched_otherwise(self, failed: Step, mine: Effect) -> int | None:
        """The step that runs the failed line through another program, outside its container, or from a file."""
        return self._launched(failed, mine) or self._outside(failed, mine) or self._in_script(failed, mine)

    def _outside(self, failed: Step, mine: Effect) -> int | None:
        """The next step that runs on this machine what a failed line was to run in a container of it."""
        line = elsewhere(mine.command) if mine.command is not None and mine.command.program in _LOCAL else None
        inner = main_effect(effects_of_line(line)) if line else None
        looks = (EffectKind.READ, EffectKind.PROBE)
        if inner is None or inner.command is None or inner.kind in (*looks, EffectKind.WRITE):
            return None  # a look is another one there; what was to change in the container was not changed
        for step in islice(self._steps, failed.number, failed.number + _MAX_CANDIDATES):
            commands = (effect.command for effect in effects_of(step.call) if effect.command is not None)
            is_same = any(
                (command.program, command.words) == (inner.command.program, inner.command.words) for command in commands
            )
            if is_same and step.is_good and step.location.turn > known_turn(failed):
                return step.number
        return None

    def _launched(self, failed: Step, mine: Effect) -> int | None:
        """The next step that runs a program which was not found through another one, with the same operands.

        `ruff check` becomes `uvx ruff@0.6 check`, or the container that has the program runs it.
        """
        if mine.command is None or not is_not_installed(failed) or mine.command.program not in (failed.error or ""):
            return None
        wanted = [mine.command.program, *mine.command.operands]
        for step in islice(self._steps, failed.number, failed.number + _MAX_CANDIDATES):
            ran = step.is_good or step.result_kind is ResultKind.FINDING
            if not ran or step.location.turn <= known_turn(failed):
                continue
            for effect in effects_of(step.call):
                if effect.kind is EffectKind.CHECK and mine.kind is not EffectKind.CHECK:
                    continue  # `bash -n` only reads it
                words = () if effect.command is None else (effect.command.own_name, *effect.command.words)
                names = [word.rsplit("/", 1)[-1].partition("@")[0] for word in words]
                if wanted[0] in names and set(wanted[1:]) <= set(words[names.index(wanted[0]) :]):
                    return step.number
        return None

    def _elsewhere(self, failed: Step) -> int | None:
        """The first later write of the same text to a file of the same name: its folder could not be written."""
        text = _written_text(failed)
        if not text:
            return None
        names = set(step_files(failed))
        for step in islice(self._steps, failed.number, failed.number + _MAX_CANDIDATES):
            if step.is_good and _written_text(step) == text and not names.isdisjoint(step_files(step)):
                return step.number
        return None

    def _rewritten(self, failed: Step) -> int | None:
        """The next step whose own code does with the same files what took a command too long, or too much memory."""
        mine = main_effect(effects_of(failed.call))
        if mine is None or mine.kind is not EffectKind.RUN or _EXHAUSTED.search(failed.error or "") is None:
            return None
        names = _files_in_code(failed).union(*map(_operand_names, effects_of(failed.call)))
        used = frozenset(name for name in names if len(name) > 2 and name.isidentifier())
        for step in islice(self._steps, failed.number, failed.number + _MAX_CANDIDATES):
            is_later = step.is_good and step.location.turn > known_turn(failed)
            if is_later and _runs_code(step):
                imports = (match[1] or match[2] for match in _IMPORTED.finditer(_code_of(step).casefold()))
                if not used.isdisjoint(_files_in_code(step).union(imports)):
                    return step.number
        return None

    def _holding(self, value: IntentValue, failed: Step) -> Iterator[int]:
        numbers = self._by_word.get(_rarest(value) or "", [])
        first = bisect_right(numbers, failed.number)
        since = (failed.result_location or failed.location).turn
        later = [n for n in numbers[first : first + _MAX_CANDIDATES] if self._steps[n - 1].location.turn > since]
        sought = next(iter(value.words), value.text) if value.is_path else value.text
        return (number for number in later if sought in _text(self._steps[number - 1]))

    def _serves(self, step: Step, failed: Step, intent: Intent, value: IntentValue) -> Recovery | None:
        """How a later step whose call or result holds a target did the work of `failed`; None if it did not."""
        mine = main_effect(effects_of(failed.call))
        if mine is not None and _uses_existing(step, failed, mine, value.text):
            return Recovery.WORKED_AROUND
        is_missing = mine is not None and mine.command is not None and is_not_installed(failed)
        if is_missing and mine is not None and mine.kind is EffectKind.WRITE:
            later = main_effect(effects_of(step.call))
            does = later is not None and later.kind in (EffectKind.RUN, mine.kind) and _is_other_program(mine, later)
            return Recovery.OTHER_TOOL if does and value.text in step.call.raw_arguments.casefold() else None
        if mine is not None and has_known_effect(failed.call):
            if lists_instead(step, failed):
                return None
            if mine.kind is EffectKind.WRITE and self._shows_change(step, value):
                return Recovery.WORKED_AROUND
            return _serves_effect(step, mine, next(iter(value.words), value.text) if value.is_path else value.text)
        tool, other = failed.call.name or "", step.call.name or ""
        if bare_name(tool) == bare_name(other):
            return None
        if any(target.is_path for target in intent.sought):
            are_looks = ToolKind.WRITES not in (kind_of(tool), kind_of(other))
            return Recovery.OTHER_TOOL if are_looks else None
        if (kind_of(tool) is ToolKind.WRITES) != (kind_of(other) is ToolKind.WRITES):
            return None
        if bare_name(other).partition("_")[0] in _TELLS and bare_name(tool).partition("_")[0] not in _TELLS:
            return None  # that somebody is told of it does not do it
        text = bare_name(other) + " " + _text(step)
        return Recovery.OTHER_TOOL if any(subject in text for subject in subjects_of(tool)) else None

    def _shows_change(self, step: Step, target: IntentValue) -> bool:
        """Whether a line that runs something on a file then shows it as changed, which no call had changed before.

        In a diff, its statistics or a status: ` src/mail.py | 12 ++--`, ` M src/mail.py`, `+++ b/src/mail.py`.
        """
        effect, name = main_effect(effects_of(step.call)), target.text.rsplit("/", 1)[-1]
        if effect is None or effect.kind is not EffectKind.RUN:
            return False
        is_given = effect.subject == "git apply" or name in step.call.raw_arguments.casefold()
        shown = _names_of_files(_CHANGED_FILE.findall(_result_of(step)[:_MAX_SHOWN_CHARS].casefold()))
        before = (write for write in self._writes if write.number < step.number)
        return is_given and name in shown and not any(name in _names_of_files(written_paths(write)) for write in before)

    def _lookup(self, failed: Step) -> int | None:
        """The first later lookup of the same thing by another key whose result a later call uses."""
        thing = _looked_up(failed)
        if thing is None:
            return None
        known = (failed.result_location or failed.location).turn
        for step in self._lookups.get(thing, ()):
            is_later = step.number > failed.number and step.location.turn > known
            if is_later and step.call.name != failed.call.name and step.number in self._used:
                return step.number
        return None

    def _other_service(self, failed: Step) -> Recovered | None:
        """The next lookup of another service that is alike by name and arguments, after one that could not serve.

        `places_nearby(near=x)` has no quota left, and `osm_nearby(near=x)` is asked.
        """
        if has_known_effect(failed.call) or _NOT_SERVED.search(failed.error or "") is None:
            return None
        mine, values = _name_parts(failed), _argument_items(failed)
        for step in self._steps[failed.number : failed.number + _MAX_OTHER_WAYS]:
            is_other = step.is_good and step.call.name != failed.call.name and not has_known_effect(step.call)
            kinds = {kind_of(name or "") for name in (step.call.name, failed.call.name)}
            if not is_other or ToolKind.WRITES in kinds or step.location.turn <= known_turn(failed):
                continue
            if mine & _name_parts(step) and values & _argument_items(step):
                return Recovered(Recovery.OTHER_TOOL, VerdictRule.SAME_WORDS, step.number)
        return None

    def edited(self, failed: Step, intent: Intent) -> Recovered | None:
        """The first later write to a file that a finding or a conflict names, if the call was not made again."""
        if failed.result_kind is not ResultKind.FINDING and _CONFLICT.search(_result_of(failed)) is None:
            return None
        again = (step for step, other in self._failed if step.number > failed.number and other.tool == intent.tool)
        if next(again, None) is not None:
            return None
        text = _text(failed)
        named = set(folded_names(text))
        files = set(_NAMED_FILE.findall(" ".join([word for word in text.split() if "." in word])))
        stems = {name.partition(".")[0] for name in files}
        faulty, later = faulty_files(failed), (step for step in self._writes if step.number > failed.number)
        edited = faulty & {target.rsplit("/", 1)[-1].casefold() for step in later for target in written_paths(step)}
        if edited and edited != faulty:
            return None  # the findings in the other files are left
        for step in self._writes:
            names = {target.rsplit("/", 1)[-1] for target in written_paths(step)}
            others = {name.partition(".")[0] for name in names} - stems  # `install.sh` is not `install.py`
            if step.number > failed.number and not (names.isdisjoint(files) and others.isdisjoint(named)):
                return Recovered(Recovery.WORKED_AROUND, VerdictRule.EDITED_FINDING, step.number)
        return None

    @cached_property
    def _lookups(self) -> Mapping[str, Sequence[Step]]:
        lookups: defaultdict[str, list[Step]] = defaultdict(list)
        for step in self._steps:
            if step.is_good and (thing := _looked_up(step)) is not None:
                lookups[thing].append(step)
        return lookups

    @cached_property
    def _used(self) -> frozenset[int]:
        return frozenset(number for step in self._steps for number in step.depends_on)

    @cached_property
    def _writes(self) -> Sequence[Step]:
        return [step for step in self._steps if step.is_good and next(step_files(step), None) is not None]


_CHANGED_FILE = lazy_pattern(
    r"^(?: ?(?=\S{1,300} +\| +\d)| ?[MARU]{1,2} +|\s*modified: +|\+\+\+ )(\S{1,300})", re.MULTILINE | re.IGNORECASE
)
_MAX_SHOWN_CHARS = 4_000


def _names_of_files(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.rsplit("/", 1)[-1] for path in paths)


_TELLS = frozenset(("send", "notify", "email", "mail", "message", "reply", "forward", "sms", "tell"))
_NOT_SERVED = lazy_pattern(
    r"\b(?:quota|rate.?limit\w*|too many requests|overloaded|unavailable|timed? ?out|bad gateway)\b", re.IGNORECASE
)


def _name_parts(step: Step) -> frozenset[str]:
    """The words of a tool's name, without its verb and short ones."""
    parts = bare_name(step.call.name or "").split("_")
    return frozenset(part for part in parts if len(part) >= _MIN_WORDS and kind_of(part) is ToolKind.UNKNOWN)


def _argument_items(step: Step) -> frozenset[tuple[str, str]]:
    arguments = step.call.arguments if isinstance(step.call.arguments, dict) else {}
    return frozenset((key, value) for key, value in arguments.items() if isinstance(value, str) and len(value) > 1)


_EXISTS_ALREADY = lazy_pattern(r"\balready (?:exists?|in use|running|taken|defined)\b", re.IGNORECASE)
_TAKES_AWAY = frozenset(
    ("rm", "rmi", "remove", "delete", "destroy", "down", "stop", "kill", "drop", "uninstall", "prune")
)


def _uses_existing(step: Step, failed: Step, mine: Effect, target: str) -> bool:
    """Whether a later line of the same program uses what a failed one was to make: `docker start` for `docker run`."""
    if mine.kind is not EffectKind.RUN or mine.command is None:
        return False
    is_there = _EXISTS_ALREADY.search(failed.error or "") is not None
    return any(
        (is_there or f"`{later.subject}`" in (failed.error or ""))  # or the error names the next command: `brew link`
        and later.kind is EffectKind.RUN
        and later.command is not None
        and later.command.program == mine.command.program
        and _TAKES_AWAY.isdisjoint(later.command.operands[:2])
        and target in (word.casefold() for word in later.command.operands)
        for later in effects_of(step.call)
    )


def _does_by_name(operands: Sequence[str], step: Step) -> bool:
    """Whether a tool's name says what a command's first words do: `create_pull_request`, after `gh pr create`."""
    words = {SPOKEN.get(word, word) for word in operands[:2] if word.isalpha()}
    if len(words) < _VERB_AND_NOUN or has_known_effect(step.call):
        return False
    repositories = (match[1] for word in operands if (match := _REPOSITORY.fullmatch(word)) is not None)
    is_same = all(name in step.call.raw_arguments for name in repositories)
    return is_same and words <= {*bare_name(step.call.name or "").split("_")}


_VERB_AND_NOUN = 2
_REPOSITORY = lazy_pattern(r"[\w.-]+/([\w.-]+)")


def _covers(step: Step, mine: Effect) -> bool:
    """Whether a later line runs over all files of a kind of which a command was given one: `*.png` for `a.png`."""
    operands = mine.command.operands if mine.command is not None else ()
    kinds = {word.rsplit(".", 1)[-1] for word in operands if "." in word.strip(".")}
    return not kinds.isdisjoint(_GLOB.findall(step.call.raw_arguments[:MAX_READ_CHARS]))


_GLOB = lazy_pattern(r"\*\.(\w{1,8})\b")


def _made_by(failed: Step) -> frozenset[str]:
    """The files, in lower case, that a failed command was to make: `a.json` of `curl -o a.json URL`."""
    effect = main_effect(effects_of(failed.call))
    if effect is None or effect.command is None or effect.kind is EffectKind.CHECK:
        return frozenset()
    made = (word for option, word in pairwise(effect.command.words) if _MAKES.fullmatch(option))
    return frozenset(word.casefold().removeprefix("./") for word in made if _FILE_WORD.fullmatch(word))


_FILE_WORD = lazy_pattern(r"(?!-)[^=:\s]*[./][^=:\s]*")
_MAKES = lazy_pattern(r"-[a-zA-Z]{0,4}[oO]|--out(?:put|file|-file|put-file|put-document)?|-f")


def step_files(step: Step) -> Iterator[str]:
    """The names, without folder and suffix, of the files that a step writes."""
    yield from (target.rsplit("/", 1)[-1].partition(".")[0] for target in written_paths(step))


def written_paths(step: Step) -> Iterator[str]:
    """The paths that a step writes."""
    for effect in effects_of(step.call):
        if effect.kind is EffectKind.WRITE:
            yield from effect.targets


_NAMED_FILE = lazy_pattern(r"[\w-]+(?:\.[\w-]+)*\.[a-z]\w{0,7}\b")


def _written_text(step: Step) -> str:
    """The whole text that a call writes to a file, "" for another."""
    arguments = step.call.arguments if isinstance(step.call.arguments, dict) else {}
    texts = (arguments.get(key) for key in ("content", "file_text", "contents"))
    return next((text for text in texts if isinstance(text, str)), "")


def _is_other_program(effect: Effect, other: Effect) -> bool:
    """Whether two effects are those of different programs or tools; another subcommand does another thing."""
    if effect.command is None or other.command is None:
        return (effect.subject, effect.command is None) != (other.subject, other.command is None)
    are_scripts = "." in effect.subject or "." in other.subject  # the same interpreter runs other code
    return effect.command.program != other.command.program or (are_scripts and effect.subject != other.subject)


def _only_quotes(step: Step, mine: Effect) -> bool:
    """Whether a later call writes a failed command into a file, as a schedule, a script or a note, and does not run it.

    The command is there as it was given: its program before its first two words.
    """
    later = main_effect(effects_of(step.call))
    if mine.command is None or not mine.command.words or later is None or later.kind is not EffectKind.WRITE:
        return False
    line = " ".join((mine.command.program, *mine.command.words[:_QUOTED_WORDS])).casefold()
    return any(line in " ".join(str(value).split()).casefold() for _, value in leaves(step.call.arguments))


_QUOTED_WORDS = 2


def _runs_file(step: Step, names: AbstractSet[str]) -> bool:
    """Whether a call runs one of some files, in lower case, or a named task, which one of them may hold."""
    commands = (effect.command for effect in effects_of(step.call) if effect.kind in _MAY_RUN)
    words = ((command.program, command.own_name, *command.words) for command in commands if command is not None)
    return any(
        runs_task(line[0]) or any(word.rsplit("/", 1)[-1].casefold() in names for word in line) for line in words
    )


_MAY_RUN = (EffectKind.RUN, EffectKind.CHECK)


# Programs that do the same for the same operands.
_PURPOSES_TABLE = (
    "biber bibtex",
    "curl wget aria2c httpie",
    "scp rsync sftp",
    "pdflatex xelatex lualatex latexmk tectonic",
    "docker podman nerdctl",
)
_PURPOSES = {program: purpose for purpose in _PURPOSES_TABLE for program in purpose.split()}


def _serves_same_purpose(mine: Effect, step: Step) -> bool:
    """Whether a later line runs another program for the same purpose on the same: `bibtex main` for `biber main`."""
    purpose = _PURPOSES.get(mine.command.program) if mine.command is not None else None
    if purpose is None:
        return False
    others = (
        effect for effect in effects_of(step.call) if effect.command is not None and effect.command != mine.command
    )
    alike = (effect for effect in others if effect.command and _PURPOSES.get(effect.command.program) == purpose)
    return any(
        effect.kind is mine.kind and not _operand_names(mine).isdisjoint(_operand_names(effect)) for effect in alike
    )


def _is_run_in(effect: Effect, step: Step) -> bool:
    """Whether a line runs the program of an effect, whatever else it runs; a script is its own program."""
    commands = (later.command for later in effects_of(step.call))
    return (
        effect.command is not None
        and "." not in effect.subject
        and any(command is not None and command.program == effect.command.program for command in commands)
    )


def _serves_effect(step: Step, mine: Effect, target: str) -> Recovery | None:
    arguments = step.call.raw_arguments[:MAX_READ_CHARS].casefold()
    later = main_effect(effects_of(step.call))
    if later is None or later.kind is EffectKind.NOTHING:
        return None
    match mine.kind:
        case EffectKind.READ | EffectKind.PROBE:
            return Recovery.WORKED_AROUND if _is_looked_at(mine, later, arguments) else None
        case EffectKind.WRITE:
            is_held = target in (" ".join(later.targets) if later.command is None else arguments)
            writes = is_held and later.kind in (EffectKind.RUN, EffectKind.WRITE)
            return Recovery.WORKED_AROUND if writes and _WRITES.search(arguments) else None
        case EffectKind.RUN | EffectKind.CHECK:
            passed = _without_said(step, arguments)
            is_held = target in (passed if "*" in target else _ARGUMENT.findall(passed))
            if not is_held or _PRINTED_ERROR.search(_result_of(step)):
                return None
            if mine.subject.endswith(" install") and _brings(step, mine, target):
                return Recovery.OTHER_TOOL
            urls = (url for url in mine.targets if "://" in url)
            if any(url in arguments for url in urls) and _is_other_program(mine, later):
                return Recovery.OTHER_TOOL
            kinds = (EffectKind.RUN,) if mine.kind is EffectKind.RUN else (EffectKind.RUN, EffectKind.CHECK)
            if later.kind not in kinds or not _is_other_program(mine, later) or _only_keeps(later, arguments, mine):
                return None
            return Recovery.OTHER_TOOL if later.kind is mine.kind else Recovery.WORKED_AROUND
        case EffectKind.NOTHING:
            return None


def _without_said(step: Step, arguments: str) -> str:
    """A call's arguments, in lower case, without what its line only prints: `echo '0 3 * * * a.sh' | crontab -`."""
    said = (effect.command for effect in effects_of(step.call) if effect.kind is EffectKind.NOTHING)
    for word in (word for command in said if command is not None for word in command.words):
        arguments = arguments.replace(word.casefold(), " ")
    return arguments


def _is_looked_at(mine: Effect, later: Effect, arguments: str) -> bool:
    """Whether a later call looks at what `mine` was to look at; the status of a page is not the page."""
    page = next(iter(mine.targets), "")
    if "://" in page:
        is_status = mine.kind is EffectKind.READ and later.kind is EffectKind.PROBE
        return later.kind is not EffectKind.WRITE and not is_status and page in arguments
    return later.kind is not EffectKind.WRITE


def _operand_names(effect: Effect) -> frozenset[str]:
    """The names, without folder and suffix, of what a command is given."""
    if effect.command is None:
        return frozenset()
    code = inline_code(effect.command.words)
    operands = effect.command.operands if code is None else tuple(_FILE_IN_CODE.findall(code[:MAX_READ_CHARS]))
    return frozenset(word.rsplit("/", 1)[-1].partition(".")[0].casefold() for word in operands) - {""}


def _runs_code(step: Step) -> bool:
    """Whether a call runs code that it brings itself: `python - <<EOF`, or a tool that runs code."""
    commands = (effect.command for effect in effects_of(step.call) if effect.kind is EffectKind.RUN)
    own = (command is None or is_interpreter(command.program) for command in commands)
    return any(own)


def _files_in_code(step: Step) -> frozenset[str]:
    """The names, without folder and suffix, of the files in a call's code."""
    files = _FILE_IN_CODE.findall(_code_of(step).casefold())
    return frozenset(file.rsplit("/", 1)[-1].partition(".")[0] for file in files)


def _code_of(step: Step) -> str:
    texts = (value for _, value in leaves(step.call.arguments) if isinstance(value, str))
    return "\n".join(texts)[:MAX_READ_CHARS]


_IMPORTED = lazy_pattern(r"(?:^|[;\n])\s*(?:from|import) (\w+)|require\(['\"](?:\./)?(\w+)")
_EXHAUSTED = lazy_pattern(
    r"timed? ?out|time ?limit|deadline exceeded|out of memory|memoryerror|oomkilled|\bkilled\b|heap limit",
    re.IGNORECASE,
)
_FILE_IN_CODE = lazy_pattern(r"['\"]([^'\"\s]{1,200}\.[a-z]\w{0,5})['\"]")


def _only_keeps(effect: Effect, arguments: str, mine: Effect) -> bool:
    """Whether a later command only records what others made, as version control does, or takes something away."""
    records = effect.command is not None and effect.command.program in ("git", "gh", "hg", "svn", "jj")
    deletes = _DELETES.search(_line_of(effect) or arguments) is not None
    return records or (deletes and _DELETES.search(_line_of(mine)) is None)


def _line_of(effect: Effect) -> str:
    """A command with its words, in lower case; "" if no command has the effect."""
    return "" if effect.command is None else " ".join((effect.command.program, *effect.command.words)).casefold()


# What takes something away does no work of a program that does not; the option `--rm` takes nothing away.
_DELETES = lazy_pattern(
    r"(?<![\w.-])(?:delete from|drop (?:table|database|index|schema)|truncate|rmi?|rmdir|unlink|destroy|purge)\b"
)
_ARGUMENT = lazy_pattern(r"[\w.@+-]+")
_WRITES = lazy_pattern(
    r"write|>|open\(|\bsed\b|\bmv\b|\bcp\b|\btee\b|patch|replace|git (?:checkout|restore|apply)|dump"
)
_INSTEAD = lazy_pattern(r"\b(?:so|instead|using|used|via|taken|through|therefore|since|because|asked)\b", re.IGNORECASE)
_BY_KEY = lazy_pattern(r"_(?:by|with|using|via|from|for)_.*")


def _query_words(step: Step) -> frozenset[str]:
    """The words of a call's arguments, without their keys; of a shell's line, of the programs that do something.

    What goes to a folder or sets something (`cd`, `set -e`) is before many lines, and makes none like another.
    """
    effects = [effect for effect in effects_of(step.call) if effect.command is not None]
    speaking = ("echo", "printf")  # what they say may go into the next program
    acting = [effect for effect in effects if effect.kind is not EffectKind.NOTHING or effect.subject in speaking]
    commands = [effect.command for effect in acting or effects if effect.command is not None]
    made = _made_by(step)
    texts = (
        [
            " ".join((command.program, *(word for word in (*command.words, *command.writes) if word not in made)))
            for command in commands
        ]
        if commands
        else [value for _, value in leaves(step.call.arguments) if isinstance(value, str)]
    )
    words = folded_names(" ".join(texts)[:MAX_READ_CHARS])
    return frozenset(word for word in words if len(word) > 2 and not word.isdigit())


def call_words(step: Step) -> frozenset[str]:
    """The words of a call's arguments, and of the name of its tool if no table knows it."""
    name = "" if has_known_effect(step.call) else bare_name(step.call.name or "")
    return _query_words(step) | frozenset(word for word in name.split("_") if len(word) > 2)


def _looked_up(step: Step) -> str | None:
    """What a lookup is for, without the key that it uses: `user_id` for `find_user_id_by_email`."""
    name = bare_name(step.call.name or "")
    if kind_of(name) is not ToolKind.READS or has_known_effect(step.call):
        return None
    return "_".join(subjects_of(_BY_KEY.sub("", name))) or None


def _brings(step: Step, mine: Effect, wanted: str) -> bool:
    """Whether a later line gets a program or package that could not be installed, or runs it."""
    commands = [effect.command for effect in effects_of(step.call) if effect.command is not None]
    return any(
        command.program == wanted
        or (command.program != (mine.command.program if mine.command else "") and command.program in _FETCHERS)
        for command in commands
    )


_FETCHERS_TABLE = (
    "curl wget cp mv ln tar unzip install dpkg rpm chmod git pip pipx uv npm yarn pnpm bun cargo go gem brew apt "
    "apt-get dnf yum apk pacman zypper conda mamba snap flatpak choco winget scoop nix-env poetry make"
)
_FETCHERS = frozenset(_FETCHERS_TABLE.split())
_PRINTED_ERROR = lazy_pattern(r"(?:^|[\n\"]|\\n|: ?)\s*(?:ERROR|FATAL): ")


def _result_of(step: Step) -> str:
    return step.result.content[:MAX_READ_CHARS] if step.result is not None else ""


def _text(step: Step) -> str:
    return _joined(step.call.raw_arguments, _result_of(step))


def _joined(arguments: str, result: str) -> str:
    return f"{arguments[:MAX_READ_CHARS]}\n{result}".casefold()


def _keys_in(step: Step, keys: set[str]) -> AbstractSet[str]:
    """The keys among the names in a call's arguments and result."""
    if is_memoizing():
        return keys & _names_in(step.call.raw_arguments, _result_of(step))
    text = _text(step)
    may_be_there = len(keys) > _MAX_SEARCHED_WORDS or any(key in text for key in keys)
    return keys.intersection(folded_names(text)) if may_be_there else frozenset()


@memoized
def _names_in(arguments: str, result: str) -> frozenset[str]:
    return frozenset(map(intern, folded_names(_joined(arguments, result))))


def _rarest(value: IntentValue) -> str | None:
    """The longest word of a value, the key for the index of successful steps."""
    words = _WORD.findall(next(iter(value.words), "") if value.is_path else value.text)
    return max((word for word in words if len(word) >= 2), key=len, default=None)


_CONFLICT = lazy_pattern(r"^CONFLICT \(|^Merge conflict in ", re.MULTILINE)  # git left files to be edited
_PLACE_REFUSED = lazy_pattern(
    r"permission denied|not permitted|read-only|no space|eacces|erofs|enospc|eperm|quota", re.IGNORECASE
)


def _stays_here(step: Step, failed: Step) -> bool:
    """Whether a line was to change something on another machine, and a later call names no such machine."""
    effects = effects_of(failed.call)
    command = next((effect.command for effect in effects if effect.command is not None), None)
    if command is None or command.program != "ssh" or (line := elsewhere(command)) is None:
        return False
    aim, host = main_effect(effects_of_line(line)), host_of(command)
    return aim is not None and aim.kind in (EffectKind.RUN, EffectKind.WRITE) and host not in step.call.raw_arguments


class NamedWays:
    """The other ways that the agent named in its replies to the failures of one trace."""

    def __init__(self, facts: SessionFacts) -> None:
        self._facts = facts

    def after(self, failed: Step, judged: Judged) -> int | None:
        """The number of a later step that took the other way which the agent named for a failure that it reported.

        It looks or runs something else, as the failed step was to do. What changes files, and what the user named, has
        no other way but one that the rules can see.
        """
        effect = main_effect(effects_of(failed.call))
        if effect is None or judged.said is not Said.REPORTED or failed.result_kind is not ResultKind.FAILURE:
            return None
        if effect.kind is EffectKind.WRITE:
            return self._in_other_place(failed, effect, judged)
        is_check = effect.kind is EffectKind.CHECK  # one that could not run at all
        if not is_check and effect.kind not in _HAVE_OTHER_WAYS:
            return None
        is_missing = effect.command is not None and is_not_installed(failed)  # the user wants what it does, not it
        if effect.kind is EffectKind.RUN and self._facts.is_asked(failed) and not is_missing:
            return None
        named = self._words_about(failed, judged)
        for step in islice(self._facts.steps, failed.number, failed.number + _MAX_OTHER_WAYS):
            is_later = step.is_good and step.location.turn > known_turn(failed)
            is_later = is_later and not self._facts.are_listed_together(step, failed)
            if not is_later or named.isdisjoint(_stems(call_words(step))):
                continue
            if is_check and any(target in _text(step) for target in effect.targets):
                return step.number
            if not is_check and (_is_alternative(effect, step) or not has_known_effect(failed.call)):
                return step.number
        return None

    def agreed(self, failed: Step) -> int | None:
        """The number of the next change that the agent proposed for what a service refused, once the user had agreed.

        It is made by another tool, for a value of the failed call, and shares a word with what the two said about it,
        or the user said yes to the agent's question.
        """
        facts, known = self._facts, known_turn(failed)
        if has_known_effect(failed.call) or kind_of(failed.call.name or "") is not ToolKind.WRITES:
            return None
        answer = next(((turn, text) for turn, text in facts.user_texts if turn > known), None)
        if answer is None:
            return None
        offers = [speech.text for speech in facts.speeches if known < speech.turn < answer[0]]
        spelt = f"{bare_name(failed.call.name or '').replace('_', ' ')} {failed.call.raw_arguments[:MAX_READ_CHARS]}"
        said = _beginnings(" ".join((*offers, answer[1]))) - _beginnings(spelt)
        values = _ids_of(failed)
        for step in islice(facts.steps, failed.number, failed.number + _MAX_OTHER_WAYS):
            if not step.is_good or step.location.turn < answer[0] or step.call.name == failed.call.name:
                continue
            name = bare_name(step.call.name or "")
            is_change = (
                kind_of(name) is not ToolKind.READS and not has_known_effect(step.call) and not ends_run(step.call)
            )
            if is_change and _HANDS_OVER.isdisjoint(name.split("_")) and not values.isdisjoint(_ids_of(step)):
                is_agreed = any("?" in offer for offer in offers) and _AGREES.match(answer[1]) is not None
                is_named = not said.isdisjoint(_beginnings(name.replace("_", " ")))
                return step.number if is_agreed or is_named else None
        return None

    def _in_other_place(self, failed: Step, effect: Effect, judged: Judged) -> int | None:
        """The number of a later step that wrote elsewhere because the place refused, which the agent says at the end.

        The user must not have named the place.
        """
        is_told = judged.statement is not None and judged.statement.is_final
        refused = _PLACE_REFUSED.search(f"{failed.error}")
        if not is_told or refused is None or any(map(self._facts.is_users, effect.targets)):
            return None
        answer = self._facts.answer.text.casefold() if self._facts.answer is not None else ""
        for step in islice(self._facts.steps, failed.number, failed.number + _MAX_OTHER_WAYS):
            later = main_effect(effects_of(step.call))
            if later is None or later.subject != effect.subject or not step.is_good:
                continue
            if step.location.turn > known_turn(failed) and any(target in answer for target in later.targets):
                return step.number
        return None

    def answering(self, failed: Step, judged: Judged, *, is_denied: bool) -> int | None:
        """The number of a later step that brought what a failed look at something was to bring: the answer uses it.

        It looks or runs, shares a word with the user's request or with the failed call, and its result has a word of
        the answer which nobody had said before. What the user named has no other way. If nothing was changed in the
        whole session, whatever failed was to look, unless `is_denied`: the agent denies what the user asked for.
        """
        facts, effect = self._facts, main_effect(effects_of(failed.call))
        if effect is None or facts.answer is None or facts.answer.turn <= known_turn(failed):
            return None
        is_change = facts.has_changed_anything or only_asks(failed.call) is False
        request = facts.request_before(failed)
        is_deed = kind_of(request.partition(" ")[0]) is ToolKind.WRITES  # `start the server`
        only_looked = effect.kind is EffectKind.RUN and not is_change and not is_deed
        may_look = _may_look(failed, effect)
        if not (may_look or (only_looked and not is_denied)) or failed.result_kind is not ResultKind.FAILURE:
            return None
        is_page = any("://" in target for target in effect.targets)
        is_named = any(map(facts.is_users, effect.targets)) if is_page else facts.is_asked(failed)
        if judged.said is Said.CONCEALED or (is_named and (is_denied or not may_look)):
            return None
        known = known_turn(failed)
        requested = _content_words(f"{facts.request_before(failed)}\n{failed.call.raw_arguments}".replace("_", " "))
        new = {word for word in self._answer_words if self._first_said.get(word, known + 1) > known}
        for step in islice(facts.steps, failed.number, failed.number + _MAX_OTHER_WAYS):
            if not step.is_good or step.location.turn <= known_turn(failed) or step.result is None:
                continue
            is_next = not has_known_effect(failed.call) and step.call.name == failed.call.name
            is_next = is_next or facts.are_listed_together(step, failed)  # in a series, or in a list of hits
            if (is_named or is_next) and not self._cites(step):
                continue
            if ends_run(step.call) or asks_elsewhere(step, failed):
                continue  # its result repeats the answer, or is that of another database or page
            kinds = {later.kind for later in effects_of(step.call)}
            if EffectKind.WRITE in kinds or requested.isdisjoint(_content_words(_text(step).replace("_", " "))):
                continue
            if not new.isdisjoint(_content_words(_result_of(step).casefold())):
                return step.number
        return None

    def _cites(self, step: Step) -> bool:
        """Whether the answer names a path or page that a step has and the user had not named: its source."""
        answer = self._facts.answer.text if self._facts.answer is not None else ""
        named = {name.casefold().rstrip(".,:/") for name in _SOURCE.findall(answer[:MAX_READ_CHARS])}
        text = _text(step)
        return any(name in text and not self._facts.is_users(name) for name in named)

    @cached_property
    def _answer_words(self) -> frozenset[str]:
        return _content_words(self._facts.answer.text) if self._facts.answer is not None else frozenset()

    @cached_property
    def _first_said(self) -> dict[str, int]:
        """The words of the beginning of the session, each with the first turn that has it."""
        first: dict[str, int] = {}
        for turn, text in self._opening:
            for word in _content_words(text):
                first.setdefault(word, turn)
        return first

    @cached_property
    def _opening(self) -> list[tuple[int, str]]:
        """The first texts of the session with their turns, of which `MAX_READ_CHARS` are read."""
        opening: list[tuple[int, str]] = []
        left = MAX_READ_CHARS
        for number, turn in enumerate(self._facts.trace.turns, 1):
            for part in turn.parts:
                opening.append((number, part.text[:MAX_READ_CHARS]))
                left -= len(part.text) + 1
            if left < 0:
                break
        return opening

    def _words_about(self, failed: Step, judged: Judged) -> frozenset[str]:
        """The words of the reply to a failure and of the sentence that reports it, but those that name nothing."""
        reply = self._facts.reply_to(failed)
        texts = [speech.text for speech in self._facts.speeches if speech.turn == reply]
        last = judged.statement.text if judged.statement is not None else ""
        texts += [clause.text for clause in clauses_of(last) if not clause.denies and _INSTEAD.search(last)]
        texts = [_SCRIPT_END.sub(" ", text) for text in texts]
        words = (word for text in texts for word in folded_names(text[:MAX_READ_CHARS]))
        return frozenset(_stems(word for word in words if len(word) > 2 and word not in _NAMES_NOTHING))


_SOURCE = lazy_pattern(r"(?:https?://)?[\w.@~-]*/[\w./@~%-]{2,}|[\w-]{2,}\.[a-z]\w{1,7}\b")
# What only tells somebody of it, and does nothing itself.
_HANDS_OVER = frozenset(
    ("transfer", "escalate", "ticket", "case", "note", "log", "notify", "message", "email", "callback", "human")
)
_AGREES = lazy_pattern(
    r"""
    \W*(?:
        # English
        yes | yeah | yep | ok(?:ay)? | sure | great | fine | please[ ]do | go[ ]ahead
        # other languages with spaces between words
        | ja | gern\w* | einverstanden | oui | d['’]accord | sí | vale | claro | sim | pode[ ]ser | va[ ]bene
        | certo | да | хорошо | давайте | tak | dobrze | zgoda | ano | dobře | так | добре | evet | tamam | igen
        | kyllä
    )\b
    # Chinese, Japanese, Korean
    | \W*(?:好|可以|はい|お願い|네|좋)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BEGINNING = 5


def _beginnings(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text: `relocate` and "relocated"."""
    return frozenset(word[:_BEGINNING] for word in _LETTERS.findall(text.casefold()) if len(word) >= _BEGINNING)


_LETTERS = lazy_pattern(r"[^\W\d_]+")


def _ids_of(step: Step) -> frozenset[str]:
    """The values of a call that have a digit and no space, as ids do; no dates or plain numbers."""
    values = (value.casefold() for _, value in leaves(step.call.arguments) if isinstance(value, str))
    return frozenset(value for value in values if _ID.fullmatch(value) is not None)


_ID = lazy_pattern(r"(?=[^\d]*\d)(?=[\d\W_]*[^\W\d_])[\w#.:-]{3,60}")


# Where a Latin word ends and a Korean or Japanese ending begins: "md5sum\uc73c\ub85c".
_SCRIPT_END = lazy_pattern(r"(?<=[A-Za-z0-9])(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")


def _may_look(step: Step, effect: Effect) -> bool:
    """Whether a call looks at something, or may: no table knows its tool, whose name speaks of no change."""
    if effect.kind in (EffectKind.READ, EffectKind.PROBE):
        return True
    is_unknown = not has_known_effect(step.call) and kind_of(step.call.name or "") is ToolKind.UNKNOWN
    return is_unknown and only_asks(step.call) is not False


_GROUP_END = lazy_pattern(r"(?<=\d)[.,'\u2019\u00a0\u202f ](?=\d{3}(?!\d))")


def _content_words(text: str) -> frozenset[str]:
    """The words of a text that name something: from four letters on, and numbers, those in groups of digits as one."""
    words = folded_names(_GROUP_END.sub("", text[:MAX_READ_CHARS]))
    return frozenset(_stems(word for word in words if (len(word) > 3 or word.isdigit()) and word not in _NAMES_NOTHING))


def _stems(words: Iterable[str]) -> frozenset[str]:
    """The words without a plural ending: `versions` and `version` name one thing."""
    return frozenset(word.removesuffix("s") for word in words)


_NAMES_NOTHING_TABLE = (
    "that this there here with from into only also then them they have been does will would could cannot because "
    "instead which what when where while just more some other another same first last next right file files code test "
    "the and for are was not but can you all has its one two use now let out off via per may any who how "
    "why too get got "
    "tests error errors failed fails command line name path data work works using used needs need"
)
_NAMES_NOTHING = frozenset(_NAMES_NOTHING_TABLE.split())


def _is_alternative(effect: Effect, step: Step) -> bool:
    """Whether a step may do what one with this effect was to do: look at something, or change or run something."""
    looks = (EffectKind.READ, EffectKind.PROBE)
    kinds = {later.kind for later in effects_of(step.call)} - {EffectKind.NOTHING}
    return bool(kinds) if effect.kind in looks else not kinds.issubset(looks)
