"""Negative answers: results that look like failures, or like nothing, and answer a question.

`grep` ends with 1 if it finds nothing, `systemctl is-active` with 3, `ls` of what is not there with 2. Whether such an
end is an answer is decided by the program that asks, by its exit code, and by what it prints: one that was not let in,
or that did not reach its service, could not ask. A lookup that succeeds with an empty list is a "no", too.
"""

import re
from collections.abc import Callable

import msgspec

from weaklink.inspector.chain.effects import (
    PROBE_OPTIONS,
    Effect,
    EffectKind,
    asks_for_status,
    finds_in_words,
    inline_code,
    main_effect,
)
from weaklink.inspector.chain.failure_words import BARRED_IN_LANGUAGES, HEAD, MISSING_IN_LANGUAGES, last_line
from weaklink.inspector.chain.steps import ResultKind
from weaklink.inspector.chain.tool_kinds import bare_name, is_search
from weaklink.inspector.memoized import memoized
from weaklink.inspector.model import RecordedState, RunState, ToolCall
from weaklink.inspector.scanning import folded, lazy_pattern


def says_no(effects: tuple[Effect, ...], text: str) -> bool:
    """Whether a program that looks one thing up ends because it is not there, in words that only it uses."""
    patterns = (_NO_OF[name] for effect in effects if effect.command and (name := effect.command.program) in _NO_OF)
    return any(pattern.search(text[:HEAD]) for pattern in patterns)


_NO_OF_TABLE = {  # by program
    "aws": r"An error occurred \((?:404|NoSuch\w+|\w*NotFound\w*|ValidationError)\) when calling the "
    r"(?:Head|Describe|Get(?!Object\b))\w* operation: .*(?i:not (?:be )?found|does not exist)",
    "consul": r"Error! No key exists at",
    "defaults": r"The domain/default pair of .{1,200} does not exist|Domain .{1,100} does not exist",
    "flatpak": r"^error: \S+ not installed",
    "gh": r"^(?:no pull requests? found for branch|release not found)",
    "openssl": r"^Certificate will expire",
    "pacman": r"^error: package '.{1,80}' was not found",
    "psql": r"^Did not find any relation",
    "reg": r"unable to find the specified registry key",
    "sc": r"FAILED 1060",
    "snap": r"^error: no matching snaps installed",
    "terraform": r"^No (?:instance|state file was) found",
    "vault": r"^No value found at",
    "where": r"^INFO: Could not find files",
}
_NO_OF = {name: lazy_pattern(expression, re.MULTILINE) for name, expression in _NO_OF_TABLE.items()}


def answers_by_code(effects: tuple[Effect, ...], text: str, code: int | None) -> bool:
    """Whether the exit code of a line is the answer to what it asks: 1 of `grep`, of `git diff --quiet`."""
    last = _deciding(effects)
    decides = _decides_alone(effects) or (finds_in_words(last) and not text.strip())
    is_answer = code == 1 and last.kind is EffectKind.PROBE and decides
    is_answer = is_answer and not (_is_refused(text) or _could_not_ask(last, text))
    is_answer = is_answer or (code == 1 and _asks_before_reading(effects) and not text.strip())
    if is_answer and not is_shell_error(text, last):
        return True
    if code == 1 and last.subject == "git diff" and last.kind is EffectKind.PROBE and _IS_DIFF.search(text[:HEAD]):
        return True
    return bool(code and text.strip().casefold() in _NO_WORDS) or _tells_by_code(effects, code)


_MISSING = lazy_pattern(
    r"no such file|\bno \w+ found\b|not? (?:be )?found|does(?: not|n['’]t) exist|do(?: not|n['’]t) exist|enoent|"
    r"cannot (?:access|find)|not a directory|non-?existent|no longer exists|can't (?:open|find)|could(?: not|"
    r"n't) (?:be )?(?:open|find)|no module named|cannot find module|no files? (?:matched|found)|no match|"
    rf"needed a single revision|unknown revision|not a valid (?:object|ref)|{MISSING_IN_LANGUAGES}",
    re.IGNORECASE,
)
_NOTHING_FOUND = lazy_pattern(
    r"""
    \s*(?:
        # the whole answer: "no files found", "0 matches"
        no[ ](?:[\w-]+[ ]){1,4}(?:were[ ]|was[ ])?found | no[ ]match(?:es)?\b | found[ ]0[ ]
        | 0[ ](?:matches|results|files) | nothing[ ](?:found|matched) | no[ ]such | not[ ]found | none[ ]found
        | no[ ](?:[\w-]+[ ]){1,4}(?:match|for|exist)\b
    )[^\n]{0,200}\s*\Z
    # whois, dig
    | \s*no[ ]match[ ]for[ ][^\n]{1,80}\n | [^\n]{0,80}\bstatus:[ ]NXDOMAIN\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NOT_FOUND_PROGRAM = lazy_pattern(
    r"""
    (?:
        # English: bash, sh, Windows
        command[ ]not[ ]found | :[ ]not[ ]found | not[ ]recognized[ ]as
        # German, French, Spanish, Portuguese and Italian
        | (?:befehl|kommando)[ ](?:wurde[ ])?nicht[ ]gefunden | commande[ ]introuvable | orden[ ]no[ ]encontrada
        | comando[ ]n(?:\u00e3o[ ]encontrado|on[ ]trovato)
        # Russian, Chinese, Japanese
        | \u043a\u043e\u043c\u0430\u043d\u0434\u0430[ ]\u043d\u0435[ ]\u043d\u0430\u0439\u0434\u0435\u043d\u0430
        | \u672a\u627e\u5230\u547d\u4ee4
        | \u30b3\u30de\u30f3\u30c9\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093
        # Dutch, Polish, Czech, the Scandinavian languages, Turkish
        | opdracht[ ]niet[ ]gevonden | nie[ ]znaleziono[ ]polecenia | p\u0159\u00edkaz[ ]nenalezen
        | kommando(?:t)?[ ](?:finns[ ]inte|hittades[ ]inte|ikke[ ]fundet|ikke[ ]funnet)
        | komut[ ]bulunamad\u0131
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


_IS_DIFF = lazy_pattern(r"^diff --git |^ ?\S.* \| +(?:\d+ [+-]*|Bin .*)$|^[MADRU]\t\S", re.MULTILINE)
# "Succeeded, there is a diff": `terraform plan -detailed-exitcode` (HashiCorp's documentation); `gh run view
# --exit-status` and `jq --exit-status` end with 1 for a failed run, and for false or null (their manuals).
_DIFFERS = 2
_CODES_ASKED = {"detailed-exitcode": _DIFFERS, "exit-status": 1}


def _tells_by_code(effects: tuple[Effect, ...], code: int | None) -> bool:
    """Whether a program was asked to tell something by its exit code, and this is the code for it."""
    words = (word for effect in effects if effect.command is not None for word in effect.command.words)
    return code is not None and any(_CODES_ASKED.get(word.lstrip("-")) == code for word in words)


def kind_of_question(
    effect: Effect, effects: tuple[Effect, ...], text: str, code: int | None, is_named: Callable[[Effect], bool]
) -> ResultKind:
    """`PROBE` if one of a line's programs, one that asks, ended with its answer, `FAILURE` if it could not ask.

    `is_named` is whether somebody else than the agent had named an effect's target before.
    """
    last = _deciding(effects)
    is_its_own = last.connector != "|" or last is effect
    if code == _DIFFERS and effect.command is not None and effect.command.program == "ansible":
        code = 1 if "| rc=1 |" in text else code  # of the command on one of the hosts
    is_absent = code == 3 or _MISSING.search(text[:HEAD]) is not None or asks_for_programs(effect)
    if _is_refused(text) or _could_not_ask(effect, text):
        return ResultKind.FAILURE
    if is_its_own and _says_no_of_target(effect, text):
        return ResultKind.PROBE
    if code in (None, 1, 2, 3, 4, 127, 128) and is_absent:
        return kind_of_missing(effect, is_named)
    if code == 2 and finds_in_words(effect) and _has_hits(text):
        return ResultKind.PROBE
    if effect.subject == "curl" and _BAD_STATUS.fullmatch(text.strip()) is not None:
        return ResultKind.PROBE
    is_silent = code is not None and code < _COULD_NOT_RUN_CODES and not text.strip()
    is_silent = is_silent and effect.subject not in _FAILS_WITH_TWO
    return ResultKind.PROBE if (code == 1 or is_silent) and is_its_own else ResultKind.FAILURE


_FAILS_WITH_TWO = frozenset(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "diff", "cmp", "test", "[", "expr", "ls")
)  # POSIX
_COULD_NOT_RUN_CODES = 124  # from which on `timeout` and the shell say that a program did not run to its end


def _says_no_of_target(effect: Effect, text: str) -> bool:
    """Whether all that a program which asks printed is that its operand is not so: `/mnt/x is not a mountpoint`."""
    line = text.strip()
    name = effect.command.operands[-1] if effect.command is not None and effect.command.operands else ""
    denial = _IS_NOT.fullmatch(line) if len(line) <= _MAX_NEGATIVE_CHARS else None
    return bool(name) and denial is not None and name.casefold() in denial["subject"].casefold()


_IS_NOT = lazy_pattern(
    r"(?P<subject>[^\n]{1,120}?)(?::| -| is) (?:is )?(?:not (?:an? |in |active|mounted|enabled|installed|"
    r"running|listening|set\b|loaded|present)|inactive\b|disabled\b|stopped\b)[^\n]{0,80}",
    re.IGNORECASE,
)


def _could_not_ask(effect: Effect, text: str) -> bool:
    """Whether the client of a service was not let in, or did not reach it: that is no answer."""
    command = effect.command
    if command is None or command.program not in _CLIENTS or not _STATES.isdisjoint(command.operands):
        return False
    words = text[:300]
    for name in _NAME_END.split(" ".join(command.operands)):
        words = words.replace(name, "") if _NOT_REACHED.search(name) else words  # `secrets "db-credentials" not found`
    return _NOT_REACHED.search(words) is not None


_STATES = frozenset(("status", "whoami", "can-i", "ping"))  # they ask whether one is let in
_NAME_END = lazy_pattern(r"[\s/:=]+")
_CLIENTS = frozenset(("kubectl", "docker", "helm", "gh", "aws", "oc", "az", "gcloud", "flyctl", "heroku"))
_NOT_REACHED = lazy_pattern(
    r"must be logged in|unauthori[sz]ed|not logged in|forbidden|access ?denied|expired|credentials|unable to connect|"
    r"cannot connect|connection (?:to the server|refused|reset)|timed? ?out|no such host|auth login|oci runtime exec",
    re.IGNORECASE,
)


_NOT_PERMITTED = lazy_pattern(f"permission denied|not permitted|{BARRED_IN_LANGUAGES}")


def _is_refused(text: str) -> bool:
    """Whether a program was not allowed to do anything."""
    head = folded(text[:HEAD])
    return _NOT_PERMITTED.search(head) is not None and not _has_hits(text)


# What a question is answered with: `kubectl auth can-i`, `systemctl is-active`.
_NO_WORDS = frozenset(("no", "false", "none", "0", "inactive", "disabled", "unknown", "not found", "absent", "closed"))


_BARE_NO = frozenset(("no", "inactive", "not found", "absent", "closed", "(nil)", "(integer) 0"))


def _has_hits(text: str) -> bool:
    """Whether a search printed something besides complaints of programs."""
    lines = (line for line in text.splitlines()[:50] if line.strip())
    return any(_COMPLAINER.match(line) is None for line in lines)


_COMPLAINER = lazy_pattern(r"[\w.-]+: ")


def is_missing(text: str) -> bool:
    """Whether a text says that something is not there."""
    return _MISSING.search(text) is not None


def kind_of_missing(effect: Effect, is_named: Callable[[Effect], bool]) -> ResultKind:
    """A negative answer, unless somebody else named the path before: then it was to be there."""
    return ResultKind.FAILURE if effect.kind is EffectKind.READ and is_named(effect) else ResultKind.PROBE


def is_shell_error(text: str, effect: Effect) -> bool:
    """Whether the shell did not find the program."""
    head = text[:400]
    if effect.command is None or effect.command.own_name not in head:
        return False
    match = _NOT_FOUND_PROGRAM.search(head)
    if match is None:
        return False
    end = head.find("\n", match.end())
    line = head[head.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else len(head)]
    return effect.command.own_name in line


def asks_for_programs(effect: Effect) -> bool:
    """Whether a command only asks whether a program is there: `which`, `command -v`, `tool --version`."""
    command = effect.command
    if command is None:
        return False
    is_asked = command.program in _ASKS_FOR_PROGRAMS
    return is_asked or any(word in PROBE_OPTIONS for word in command.words[:1])


# ... or for a device, whose driver brings the program.
_ASKS_TABLE = "which command type whereis hash where Get-Command nvidia-smi rocm-smi vainfo clinfo"
_ASKS_FOR_PROGRAMS = frozenset(_ASKS_TABLE.split())


_NEVER_SAYS_NO_TABLE = "cat head tail less more sort uniq cut tr tee nl column sed awk"
NEVER_SAYS_NO = frozenset(_NEVER_SAYS_NO_TABLE.split())


def _deciding(effects: tuple[Effect, ...]) -> Effect:
    """The program whose answer the exit code is: not what only shows its output (`grep x y | tail`, with pipefail)."""
    shown = len(effects)
    while shown > 1 and effects[shown - 1].connector == "|" and effects[shown - 1].subject in NEVER_SAYS_NO:
        shown -= 1
    return effects[shown - 1]


def _asks_before_reading(effects: tuple[Effect, ...]) -> bool:
    """Whether a line reads what it asked for before: `test -f x && cat x`, of which a silent end is the question's."""
    readers = [effect for effect in effects if effect.kind is not EffectKind.NOTHING]
    are_looks = all(effect.kind in (EffectKind.PROBE, EffectKind.READ) for effect in readers)
    is_led = len(readers) > 1 and readers[0].kind is EffectKind.PROBE
    return are_looks and is_led and all(effect.connector == "&&" for effect in readers[1:])


def _decides_alone(effects: tuple[Effect, ...]) -> bool:
    """Whether the exit code is that of the last program: no program before it had to succeed for it to run."""
    weak = (EffectKind.NOTHING, EffectKind.PROBE, EffectKind.READ)
    return _deciding(effects).connector != "&&" or all(effect.kind in weak for effect in effects)


@memoized
def negative_answer(
    call: ToolCall, effects: tuple[Effect, ...], text: str, recorded: RecordedState | None
) -> str | None:
    """The line in which a successful result answers a question with "no"; None for any other success."""
    effect = main_effect(effects)
    if effect is None or (recorded is not None and recorded.state is RunState.RUNNING):
        return None
    if effect.command is None:
        is_no = _denies_in_data(call, effect, text)
    else:
        is_interpreted = recorded is not None and recorded.field == "returnCodeInterpretation"  # of a code of 1
        is_no = _denies_in_output(effects, effect, text, is_interpreted=is_interpreted)
    return last_line(text)[:200] or "(nothing)" if is_no else None


def _denies_in_output(effects: tuple[Effect, ...], effect: Effect, text: str, *, is_interpreted: bool) -> bool:
    """Whether a command that succeeded answers with "no"."""
    told, fallback = text.strip(), effects[-1]
    words = fallback.command.words if fallback.command is not None and fallback.connector == "||" else ()
    said = " ".join(word for word in words if not word.startswith("-")).strip()
    is_question = effect.kind is EffectKind.PROBE or answers_itself(effects, text)
    if is_question or effect.kind is EffectKind.READ:
        if said and fallback.subject in ("echo", "printf") and last_line(text).strip() == said:
            return True
        if fallback.connector == "||" and fallback.subject in ("true", ":") and _MISSING.search(text[:400]) is not None:
            return True
    if is_question and (told.casefold() in _BARE_NO or (effect.subject.startswith("Test-") and told == "False")):
        return True
    if is_question and (is_interpreted or (not told and finds_in_words(effect)) or _finds_none(text)):
        return True
    if _lists(effect) and _finds_none(text):
        return True
    if effect.subject == "curl" and effect.command is not None and asks_for_status(effect.command.words):
        return _BAD_STATUS.fullmatch(told) is not None
    return _prints_verdict(effects) and told.casefold() in _NO_VALUES


def answers_itself(effects: tuple[Effect, ...], text: str) -> bool:
    """Whether a line asks for a thing, and says itself that it is not: `python -c "import x" || echo "not found"`."""
    main, fallback = main_effect(effects), effects[-1] if effects else None
    if main is None or main.command is None or fallback is None or fallback.connector != "||":
        return False
    is_asked = main.kind is EffectKind.PROBE or main.command.words == ("version",)
    is_asked = is_asked or _IMPORTS.fullmatch(inline_code(main.command.words) or "") is not None
    return is_asked and fallback.subject in ("echo", "printf") and _MISSING.search(last_line(text)) is not None


_IMPORTS = lazy_pattern(r"\s*(?:import|from|require|use)\b[^;\n]{1,80};?\s*")  # in code of an interpreter, and no more


def _finds_none(text: str) -> bool:
    return _NOTHING_FOUND.match(text[:400]) is not None


def _lists(effect: Effect) -> bool:
    """Whether a command lists things of a service or a user: `gh pr list`, `crontab -l`."""
    words = effect.command.words[:4] if effect.command is not None else ()
    return effect.kind is EffectKind.READ and not _LISTING.isdisjoint(words)


_LISTING = frozenset(("list", "ls", "search", "-l", "--list"))


def _denies_in_data(call: ToolCall, effect: Effect, text: str) -> bool:
    """Whether a tool that looks something up answers with "no": in an empty list, a false member, or a line."""
    tool = bare_name(call.name or "")
    if tool.endswith("_exists") and text.strip() == "false":
        return True
    if _ONE_FALSE.fullmatch(text[:_MAX_NEGATIVE_CHARS]) and _ASKS_IN_SQL.search(call.raw_arguments[:HEAD]):
        return True
    is_lookup = is_search(tool)
    if not (is_lookup or (effect.kind in (EffectKind.PROBE, EffectKind.READ) and not effect.targets)):
        return effect.kind is EffectKind.PROBE and _finds_none(text)
    if _NO_ENTRIES.fullmatch(text[:_MAX_NEGATIVE_CHARS]) is not None or _finds_none(text):
        return True
    if is_lookup and _is_empty_page(text):
        return True
    is_check = is_lookup or tool.partition("_")[0] in _ASKING_VERBS
    return _denies_first(call, text, frozenset() if is_check else frozenset(tool.split("_")))


def _denies_first(call: ToolCall, text: str, about: frozenset[str]) -> bool:
    """Whether a short object begins with a false member, and says beside it only why, or what else there is.

    `{"eligible": false, "reason": "more than 30 days"}`, `{"available": false, "next": "21:45"}`. What the call passed
    may be before it. With words in `about` the member's name must have one of them.
    """
    passed = call.arguments.items() if isinstance(call.arguments, dict) else ()
    fields = {key: value for key, value in _members_of(text, _MAX_NEGATIVE_CHARS).items() if (key, value) not in passed}
    name, value = next(iter(fields.items()), ("", None))
    if value is not False or name.startswith(_OF_OUTCOME) or len(fields) > _MAX_REASONS:
        return False
    is_about = not about or name in ("found", "exists") or not about.isdisjoint(name.split("_"))
    others = [(key, other) for key, other in fields.items() if key != name]
    return is_about and not any(other is True or key.startswith("error") for key, other in others)


def _is_empty_page(text: str) -> bool:
    """Whether an object has nothing but empty lists, the number 0 and words about them."""
    values = list(_members_of(text, 2 * _MAX_NEGATIVE_CHARS).values())
    words = (value for value in values if value not in ([], 0, None))
    return [] in values and all(isinstance(value, str) and value.count(" ") > 1 for value in words)


def _members_of(text: str, max_chars: int) -> dict[str, object]:
    """The members of a text that is one object of at most so many characters; none of any other text."""
    try:
        return msgspec.json.decode(text, type=dict[str, object]) if len(text) <= max_chars else {}
    except (ValueError, RecursionError):  # no JSON, or half a surrogate pair in it
        return {}


# A table of one cell that is false, as psql and mysql print it, and a query whose answer is yes or no.
_ONE_FALSE = lazy_pattern(
    r"\s*\|?[^\n|]{1,40}\|?\n[-+=| ]{1,60}\n\s*\|? *(?:f|false|0) *\|?\s*(?:\n[-+]{2,60})?(?:\s*\(1 [^)\n]{2,12}\))?\s*"
)
_ASKS_IN_SQL = lazy_pattern(r"\bexists\s*\(|\bis (?:not )?null\s+as\b|\bto_regclass\(", re.IGNORECASE)


# What a lookup in data answers that finds nothing: an empty list, alone, as the one field of an object, beside the
# count 0, or wrapped.
_NO_ENTRIES = lazy_pattern(
    r"""
    \s*(?:\{[^{}\[\]]{0,120}"content"\s*:\s*)?(?:
        # an object whose only list is empty, with at most three plain members
        \{\s*(?:"\w{1,40}"\s*:\s*0\s*,\s*)?"\w{1,40}"\s*:\s*\[\s*\](?:
            \s*,\s*"\w{1,40}"\s*:\s*(?:
                0 | false | null | (?<=_ms":[ ])\d+ | (?<=_ms":)\d+ | "(?i:zero|no|empty|ok|success)\w{0,20}"
            )
        ){0,3}\s*\}
        # an empty list
        | \[\s*\]
    )\s*\}?\s*
    """,
    re.VERBOSE,
)
_MAX_NEGATIVE_CHARS = 200
_OF_OUTCOME = ("success", "ok", "succeeded", "error")
_MAX_REASONS = 4
_ASKING_VERBS = frozenset(("check", "is", "can", "has", "may", "verify", "validate", "test", "exists"))
_NO_VALUES = frozenset(("false", "none", "no"))


# No answer, or of a server that is not ready; any other status may be what was to be seen.
_BAD_STATUS = lazy_pattern(r"(?:HTTP\D{0,8})?(?:000|50[234])")


def _prints_verdict(effects: tuple[Effect, ...]) -> bool:
    """Whether the last program of a line is code that prints one expression, a question to an interpreter."""
    command = effects[-1].command if effects else None
    code = inline_code(command.words) if command is not None else None
    return code is not None and _PRINTS_ONE.search(code[-_MAX_NEGATIVE_CHARS:]) is not None


_PRINTS_ONE = lazy_pattern(r"(?:^|[;\n])\s*(?:print|puts|console\.log)\b ?\(?[^;\n]{1,160}\)?\s*;?\s*\Z")
