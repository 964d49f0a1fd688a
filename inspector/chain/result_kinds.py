"""Which kind of result a call got: a failure, a finding, a probe's answer, a refusal, a run that never began.

Facts decide before words, in this order:

1. what the source recorded about the run (`RecordedState`: an exit code, a state; the error flag);
2. what the text states in a form of its own, such as `Process exited with code 2`, or the fields of a result
   that is JSON (`shell_frames`);
3. the words of the text, only where nothing is recorded. A text that a call only reads, such as a log or a page,
   speaks of other things: there only an error at its beginning counts.

A result that is an error then gets its kind by the effect that the call was to have (`inspector.chain.effects`): a
check that ran and found faults in the work is a `finding`, a question that is answered with "no" a `probe`. A check
that could not run at all, such as `No module named pytest`, is a `failure`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise

from msgspec import Struct

from weaklink.inspector.chain.assertions import denies, denies_plainly
from weaklink.inspector.chain.effects import (
    DATABASE_CLIENTS,
    PROBE_OPTIONS,
    Effect,
    EffectKind,
    asks_for_status,
    edits_by_command,
    effects_of,
    effects_of_line,
    finds_in_words,
    has_known_effect,
    inline_code,
    main_effect,
    runs_shell,
    runs_task,
)
from weaklink.inspector.chain.failure_words import (
    BARRED_IN_LANGUAGES,
    ERROR_WORDS,
    MISSING_IN_LANGUAGES,
    error_at_end,
    error_line,
    first_line,
    last_line,
)
from weaklink.inspector.chain.provenance_terms import leaves
from weaklink.inspector.chain.reader_messages import (
    COMMAND_TIMED_OUT,
    OTHER_NAMES,
    message_of_command,
    message_of_tool,
    only_shows,
    shows_content,
)
from weaklink.inspector.chain.shell_frames import unframed
from weaklink.inspector.chain.shell_lines import ShellCommand, elsewhere
from weaklink.inspector.chain.similar_calls import MAX_NAME_CHARS, are_spellings
from weaklink.inspector.chain.steps import Certainty, ResultKind
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, is_search, kind_of
from weaklink.inspector.chain.verdict_rules import VerdictRule
from weaklink.inspector.memoized import RecentValues, is_memoizing, memoized
from weaklink.inspector.model import RecordedState, RunState, ToolCall, ToolResult
from weaklink.inspector.scanning import LinePattern, folded, folded_pattern, lazy_pattern

_HEAD, _TAIL, _HEAD_LINES = 2_000, 6_000, 12

# Refusals by the user, a rule or a hook, as agents write them: Claude Code, Codex, Gemini CLI, Cline, OpenHands,
# Copilot, OpenCode, Continue. Only at the beginning of a result.
_REJECTED = lazy_pattern(
    r"\b(?:user|operator|human)(?: has| have)? (?:(?:explicitly|manually|just|already) )?(?:rejected|denied|"
    r"declined|refused|cancell?ed|aborted|"
    r"interrupted|disallowed|blocked|did(?: not|n['’]t) (?:allow|approve|want)|does(?: not|n['’]t) want to|"
    r"skipped (?:the|this) |chose (?:not )?to (?:skip|stop|cancel|abort|reject|deny|run|allow|proceed))|"
    r"(?:reject|den|declin|refus|cancel|cancell|abort|interrupt|block|disallow)(?:ed|ied) by (?:the |a |"
    r"your |an? )?(?:user|operator|human|polic\w+|permission\w*|hook|rule|setting\w*|approval|administrator|"
    r"pretooluse)|permission to use .{1,80} (?:has been|was) denied|\brequest(?:ed|"
    r"s) permissions? to .{1,120} but you|(?:requires|needs|without) (?:user |your )?(?:approval(?! (?:by|from|of) )|"
    r"confirmation|permission to)|pretooluse\b.{0,80}\bhook|hook (?:error|denied|blocked|rejected)|"
    r"\[?request interrupted by user|tool use was rejected|denied by (?:your )?permission settings|"
    r"was blocked\. for security|user_reject|rejected\((?:user|\")|specified a rule which prevents|"
    r"approval (?:was )?denied|not (?:permitted|allowed) by (?:the |your )?(?:policy|permission|settings|rule)|"
    r"tool call (?:was )?(?:rejected|denied|declined)|operation cancelled"
)
_NOT_RUN = lazy_pattern(
    r"sibling tool call|(?:cancelled: )?parallel tool call|tool call skipped\b|tool call was (?:not executed|skipped|"
    r"cancell?ed)|"
    r"(?:was|were) (?:not|never) (?:run|executed|started)|not executed\b|\bskipped (?:because|due|since)|"
    r"(?:call|tool|execution|task|command) (?:was )?cancell?ed|^(?:error: )?cancell?ed\b|tool execution aborted|"
    r"aborted before (?:it|the (?:tool|command)) (?:ran|started|began)|^aborted\b"
)
_TIMED_OUT = lazy_pattern(r"time[ds]?[ -]?out|deadline exceeded", re.IGNORECASE)

_RUNNING = lazy_pattern(
    r"^(?:process running with session id|command running in (?:the )?background|\[?command is still running)",
    re.IGNORECASE | re.MULTILINE,
)

# A check that could not run: its own program, its options or its input are wrong, not the work.
_COULD_NOT_RUN = folded_pattern(
    r"(?m)command not found|not recognized as an? |no module named ['\"]?(?:pytest|unittest|mypy|ruff|flake8|tox|nose|"
    r"black|pylint|coverage|xdist|isort|build)\b|missing script|unrecognized arguments?|unknown (?:option|argument|"
    r"command|flag)|no such (?:option|command|subcommand|target)|file or directory not found|no test files found|"
    r"no tests (?:ran|found|were found|collected)|no rule to make target|no targets specified|permission denied|"
    r"cannot find module ['\"]?[^'\"\n]{0,80}(?:jest|vitest|mocha|eslint|typescript|bin)|operation not permitted|"
    r"enoent|could not (?:read|find) (?:package\.json|config|a task)|sandbox|unable to (?:connect|locate)|\b(?:sdk|"
    r"ndk|jdk|toolchain|compiler|interpreter)\b[^\n]{0,40}\bnot (?:be )?found|dial tcp|i/o timeout|\bnetwork (?:is|"
    r"connect\w+|error|request|time-?out|failure|problem|un\w+)|eai_again|etimedout|connect econnrefused|"
    r"no space left|\benospc\b|read-only file system|heap limit|out of memory|cannot allocate|quota exceeded|"
    r"licen[cs]es? (?:ha(?:ve|s) not been|(?:is|are|was|were) not|not) accepted|could not (?:resolve|transfer|"
    r"verify that)|is not installed|is not set\b|command could not|missing the dependency|npm err(?:!|or) (?:404|"
    r"code e4\d\d)|could not determine executable|could not load cache|executable file not found|can't (?:open file|"
    r"cd to)|cannot open|no configuration|couldn't find (?:an? |the )?(?:config|eslint)|usage:|\bcannot execute\b|"
    # ... or the machine lacks what it needs: its gems, another version of its language.
    r"in locally installed gems|install missing gems|canceled due to missing packages|executable doesn't exist at|"
    r"unsupported class file major version|requires java \d|you are currently using java|invalid source release|"
    r"requires a different python|the engine \"\w+\" is incompatible|go\.mod requires go|"
    r"toolchain '[^'\n]+' is not installed|cannot connect to the docker daemon|no developer tools|"
    r"compatible \.net sdk was not found|"
    r"no parser could be inferred|importerror while loading conftest|no (?:test|bin|example|bench) target named|"
    r"error: (?:failed to (?:select a version|clone|fetch|download|parse \S+\.(?:toml|json|ya?ml|cfg|ini))|"
    r"cannot format )|"
    r"could not resolve dependencies|could not find a package configuration file|"
    r"could not find \w+ \(missing:|latex error: file `[^'\n]+\.(?:sty|cls|def)' not found|"
    r"\A(?:cc1(?:plus)?|gcc|g\+\+|clang)(?:\+\+)?: |"
    r"cannot load such file -- [\w-]+$|^go: go\.mod requires|"
    r"\Atraceback (?=[\s\S]{0,2000}^modulenotfounderror: )|"
    r"^(?!error|warning|fatal|note|\w*(?:error|exception):)\w[\w-]*: (?:cannot|could not|can't|unable to|no such) |"
    r"no such file or directory: ['\"]?(?:\.?venv|node_modules)|^(?:/\S+: |\w{1,4}: )?(?:\d+: )?\S+: not found|"
    r"^make: \S+: no such file"
)
# A tool of another version than the project asks for, or without what it is to be run with.
_WRONG_TOOL = folded_pattern(
    r"(?m)\brequires?:? (?:a |at least |minimum )*[\w. ]{0,20}\b(?:java|jdk|jvm|node(?:\.js)?|python|ruby|php|"
    r"go|rustc?|elixir|swift|xcode|gradle|maven|bundler|dart|flutter|\.net|npm|yarn|pnpm)(?: version)?(?: of)?"
    r"(?: [<>=~^v]+)? ?v?\d|unsupported engine|\bebadengine\b|supports only elixir|is using swift tools version|"
    r"does not support targeting|\bjava_home\b[^\n]{0,40} is (?:not|set to an invalid)|"
    r"release version \d+ not supported|"
    r"in any of the sources\b|npx canceled|defines \"packagemanager\"|"
    r"could not find python interpreter"
)
# Summaries of checks in which something failed, for sources that record no exit code.
_FINDINGS = LinePattern(
    r"^=+ .{0,200}\b[1-9]\d* (?:failed|errors?)\b|^FAILED(?: \(|$| \S+::)|^Tests?:? .{0,60}\b[1-9]\d* fail|"
    r"\b[1-9]\d* (?:tests? )?fail(?:ed|ing|ures?)\b|^--- FAIL|^FAIL\b|test result: FAILED|^error(?:\[E\d+\])?: |"
    r"error TS\d+|✖ [1-9]\d* problem|Found [1-9]\d* errors?|: (?:fatal )?error(?: [A-Z]{1,6}\d{1,6})?: |"
    r"<compileError>|^ERROR .{1,200}|BUILD FAILED|BUILD FAILURE|[1-9]\d* errors? generated|\b[1-9]\d* failures?\b|"
    r"^make(?:\[\d+\])?: \*\*\*|^E  +\w*(?:Error|Exception)\b|^[\w./-]+:\d+:\d+: [A-Z]+\d+ |would reformat|"
    r"^not ok \d+(?![^\n]*# (?:TODO|SKIP))|^# fail [1-9]|\b[1-9]\d* errors?, \d+ skips|^error during build|"
    r"\b[1-9]\d* problems?$|^(?:VALIDATION|VERIFICATION|CHECKS?|TESTS?) FAILED|"
    r"^\S Build failed|^\s{0,8}[\u2715\u2717\u2718\u274c] \S|^\[error\] \(|\*\*\* FAILED \*\*\*",
    r"fail|FAIL|error|Error|ERROR|Exception|problem|[\u2715\u2717\u2718\u274c]|\*\*\*|: [A-Z]+\d|would reformat|not ok",
)
_VULNERABILITIES = r"\b[1-9]\d* (?:\w+ ){0,2}vulnerabilit(?:y|ies)\b"
_FINDINGS_TABLE = {  # by program, or by program and subcommand
    **dict.fromkeys(("npm audit", "pnpm audit", "yarn audit", "pip-audit"), _VULNERABILITIES),
    **dict.fromkeys(("pyright", "basedpyright"), r"^[1-9]\d* errors?, "),
    **dict.fromkeys(("markdownlint", "markdownlint-cli2"), r"^\S+:\d+(?::\d+)? (?:error )?MD\d{3}/"),
    "bandit": r"^>> Issue: \[",
    "bun test": r"^ *[1-9]\d* fail$",
    "cargo fmt": r"^Diff in \S",
    "dbt": r"^(?:\d\d:\d\d:\d\d +)?Done\. PASS=\d+ .{0,100}\bERROR=[1-9]",
    "dotnet test": r"^Failed! {1,4}- Failed: {1,8}[1-9]",
    "flutter analyze": r"^[1-9]\d* issues? found",
    "flutter test": r"Some tests failed",
    "gitleaks": r"\bleaks found: [1-9]",
    "go vet": r"^vet: \S",
    "gofmt": r"^\S+\.go$",
    "hadolint": r"^\S+:\d+ (?:DL|SC)\d{4} ",
    "hass": r"^Failed config",
    "helm lint": r"\b[1-9]\d* chart\(s\) failed",
    "knip": r"^Unused [\w ]{1,40} \([1-9]\d*\)",
    "latexmk": r"^! \S|^Latexmk: Errors",
    "lychee": r"\b[1-9]\d* Errors?$|^Issues found in |^ {0,4}\[(?:[45]\d\d|ERROR)\] ",
    "manage.py": r"^SystemCheckError: |\.ImproperlyConfigured: ",
    "mix": r"^\*\* \(Mix\) ",
    "mkdocs": r"^Aborted with [1-9]\d* warnings",
    "node": r"^\u2716 failing tests|^\u2139 fail [1-9]",
    "openssl": r": verification failed$",
    "phpunit": r"^(?:ERRORS|FAILURES)!$|^Tests: \d+, .{0,80}\b(?:Errors|Failures): [1-9]",
    "prettier": r"Code style issues (?:were )?found",
    "promtool": r"^ {2}FAILED:$",
    "prove": r"^Result: FAIL",
    "pyflakes": r"^\S+:\d+:\d+:? \S",
    "pytest": r"^[1-9]\d* (?:failed|errors?)\b.{0,80} in [\d.]+s",
    "ruff": r"^Would reformat: ",
    "shellcheck": r"\bSC\d{4} \(\w+\): ",
    "sphinx-build": r"Warning, treated as error",
    "sqlfluff": r"^L: +\d+ \| P: +\d+ \| [A-Z]",
    "terraform fmt": r"^\S+\.tf(?:vars)?$",
    "terraform validate": r"^(?:\u2502 )?Error: ",
    "trivy": r"^Total: [1-9]\d* \(",
    "yamllint": r"^ {1,4}\d+:\d+ +error ",
}
# A test run that ran nothing: it says so, and often ends as one that passed.
_NOTHING_RAN = lazy_pattern(
    r"^(?:\W{0,4}no tests? (?:files? )?(?:were )?(?:found|ran|collected)|\d+ deselected in \d|=+ (?:\d+ deselected|"
    r"no tests "
    r"ran)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_FINDINGS_OF = {name: lazy_pattern(expression, re.MULTILINE) for name, expression in _FINDINGS_TABLE.items()}
_MISSING = lazy_pattern(
    r"no such file|\bno \w+ found\b|not? (?:be )?found|does(?: not|n['’]t) exist|do(?: not|n['’]t) exist|enoent|"
    r"cannot (?:access|find)|not a directory|non-?existent|no longer exists|can't (?:open|find)|could(?: not|"
    r"n't) (?:be )?(?:open|find)|no module named|cannot find module|no files? (?:matched|found)|no match|"
    rf"needed a single revision|unknown revision|not a valid (?:object|ref)|{MISSING_IN_LANGUAGES}",
    re.IGNORECASE,
)
_NOTHING_FOUND = lazy_pattern(
    r"\s*(?:no (?:[\w-]+ ){1,4}(?:were |was )?found|no match(?:es)?\b|"
    r"found 0 |0 (?:matches|results|files)|nothing (?:found|matched)|no such|not found|none found)[^\n]{0,200}\s*\Z",
    re.IGNORECASE,
)
_NOT_FOUND_PROGRAM = lazy_pattern(
    r"^[^\n]*(?:command not found|: not found|not recognized as|(?:befehl|kommando) (?:wurde )?nicht gefunden|"
    r"commande introuvable|orden no encontrada|comando n(?:\u00e3o encontrado|on trovato)|"
    r"\u043a\u043e\u043c\u0430\u043d\u0434\u0430 \u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\u0430|"
    r"\u672a\u627e\u5230\u547d\u4ee4|"
    r"\u30b3\u30de\u30f3\u30c9\u304c\u898b\u3064\u304b\u308a\u307e\u305b\u3093|opdracht niet gevonden|"
    r"nie znaleziono polecenia|p\u0159\u00edkaz nenalezen|"
    r"kommando(?:t)? (?:finns inte|hittades inte|ikke fundet|ikke funnet)|komut bulunamad\u0131)[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_FILE_NAME = lazy_pattern(r"[\w.@+-]*\w")
_TEST_COUNTS = lazy_pattern(
    r"\b\d+ (?:passed|failed|errors?|passing|failing)\b|^Ran \d+ tests?|^--- (?:FAIL|PASS): |^test result: |^not ok \d",
    re.MULTILINE,
)


# Pi's last line of a command that the user stopped, after what it had printed.
_STOPPED_AT_END = lazy_pattern(r"(?:^|\n)(?:Command|Operation) (?:was )?(?:aborted|cancell?ed)\.?\s*\Z")
_INTERRUPTED = lazy_pattern(r"(?:interrupted|aborted|cancell?ed|stopped) by (?:the )?user")


class ResultEvidence(Struct, frozen=True):
    """One reason for a verdict, quoted from the trace; `source` is where it is: a field, `words`, ..."""

    source: str
    quote: str


class Judgement(Struct, frozen=True):
    """What a result is: its kind, how sure it is that it is an error, its words, and what decided."""

    kind: ResultKind
    certainty: Certainty
    words: str
    evidence: tuple[ResultEvidence, ...]
    rule: VerdictRule


class Failure(Struct, frozen=True):
    """Why a result is an error, before its kind is known: the certainty, its words, the exit code, what decided."""

    certainty: Certainty
    words: str
    exit_code: int | None = None
    evidence: tuple[ResultEvidence, ...] = ()


def printed_exit_code(effects: tuple[Effect, ...], text: str) -> int | None:
    """The exit code that a line prints itself at its end (`cmd; echo rc=$?`); None if it prints none."""
    last = effects[-1].command if effects else None
    if last is None or last.program not in ("echo", "printf") or not any("$?" in word for word in last.words):
        return None
    match = _LAST_NUMBER.search(last_line(text))
    return int(match[1]) if match else None


_LAST_NUMBER = lazy_pattern(r"(?<!\d)(\d{1,3})\D{0,3}$")


def error_before_pipe(effects: tuple[Effect, ...], text: str) -> str | None:
    """The line that reports an error of a program whose exit code the line's own is not: that is of the last program.

    It is before a pipe, writes what the line shows then, or crashed, which the shell tells.
    """
    main = main_effect(effects)
    crashed = _CRASHED.search(text[:_HEAD]) if len(effects) > 1 else None
    if crashed is not None and main is not None and main.command and main.command.own_name in crashed[0]:
        return crashed[0]
    if main is not None and main.kind in (EffectKind.RUN, EffectKind.WRITE) and _shows_only_output_of(main, effects):
        return error_at_end(text, _programs(effects), is_any_error=False)
    for effect, following in pairwise(effects):
        command = effect.command
        is_hidden = following.connector in _HIDING and command is not None and f"{command.program}: " in text[:_HEAD]
        if is_hidden and command is not None and effect.kind not in (EffectKind.PROBE, EffectKind.NOTHING):
            program = re.escape(command.program)
            words = _OWN_WORDS if following.connector == "|" else _OWN_TROUBLE
            match = re.search(rf"^(?:\S*/)?{program}: {words}.*", text[:_HEAD], re.MULTILINE | re.IGNORECASE)
            if match is not None:
                return match[0]
    return None


# After these the line's exit code is that of the program behind them.
_HIDING = frozenset(("|", ";", "\n", ""))
_OWN_WORDS = rf"(?:error\b|fatal\b|\(\d+\) |\*\*\* |(?:{'|'.join(ERROR_WORDS)})\b)"
_OWN_TROUBLE = (
    rf"(?:error\b|fatal\b|\(\d+\) |\*\*\* |(?:{'|'.join(ERROR_WORDS)})\b|[^\n]{{0,120}}(?:\b(?:failed|cannot|can't|"
    rf"could not|"
    rf"unable to|denied|refused|no such|not found|required|invalid)\b|{MISSING_IN_LANGUAGES}|{BARRED_IN_LANGUAGES}|"
    rf"fehlgeschlagen|\u00e9chou\u00e9|fall\u00f3|falhou|fallit[oa]|mislukt|"
    rf"\u043d\u0435 \u0443\u0434\u0430\u043b\u043e\u0441\u044c|\u5931\u8d25|\u5931\u6557))"
)


# `bash: line 1:  4242 Segmentation fault      (core dumped) ./run.sh`
_CRASHED = lazy_pattern(
    r"^(?:ba|z|da)?sh: line \d+: +\d+ (?:Segmentation fault|Killed|Aborted|Bus error|Illegal instruction)\b.*",
    re.MULTILINE,
)


def _shows_only_output_of(main: Effect, effects: tuple[Effect, ...]) -> bool:
    """Whether all that a line prints is what one of its programs wrote: `x | tail`, `x > log; tail log`."""
    after = effects[effects.index(main) + 1 :]
    written = main.command.writes if main.command is not None else ()
    shows = [effect for effect in after if effect.kind is not EffectKind.NOTHING]
    return bool(shows) and all(
        effect.subject in _NEVER_SAYS_NO
        and (
            effect.connector == "|"
            or (effect.command is not None and not set(written).isdisjoint(effect.command.words))
        )
        for effect in shows
    )


def is_running(text: str) -> bool:
    """Whether a result only says that the command continues in the background."""
    head = text[:_HEAD]
    return "running" in head.lower() and _RUNNING.search(head) is not None


def kind_of_result(
    call: ToolCall, result: ToolResult, failure: Failure | None, is_named: Callable[[Effect], bool]
) -> Judgement | None:
    """The kind of a result; None for a success.

    `failure` is why it is an error, None if it is none; `is_named` whether somebody else than the agent had named an
    effect's target before.
    """
    effects = effects_of(call)
    state = result.recorded.state if result.recorded is not None else None
    text = result.content
    if failure is None or _is_interruption(effects) or _is_success_code(effects, failure.exit_code):
        return _answer_no(call, effects, text, result.recorded)
    rejected = _refusal(text, state, failure)
    if rejected is not None:
        return Judgement(rejected, failure.certainty, failure.words, failure.evidence, VerdictRule.REFUSAL)
    if _ran_its_time(call, effects, text, failure):
        kind, rule = ResultKind.PROBE, VerdictRule.ANSWER_BY_EXIT_CODE
    else:
        kind, rule = _kind(effects, text, failure, is_named)
    return Judgement(kind, failure.certainty, failure.words, failure.evidence, rule)


def _ran_its_time(call: ToolCall, effects: tuple[Effect, ...], text: str, failure: Failure) -> bool:
    """Whether a program ran as long as its line let it, to see whether it starts: `timeout 5 python game.py`.

    At most half a minute, and with an output that reports no error. A check, a build or a write was to end.
    """
    effect = main_effect(effects)
    if failure.exit_code != _TIME_IS_UP or effect is None or effect.kind not in (EffectKind.RUN, EffectKind.READ):
        return False
    line = call.raw_arguments[:_HEAD]
    limit = None if "wait" in line else _OWN_LIMIT.search(line)  # `docker compose up --wait` was to end
    output = text.strip()
    if limit is None or int(limit[1]) > _LONGEST_TRIAL_S or not output:
        return False
    return effect.kind is EffectKind.READ or not (error_line(output) or error_at_end(output, _programs(effects)))


_TIME_IS_UP = 124  # GNU coreutils, `timeout`
_OWN_LIMIT = lazy_pattern(r"\btimeout (?:-\S+ ){0,3}(\d{1,3})s? ")
_LONGEST_TRIAL_S = 30


def _is_success_code(effects: tuple[Effect, ...], code: int | None) -> bool:
    """Whether a program that counts in its exit code did its work: below 8, robocopy says what it copied."""
    command = effects[-1].command if effects else None
    return command is not None and command.program.casefold() == "robocopy" and code is not None and 0 < code < 8


_CONTROL_KEY = lazy_pattern(r"(?:C-|\^|ctrl[+-])[a-z]", re.IGNORECASE)


def _is_interruption(effects: tuple[Effect, ...]) -> bool:
    """Whether a call sends a control key to a running program: that it stops is what was wanted."""
    command = effects[0].command if len(effects) == 1 else None
    return command is not None and _CONTROL_KEY.fullmatch(command.own_name) is not None


def _refusal(text: str, state: RunState | None, failure: Failure) -> ResultKind | None:
    head = text[:600].casefold()
    if state is RunState.REJECTED or (state is RunState.INTERRUPTED and not _TIMED_OUT.search(text[:_HEAD])):
        return ResultKind.REJECTED
    if state is RunState.NOT_RUN:
        return ResultKind.NOT_RUN
    if failure.exit_code not in (None, 0, -1) and not (failure.exit_code > 128 and _INTERRUPTED.search(head)):
        return None  # the program ran
    if _NEVER_BEGAN.match(head) is not None:
        return ResultKind.NOT_RUN
    if _REJECTED.search(head) or (failure.exit_code is None and _STOPPED_AT_END.search(text[-100:]) is not None):
        return ResultKind.REJECTED
    return ResultKind.NOT_RUN if _NOT_RUN.search(head[:200]) else None


def _kind(
    effects: tuple[Effect, ...], text: str, failure: Failure, is_named: Callable[[Effect], bool]
) -> tuple[ResultKind, VerdictRule]:
    """The kind of a failed run, and the rule that decides it."""
    code = failure.exit_code
    effect = main_effect(effects)
    if effect is None:
        return ResultKind.FAILURE, VerdictRule.FAILED_CALL
    last = _deciding(effects)
    decides = _decides_alone(effects) or _finds_nothing(last, text)
    is_barred = _is_refused(text) or _could_not_ask(last, text)
    is_answer = code == 1 and last.kind is EffectKind.PROBE and decides and not is_barred
    is_answer = is_answer or (code == 1 and _asks_before_reading(effects) and not text.strip())
    if is_answer and not _is_shell_error(text, last):
        return ResultKind.PROBE, VerdictRule.ANSWER_BY_EXIT_CODE
    if code == 1 and last.subject == "git diff" and last.kind is EffectKind.PROBE and _IS_DIFF.search(text[:_HEAD]):
        return ResultKind.PROBE, VerdictRule.ANSWER_BY_EXIT_CODE
    if (code and text.strip().casefold() in _NO_WORDS) or _tells_by_code(effects, code):
        return ResultKind.PROBE, VerdictRule.ANSWER_BY_EXIT_CODE
    failed = _blamed(effects, text) or effect
    if _is_shell_error(text, failed) and not _asks_for_programs(failed):
        return ResultKind.FAILURE, VerdictRule.PROGRAM_MISSING
    if failed.kind is EffectKind.PROBE:
        is_its_own = last.connector != "|" or last is failed
        return _of_probe(failed, text, code, is_named, is_its_own=is_its_own), VerdictRule.QUESTION
    if failed.kind is EffectKind.READ:
        if failed.targets and _MISSING.search(failure.words[:400] or text[:400]) and _is_local(failed):
            return _of_missing(failed, is_named), VerdictRule.MISSING_TARGET
        return ResultKind.FAILURE, VerdictRule.FAILED_CALL
    if failed.kind is EffectKind.CHECK:
        return _of_check(failed, text, failure), VerdictRule.CHECK
    if _reports_located_faults(failed, text) or _measures_too_much(failed, text):
        return ResultKind.FINDING, VerdictRule.LOCATED_FAULTS
    return ResultKind.FAILURE, VerdictRule.FAILED_CALL


_IS_DIFF = lazy_pattern(r"^diff --git |^ ?\S.* \| +(?:\d+ [+-]*|Bin .*)$|^[MADRU]\t\S", re.MULTILINE)
# "Succeeded, there is a diff": `terraform plan -detailed-exitcode` (HashiCorp's documentation); `gh run view
# --exit-status` and `jq --exit-status` end with 1 for a failed run, and for false or null (their manuals).
_DIFFERS = 2
_CODES_ASKED = {"detailed-exitcode": _DIFFERS, "exit-status": 1}


def _tells_by_code(effects: tuple[Effect, ...], code: int | None) -> bool:
    """Whether a program was asked to tell something by its exit code, and this is the code for it."""
    words = (word for effect in effects if effect.command is not None for word in effect.command.words)
    return code is not None and any(_CODES_ASKED.get(word.lstrip("-")) == code for word in words)


def _of_probe(
    effect: Effect, text: str, code: int | None, is_named: Callable[[Effect], bool], *, is_its_own: bool
) -> ResultKind:
    if code == _DIFFERS and effect.command is not None and effect.command.program == "ansible":
        code = 1 if "| rc=1 |" in text else code  # of the command on one of the hosts
    is_missing = code == 3 or _MISSING.search(text[:_HEAD]) is not None or _asks_for_programs(effect)
    if _is_refused(text) or _could_not_ask(effect, text):
        return ResultKind.FAILURE
    if is_its_own and _says_no_of_target(effect, text):
        return ResultKind.PROBE
    if code in (None, 1, 2, 3, 4, 127, 128) and is_missing:
        return _of_missing(effect, is_named)
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
    denial = _IS_NOT.fullmatch(line) if len(line) <= _LONGEST_NO else None
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


def _finds_nothing(effect: Effect, text: str) -> bool:
    """Whether a program that prints what it finds printed nothing, nor did any other of the line complain."""
    return finds_in_words(effect) and not text.strip()


_NOT_PERMITTED = lazy_pattern(f"permission denied|not permitted|{BARRED_IN_LANGUAGES}")


def _is_refused(text: str) -> bool:
    """Whether a program was not allowed to do anything."""
    head = folded(text[:_HEAD])
    return _NOT_PERMITTED.search(head) is not None and not _has_hits(text)


# What a question is answered with: `kubectl auth can-i`, `systemctl is-active`.
_NO_WORDS = frozenset(("no", "false", "none", "0", "inactive", "disabled", "unknown", "not found", "absent", "closed"))


_BARE_NO = frozenset(("no", "inactive", "not found", "absent", "closed"))


def _has_hits(text: str) -> bool:
    """Whether a search printed something besides complaints of programs."""
    lines = (line for line in text.splitlines()[:50] if line.strip())
    return any(_COMPLAINER.match(line) is None for line in lines)


_COMPLAINER = lazy_pattern(r"[\w.-]+: ")


# `src/radio.c:51:9: error: ...`, as compilers and linters write, `error: Nat.lean:8:32: ...` (Lean),
# `error - app.dart:31:5 - ...` (Dart), `File "lib/a.ml", line 12, characters 10-13:` (OCaml); a runtime's trace and a
# shell's line have another form, and so has a program that names itself first (`psql:a.sql:2: ERROR`).
_PLACE = r"(?:\./|/)?[\w./+@-]{1,200}\.[A-Za-z]\w{0,5}:\d+(?::\d+)?(?!:in ['`])"
_LOCATED_FORMS = (
    rf"^{_PLACE}: ?\S|^\s{{0,4}}(?:error|warning)(?::| -) {_PLACE}\b|"
    r"^File \"[^\"\n]{1,200}\", lines? [\d-]+, characters "
)
_LOCATED = lazy_pattern(_LOCATED_FORMS, re.MULTILINE)


# ... of which a warning alone fails nothing.
_LOCATED_FAULT = lazy_pattern(rf"(?!^[^\n]*\b(?:warning|note)\b)(?:{_LOCATED_FORMS})", re.MULTILINE)


def _reports_located_faults(effect: Effect, text: str) -> bool:
    """Whether a program that no table knows reports faults at lines of files, as a checker does."""
    if effect.kind is not EffectKind.RUN or effect.command is None or "Traceback (most recent" in text[:_HEAD]:
        return False
    if effect.subject == "git commit" or effect.command.program in DATABASE_CLIENTS:
        return False  # a hook found faults, and nothing was committed; a line of data was not loaded
    if _TEST_SUMMARY.search(text[-_TAIL:]) is not None or _counts_faults(last_line(text)):
        return True
    if effect.command.program in _LINK_CHECKERS:  # what is out of reach is what they look for
        return _own_finding((effect,), text) is not None
    return _LOCATED.search(text[:_HEAD]) is not None and _OWN_COMPLAINT.search(text[:_HEAD]) is None


_LINK_CHECKERS = frozenset(("lychee", "linkchecker", "muffet"))


def _measures_too_much(effect: Effect, text: str) -> bool:
    """Whether a task or script of the project compares what it measured with its limit: 181 kB with 150 kB.

    One that sends something, or that ran into a limit of a service or of the machine, has failed.
    """
    if effect.kind is not EffectKind.RUN or effect.command is None or len(text) > _TAIL:
        return False
    if not (runs_task(effect.command.program) or "." in effect.subject):
        return False
    names = " ".join((effect.subject, *effect.command.operands[:2]))
    acts = any(kind_of(word) is ToolKind.WRITES for word in _NAME_PARTS.findall(names))
    if acts or _BEYOND.search(text) is None or _LIMIT_OF_OTHERS.search(text) is not None:
        return False
    measures = {(unit.casefold(), value) for value, unit in _MEASURE.findall(text) if unit or "." in value}
    return max(Counter(unit for unit, _ in measures).values(), default=0) > 1


_NAME_PARTS = lazy_pattern(r"[a-z]+", re.IGNORECASE)
_LIMIT = r"\b(?:limit|budget|threshold|allowed|allowance|minimum|maximum|required|target)\b"
_BEYOND = lazy_pattern(
    rf"{_LIMIT}[^\n]{{0,80}}\b(?:exceed\w*|not met|missed|over|above|below|under)\b|"
    r"\b(?:exceed\w*|over|above|below|under|(?:less|more|greater|lower|higher|larger|slower) than|(?:does )?not meet)\b"
    rf"[^\n]{{0,80}}{_LIMIT}",
    re.IGNORECASE,
)
_LIMIT_OF_OTHERS = lazy_pattern(
    r"rate.?limit|quota|too many requests|payload|upload|request|heap|out of memory|disk|time.?limit|timed? ?out|"
    r"\b4\d\d\b",
    re.IGNORECASE,
)
_MEASURE = lazy_pattern(r"(?<![\w.])(\d+(?:[.,]\d+)?) ?([kmg]i?b|bytes|b|%|ms|s|points?)?(?![\w.]*\w)", re.IGNORECASE)


# Of a test in a container, whose lines may begin with its name (`web-1  | Tests: 1 failed, 37 passed`).
_TEST_SUMMARY = lazy_pattern(
    r"^(?:[\w.-]+ {1,4}\| +)?(?:(?:=+ |Tests?: +)?[1-9]\d* failed, \d+ passed\b|FAILED \S+::|FAILED \((?:failures|"
    r"errors)=|--- FAIL: |test result: FAILED|[1-9]\d* failing$|\W{0,3}pass(?:ed)?:? \d+\n\W{0,3}fail(?:ed)?:? [1-9]|"
    r"\d+ (?:examples?|tests?), [1-9]\d* failures?\b)",
    re.MULTILINE,
)


def _counts_faults(line: str) -> bool:
    """Whether a line counts what was checked and what is wrong with it: `41 total, 40 ok, 1 error`.

    One count is the sum of the others, or there are at least four, or it names faults in a number of things.
    """
    counts = [int(number) for number in _COUNT.findall(line[:_LONGEST_TALLY])]
    if _FAULTS_IN.search(line[:_LONGEST_TALLY]) is not None:
        return True
    if len(counts) < _FEWEST_COUNTS or any(map(str.isalnum, _COUNT.sub("", line[:_LONGEST_TALLY]))):
        return False
    total, others = max(counts), sum(counts) - max(counts)
    return len(counts) > _FEWEST_COUNTS or (total == others and total > 0)


_LONGEST_TALLY, _FEWEST_COUNTS = 300, 3
_COUNT = lazy_pattern(r"(?<![\w.])(\d{1,9}) [^\W\d_][\w-]*")
_FAULTS_IN = lazy_pattern(
    r"\b[1-9]\d* (?:errors?|problems?|warnings?|issues?|failures?) in \d+ \w+|"
    r"\bPASS(?:ED)?=\d+ .{0,200}\b(?:ERROR|FAIL(?:ED)?)=[1-9]",
    re.IGNORECASE,
)
_OWN_COMPLAINT = lazy_pattern(r"^(?:node:|\s+at |Error: Cannot find module|panic:|Uncaught)", re.MULTILINE)


def _of_missing(effect: Effect, is_named: Callable[[Effect], bool]) -> ResultKind:
    """A negative answer, unless somebody else named the path before: then it was to be there."""
    return ResultKind.FAILURE if effect.kind is EffectKind.READ and is_named(effect) else ResultKind.PROBE


def _could_not_run(end: str, text: str) -> bool:
    """Whether one end of a check's output says that it could not run.

    Messages about the version of a tool may also stand in code that was checked: with a report they say nothing.
    """
    words = folded(end)
    if _COULD_NOT_RUN.search(words) is not None:
        return True
    return _WRONG_TOOL.search(words) is not None and _REPORTS.search(text) is None


_REPORTS = lazy_pattern(
    r"^\S{1,200}\.\w{1,6}[:(]\d+|\b[1-9]\d* (?:failures?|failed|errors?)\b|Failures: [1-9]|tests failed out of",
    re.IGNORECASE | re.MULTILINE,
)


def _of_check(effect: Effect, text: str, failure: Failure) -> ResultKind:
    if failure.exit_code in (4, 5, 124, 126, 127, 137, 143) and not _TEST_COUNTS.search(text):
        return ResultKind.FAILURE
    head, tail = text[:_HEAD], text[-_TAIL:]
    ends = dict.fromkeys((head, tail))  # a short text is both
    if any(_FINDINGS.search(end) or _own_finding((effect,), end) for end in ends):
        could_run = _TEST_COUNTS.search(tail) is not None or not _could_not_run(head[:400], tail)
        return ResultKind.FINDING if could_run else ResultKind.FAILURE
    if failure.exit_code == 2 and effect.subject == "lint" and _NAMES_LINE.search(text[:_HEAD]) is None:
        return ResultKind.FAILURE  # linters end with 1 for what they found, with 2 for what they could not do
    if COMMAND_TIMED_OUT.match(first_line(text)) or COMMAND_TIMED_OUT.match(last_line(text)):
        return ResultKind.FAILURE
    if any(_could_not_run(end, text) or _NOTHING_RAN.search(end) for end in ends):
        return ResultKind.FAILURE
    reports = (_LOCATED.search(head), _TEST_COUNTS.search(tail), _DIFFERENCES.search(head))
    ended = failure.exit_code is not None or failure.certainty is Certainty.TEXTUAL
    ended = ended and _SIGNS_NOTHING.search(tail) is None
    return ResultKind.FINDING if ended or any(match is not None for match in reports) else ResultKind.FAILURE


_NAMES_LINE = lazy_pattern(r"[:(]\d+\b|\bline \d+", re.IGNORECASE)
# A build that got as far as its keys: what is wrong is beside the work.
_SIGNS_NOTHING = lazy_pattern(
    r"\b(?:keystore|key ?store|provisioning profile|code ?sign\w*|signing)\b[^\n]{0,120}\b(?:incorrect|not|no|fail\w*|"
    r"missing|invalid|expired|wrong|denied)\b|\bpassword was incorrect\b",
    re.IGNORECASE,
)


_BLAMED = lazy_pattern(
    r"^(?:(?:/\S*/)?(?:bash|sh|zsh)(?:: line \d+)?: |\(eval\):\d+: ?|zsh:\d+: )?(?:line \d+: |"
    r"\d+: )?(?P<program>[\w./+-]{1,60}): ",
    re.MULTILINE,
)


def _blamed(effects: tuple[Effect, ...], text: str) -> Effect | None:
    """The effect of the program that an error line names: `cd: build: No such file or directory`."""
    main = main_effect(effects)
    names = {effect.command.program for effect in effects if effect.command is not None}
    for match in _BLAMED.finditer(text[:_HEAD]):
        program = match["program"].rsplit("/", 1)[-1]
        is_within = (
            program not in names and main is not None and main.command is not None and "/" in main.command.own_name
        )
        if is_within and main is not None and main.kind is EffectKind.RUN and _COMPLAINT.match(text, match.start()):
            return main  # one of the programs that a script runs
        for effect in (main, *effects) if main is not None else effects:
            if effect.command is not None and effect.command.program == program:
                if effect.kind is EffectKind.NOTHING:  # the rest never ran
                    return Effect(EffectKind.RUN, effect.subject, effect.targets, effect.command)
                return effect
    return None


def _is_shell_error(text: str, effect: Effect) -> bool:
    """Whether the shell did not find the program."""
    head = text[:400]
    if effect.command is None or effect.command.own_name not in head:
        return False
    match = _NOT_FOUND_PROGRAM.search(head)
    return match is not None and effect.command.own_name in match[0]


def _asks_for_programs(effect: Effect) -> bool:
    """Whether a command only asks whether a program is there: `which`, `command -v`, `tool --version`."""
    command = effect.command
    if command is None:
        return False
    is_asked = command.program in _ASKS_FOR_PROGRAMS
    return is_asked or any(word in PROBE_OPTIONS for word in command.words[:1])


# ... or for a device, whose driver brings the program.
_ASKS_FOR_PROGRAMS = frozenset(
    ("which", "command", "type", "whereis", "hash", "nvidia-smi", "rocm-smi", "vainfo", "clinfo")
)


_NEVER_SAYS_NO_TABLE = "cat head tail less more sort uniq cut tr tee nl column sed awk"
_NEVER_SAYS_NO = frozenset(_NEVER_SAYS_NO_TABLE.split())


def _deciding(effects: tuple[Effect, ...]) -> Effect:
    """The program whose answer the exit code is: not what only shows its output (`grep x y | tail`, with pipefail)."""
    shown = len(effects)
    while shown > 1 and effects[shown - 1].connector == "|" and effects[shown - 1].subject in _NEVER_SAYS_NO:
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


def _is_local(effect: Effect) -> bool:
    is_remote = effect.subject in ("curl", "wget", "git log", "git show")
    return not is_remote and not any("://" in target for target in effect.targets)


@memoized
def _answer_no(
    call: ToolCall, effects: tuple[Effect, ...], text: str, recorded: RecordedState | None
) -> Judgement | None:
    """A successful result that is the negative answer to a question; None for any other success."""
    effect = main_effect(effects)
    if effect is None or (recorded is not None and recorded.state is RunState.RUNNING):
        return None
    is_interpreted = recorded is not None and recorded.field == "returnCodeInterpretation"  # it explains a code of 1
    fallback = effects[-1]
    says = fallback.command.words if fallback.command is not None and fallback.connector == "||" else ()
    said = " ".join(word for word in says if not word.startswith("-"))
    is_fallback = bool(said) and fallback.subject in ("echo", "printf") and last_line(text).strip() == said.strip()
    is_lookup = is_search(call.name or "") and effect.command is None
    is_asked = is_lookup or effect.kind in (EffectKind.PROBE, EffectKind.READ)
    is_told_no = effect.kind is EffectKind.PROBE and effect.command is not None and text.strip().casefold() in _BARE_NO
    is_excused = fallback.connector == "||" and fallback.subject in ("true", ":")
    is_no = is_fallback or is_told_no or (is_excused and _MISSING.search(text[:400]) is not None)
    if effect.kind is EffectKind.PROBE and not is_no:
        is_silent = not text.strip() and finds_in_words(effect)
        is_no = is_interpreted or is_silent or _NOTHING_FOUND.match(text[:400]) is not None
    if is_asked and effect.command is None and (is_lookup or not effect.targets) and not is_no:
        is_no = _NO_ENTRIES.fullmatch(text[:_LONGEST_NO]) is not None or _NOTHING_FOUND.match(text[:400]) is not None
        is_check = bare_name(call.name or "").partition("_")[0] in _ASKING_VERBS
        is_no = is_no or (is_check and _NO_WITH_REASON.fullmatch(text[:_LONGEST_NO]) is not None)
    is_status = effect.command is not None and effect.subject == "curl" and asks_for_status(effect.command.words)
    if is_status and _BAD_STATUS.fullmatch(text.strip()) is not None:
        is_asked = is_no = True
    if _prints_verdict(effects) and text.strip().casefold() in _NO_VALUES:
        is_asked = is_no = True
    if not is_asked or not is_no:
        return None
    quote = last_line(text)[:200] or "(nothing)"
    evidence = (ResultEvidence("words", quote),)
    return Judgement(ResultKind.PROBE, Certainty.STRUCTURED, "", evidence, VerdictRule.NEGATIVE_ANSWER)


# What a lookup in data answers that finds nothing: an empty list, alone, as the one field of an object, beside the
# count 0, or wrapped.
_NO_ENTRIES = lazy_pattern(
    r'\s*(?:\{[^{}\[\]]{0,120}"content"\s*:\s*)?(?:\{\s*(?:"\w{1,40}"\s*:\s*0\s*,\s*)?"\w{1,40}"\s*:\s*\[\s*\]'
    r'(?:\s*,\s*"\w{1,40}"\s*:\s*(?:0|false|null|"(?i:zero|no|empty|ok|success)\w{0,20}")){0,3}\s*\}|\[\s*\])\s*\}?\s*'
)
_LONGEST_NO = 200
# ... and what a check of a service answers: `{"eligible": false, "reason": "more than 30 days"}`.
_NO_WITH_REASON = lazy_pattern(
    r'\s*\{\s*"(?!success|ok\b|succeeded|error)\w{1,40}"\s*:\s*false\s*(?:,\s*"(?:reason|why|message|detail|note|\w{0,3}code)"'
    r'\s*:\s*"[^"]{0,150}"\s*(?:,\s*"(?!error)\w{1,40}"\s*:\s*(?:"[^"]{0,60}"|[\w.-]{1,30})\s*)?)?\}\s*'
)
_ASKING_VERBS = frozenset(("check", "is", "can", "has", "may", "verify", "validate", "test", "exists"))
_NO_VALUES = frozenset(("false", "none", "no"))


# No answer, or of a server that is not ready; any other status may be what was to be seen.
_BAD_STATUS = lazy_pattern(r"(?:HTTP\D{0,8})?(?:000|50[234])")


def _prints_verdict(effects: tuple[Effect, ...]) -> bool:
    """Whether the last program of a line is code that prints one expression, a question to an interpreter."""
    command = effects[-1].command if effects else None
    code = inline_code(command.words) if command is not None else None
    return code is not None and _PRINTS_ONE.search(code[-_LONGEST_NO:]) is not None


_PRINTS_ONE = lazy_pattern(r"(?:^|[;\n])\s*(?:print|puts|console\.log)\b ?\(?[^;\n]{1,160}\)?\s*;?\s*\Z")


def hidden_finding(call: ToolCall, result: ToolResult) -> str | None:
    """The line in which a check reports faults although no exit code says so; None if there is none.

    Neither the source nor the text states a code, or it is that of a later program (`npm test | tail`).
    """
    effects = effects_of(call)
    effect = main_effect(effects)
    may_test = effect is not None and effect.kind is EffectKind.RUN and _may_run_tests(effect)
    is_test = may_test and _TEST_SUMMARY.search(result.content[-_TAIL:])
    if effect is None or not (effect.kind is EffectKind.CHECK or is_test):
        return None
    has_code = result.recorded is not None and result.recorded.exit_code is not None
    is_known = effects[-1] is effect and (result.is_error is False or has_code)
    if is_known or _ends_built(effect, result.content):
        return None
    for end in dict.fromkeys((result.content[-_TAIL:], result.content[:_HEAD])):
        match = _FINDINGS.search(end) or _LOCATED_FAULT.search(end) or _own_finding(effects, end)
        if match is None and effect.command is not None and effect.command.program in ("diff", "cmp"):
            match = _DIFFERENCES.search(end)
        match = match or _NOTHING_RAN.search(end)
        if match is not None and (
            _COUNTS.search(match[0]) or not _NOTHING_FAILED.search(end, match.start(), match.end() + 80)
        ):
            start = end.rfind("\n", 0, match.start()) + 1
            return end[start : match.end() + 200].partition("\n")[0].strip()[:400]
    return None


def _may_run_tests(effect: Effect) -> bool:
    """Whether a command runs something on another machine or in a container, or a script for tests."""
    command = effect.command
    if command is None:
        return False
    return bool(elsewhere(command)) or any(_FOR_TESTS.search(word) for word in (command.program, *command.words[:5]))


_FOR_TESTS = lazy_pattern(r"(?:^|[/_.:-])(?:tests?|specs?|checks?|verify|ci|e2e|smoke)", re.IGNORECASE)


def _own_finding(effects: tuple[Effect, ...], text: str) -> re.Match[str] | None:
    """What a check says in words that only it uses."""
    patterns = (_FINDINGS_OF[name] for name in _programs(effects) if name in _FINDINGS_OF)
    return next(filter(None, (pattern.search(text) for pattern in patterns)), None)


_DIFFERENCES = lazy_pattern(r"^\d+(?:,\d+)?[acd]\d+|^@@ |^\S+ \S+ differ: ", re.MULTILINE)


_NOTHING_FAILED = lazy_pattern(r"\b(?:0|no) (?:failed|failures?|errors?|remaining)\b(?!=)", re.IGNORECASE)
_COUNTS = lazy_pattern(r"\b[1-9]\d* (?:tests? )?fail\w*$", re.IGNORECASE)


class KnownPaths:
    """The names of files that the user, the system prompt and results name, each with its first turn.

    Most sessions look up few, so a text is split into names only if it contains one of these; after some lookups all
    texts are. Splitting all took 0.15 of an inspection (eight agents' sessions of 4 MB, 2026-11-30). While a session
    grows, the names of its known texts are remembered.
    """

    def __init__(self, texts: Callable[[], Iterable[tuple[int, str]]] = tuple) -> None:
        self._texts = texts
        self._lookups = 0

    def are_named(self, targets: Iterable[str], before: int) -> bool:
        """Whether somebody else than the agent named one of these paths before a turn, if need be spelt otherwise."""
        names = [name for target in targets if len(name := target.rsplit("/", 1)[-1].casefold()) > 3]
        self._lookups += 1
        if self._lookups > _FEW_LOOKUPS or is_memoizing():
            first = self._named.first()
            is_named = any(first.get(name, before) < before for name in names)
        else:
            texts = (item for item in self._folded if item[0] < before)
            is_named = any(name in folded and name in _names_in(text) for _, folded, text in texts for name in names)
        return is_named or any(self._is_spelt(name, before) for name in names)

    @cached_property
    def _named(self) -> "_NamedTexts":
        texts = list(self._texts())
        if not is_memoizing() or not texts:
            return _NamedTexts(texts)
        named = _named_before.get(texts[0][1])
        if named is None or not named.grow(texts):
            named = _NamedTexts(texts)
            _named_before.put(texts[0][1], named)
        return named

    @cached_property
    def _folded(self) -> Sequence[tuple[int, str, str]]:
        return [(turn, text.casefold(), text) for turn, text in self._named.texts]

    def _is_spelt(self, name: str, before: int) -> bool:
        stem, _, suffix = name[:MAX_NAME_CHARS].partition(".")
        files = self._named.files()
        others = chain(files.get(stem, ()), files.get(f".{suffix}", ()))
        return any(turn < before and are_spellings(name, other) for other, turn in others)


class _NamedTexts:
    """The texts of a session with their turns, and the names in them; more texts may follow."""

    def __init__(self, texts: list[tuple[int, str]]) -> None:
        self.texts = texts
        self._first: dict[str, int] = {}
        self._files: dict[str, list[tuple[str, int]]] = {}
        self._words: set[str] = set()
        self._names: set[str] = set()
        self._in_first = self._in_files = 0  # texts whose names are there

    def grow(self, texts: list[tuple[int, str]]) -> bool:
        """Whether these are the texts of before, the same objects, and further ones, which are added."""
        pairs = zip(self.texts, texts, strict=False)
        is_same = len(texts) >= len(self.texts) and all(a[1] is b[1] and a[0] == b[0] for a, b in pairs)
        self.texts = texts if is_same else self.texts
        return is_same

    def first(self) -> Mapping[str, int]:
        """The first turn of each name."""
        for turn, text in self.texts[self._in_first :]:
            for name in _names_in(text):
                self._first.setdefault(name, turn)
        self._in_first = len(self.texts)
        return self._first

    def files(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """The names with a dot and their turns, by what is before their first dot and by what is from it on."""
        for turn, text in self.texts[self._in_files :]:
            words = {word for word in text.split() if "." in word} - self._words if "." in text else set()
            self._words |= words
            found = (name.casefold() for name in _FILE_NAME.findall(" ".join(words)) if "." in name)
            for name in set(found) - self._names:
                self._names.add(name)
                stem, _, suffix = name[:MAX_NAME_CHARS].partition(".")
                self._files.setdefault(stem, []).append((name, turn))
                self._files.setdefault(f".{suffix}", []).append((name, turn))
        self._in_files = len(self.texts)
        return self._files


_named_before: RecentValues[_NamedTexts] = RecentValues()  # by the first text, which each of them holds


@memoized
def _names_in(text: str) -> frozenset[str]:
    """The names of files in a text, folded; a plain word is one beside a slash only: "which version" names none."""
    paths = " ".join([word for word in text.split() if "/" in word])
    names = dict.fromkeys(_FILE_NAME.findall(text))
    return frozenset(
        [name.casefold() for name in names if not _is_word(name) or f"/{name}" in paths or f"{name}/" in paths]
    )


def _is_word(name: str) -> bool:
    return name.isalpha() and name.islower() and not name.endswith(("file", "readme", "changelog"))


_FEW_LOOKUPS = 64  # looking through all texts takes a hundredth of splitting them
_SHORT = 400
_PROGRAM_ERROR = lazy_pattern(
    r"(?:\.{0,2}/(?:\S*/)?)?(?P<program>[\w.+-]{1,40})(?:\[\d+\])?: (?:\d+: )?(?:\*\*\*|\(\d+\)|"
    r"\S[^\n]{0,80}:|[^\n]{0,60}\b(?:unknown|not |no |fail|cannot|can't|unable|denied|error|invalid|illegal|"
    r"unrecognized|refused|missing|already|requires))|(?-i:E): \S|fatal: \S",
    re.IGNORECASE,
)


_COMPLAINT = lazy_pattern(
    r"(?P<program>[\w.+-]{1,40}): [^\n]{0,60}\b(?:cannot|can't|could not|unable|denied|refused|required|no such|"
    r"not found|unknown|invalid|unrecognized|must|failed|error (?:\w+ing|in|while|when))\b",
    re.IGNORECASE,
)
_CANNOT_OPEN = lazy_pattern(r"(?:\S*/)?[a-z]{1,10}[\d.]*: (?:\d+: )?(?:can't|cannot) open ", re.IGNORECASE)
_HIT = lazy_pattern(r"\S+:\d+[:-]")


def _is_hit(call: ToolCall, line: str) -> bool:
    """Whether a line is what a search looked for: it begins with words of the query ("Error E1042: ...")."""
    if not is_search(call.name or "") or not isinstance(call.arguments, dict):
        return False
    begin = line[:_MAX_HIT_CHARS].partition(":")[0].casefold()
    values = (value.strip().casefold() for value in call.arguments.values() if isinstance(value, str))
    return any(len(value) > 3 and value in begin for value in values)


_MAX_HIT_CHARS = 80
# The line of a program that ended because it could not do its work: of Python's `-m`, and of clients of a service.
_COULD_NOT_BEGIN = lazy_pattern(
    r"(?:\S*/)?python[\d.]*(?:\.exe)?: No module named \S|Failed to (?:connect|open|start|load|create|get|bind) |"
    r"Cannot connect to |ssh: (?:connect to host |Could not resolve )"
)
_SHELL_PREFIX = lazy_pattern(r"^(?:\S*/)?(?:ba|z|da|k)?sh: (?:line \d+: |\d+: )?")


def _program_error(effects: tuple[Effect, ...], text: str) -> str | None:
    """The last line of a command's output if one of its programs reports an error in it: `curl: (6) ...`."""
    last = _SHELL_PREFIX.sub("", last_line(text))
    if COMMAND_TIMED_OUT.match(first_line(text)):
        return first_line(text)
    if COMMAND_TIMED_OUT.match(last) or _COULD_NOT_BEGIN.match(last):
        return last
    if text.startswith("fatal: ") and any(effect.subject.split(" ")[0] == "git" for effect in effects):
        return first_line(text)
    names = {"sudo", *(effect.command.program for effect in effects if effect.command is not None)}
    names.update(OTHER_NAMES[name] for name in names & OTHER_NAMES.keys())
    match = _PROGRAM_ERROR.match(last)
    if match is not None and (match["program"] is None or match["program"] in names):
        return last
    line = last_line(text)
    if _CANNOT_OPEN.match(line) and any(f"{name}'" in line or f"{name}:" in line for name in names):
        return line  # the interpreter of a script that is not there
    lines = text[:_SHORT].splitlines() if len(text) <= _SHORT else []
    errors = ((line, _COMPLAINT.match(line)) for line in lines)
    return next((line for line, match in errors if match is not None and match["program"] in names), None)


def words_decide(call: ToolCall, result: ToolResult) -> str | None:
    """The line of a result without recorded facts that reports an error; None if there is none.

    What a call only shows speaks of other things: only its reader's own message counts.
    """
    text = result.content
    if text.startswith(("failed in sandbox: ", "exec_command failed for `")):  # Codex
        return first_line(text)
    if (refused := _refusal_told(call, text)) is not None:
        return refused
    effects = effects_of(call)
    effect = main_effect(effects)
    if effect is None:
        return error_line(text) or _denial(call, effect, text)
    if only_shows(effect):
        return message_of_command(call.name or "", effects, text)
    if shows_content(effect, call.name or ""):
        return message_of_tool(call.arguments, text)
    if effect.kind in (EffectKind.READ, EffectKind.PROBE):
        return _error_of_lookup(call, effect, text)
    return None if _ends_built(effect, text) else _error_of_work(call, effects, effect, text)


def states_code_in_content(call: ToolCall, text: str) -> bool:
    """Whether the exit code that a text states stands in what a call shows: the end of a log, or of what a tool reads.

    A tool that reads has no exit code, but one that reads what a command printed. Of a command, the last line of an output counts as the log's if it has no
    brackets, as agents write them around it, and no program of the line reports a failure.
    """
    effects = effects_of(call)
    effect = main_effect(effects)
    if effect is None:
        return False
    framed = unframed(text)
    if shows_content(effect, call.name or ""):
        return framed.is_bare or _OF_RUN.isdisjoint(bare_name(call.name or "").split("_"))
    if not framed.is_bare or not only_shows(effect) or not framed.output.strip():
        return False
    return message_of_command(call.name or "", effects, framed.output) is None


_OF_RUN = frozenset(("bash", "shell", "terminal", "task", "process", "command", "job"))


def is_shown_object(call: ToolCall, fields: Mapping[str, object], of_errors: frozenset[str]) -> bool:
    """Whether an object is what a call shows, a file or a line of a log, and not the answer of its tool.

    `of_errors` are the fields that describe an error. What a shell returns has its output beside the exit code.
    """
    effect = main_effect(effects_of(call))
    if effect is None or any("://" in target for target in effect.targets):
        return False
    if only_shows(effect):
        return _OUTPUTS.isdisjoint(fields) and effect.subject not in _APIS
    if not shows_content(effect, call.name or ""):
        return False
    is_object_file = any(target.endswith((".json", ".jsonl", ".ndjson")) for target in effect.targets)
    return _OUTPUTS.isdisjoint(fields) and (is_object_file or not of_errors.issuperset(fields))


_OUTPUTS = frozenset(("output", "stdout", "stderr", "content", "result", "metadata"))
_APIS = frozenset(("curl", "wget", "http", "gh api"))


def _error_of_work(call: ToolCall, effects: tuple[Effect, ...], effect: Effect, text: str) -> str | None:
    """The line that reports an error of a call that does more than look."""
    runs_programs = any(part.command is not None for part in effects)
    if effect.subject == "git commit" and _COMMITTED.match(text) is not None:
        return None  # its message may speak of an error
    ends_with_look = len(effects) > 1 and effects[-1].kind in (EffectKind.READ, EffectKind.PROBE)
    ended = error_at_end(text, _programs(effects), is_any_error=not ends_with_look) if runs_programs else None
    line = (_program_error(effects, text) or ended) if runs_programs else None
    return line or error_line(text) or _denial(call, effect, text)


_COMMITTED = lazy_pattern(r"\s*\[[^\]\n]{1,200} [0-9a-f]{4,40}\] ")


def _programs(effects: tuple[Effect, ...]) -> Iterator[str]:
    """The programs of a line, without their folders: `git`, with its first word `git commit`, the script that it runs.

    Of a line on another machine or in a container, those that run there, too.
    """
    for command in (effect.command for effect in effects if effect.command is not None):
        name = command.program.rpartition("/")[2]
        yield from (
            name,
            " ".join((name, *command.words[:1])),
            *(word.rpartition("/")[2] for word in _scripts(command)),
        )
        if line := elsewhere(command):
            yield from _programs(effects_of_line(line))


def _scripts(command: ShellCommand) -> Sequence[str]:
    """The script or module that an interpreter is given: `bin/phpunit`, `pyflakes` of `python -m pyflakes`."""
    first, second = (*command.words[:2], "", "")[:2]
    return (second,) if first == "-m" else ((first,) if "/" in first or first.endswith(".py") else ())


def _error_of_lookup(call: ToolCall, effect: Effect, text: str) -> str | None:
    """The error at the beginning of a short answer of a tool that looks up data."""
    line = error_line(text)
    if line is None:
        failed = _SEARCH_FAILED.search(text[:_SHORT])  # Claude Code's, below its heading
        return failed[0] if failed is not None else _denial(call, effect, text)
    is_hit = line not in text[:200] or _HIT.match(line) is not None or _is_hit(call, line)
    return line if len(text.strip()) <= _SHORT and not is_hit else None


_SEARCH_FAILED = lazy_pattern(r"^API Error: .*", re.MULTILINE)


def _refusal_told(call: ToolCall, text: str) -> str | None:
    """The line with which a short result begins that somebody refused or stopped the call; None if none does.

    What a lookup brings may tell of a refusal of something else, if it names no call.
    """
    if len(text) > 600:
        return None
    if kind_of(call.name or "") is ToolKind.READS and not runs_shell(call) and not _OF_CALL.search(text[:300]):
        return None
    head = text[:300].strip().removeprefix("<tool_use_error>").removeprefix("<error>")
    folded = head.casefold()
    is_told = (" " in head or not head.isascii()) and (
        _REJECTED.match(folded, _begin_of_refusal(folded)) or _NOT_RUN.match(folded) or _NEVER_BEGAN.match(folded)
    )
    return head.partition("\n")[0] if is_told else None


# An agent's words, of any, for a call that never began: it names the call, or another one because of which.
_OTHER_CALL = (
    r"(?:(?:previous|earlier|preceding|prior|another|parallel|sibling|other|first) (?:\S+ ){0,3}(?:tools?|calls?|"
    r"commands?|"
    r"steps?|actions?|edits?|operations?|executions?|messages?|failures?|errors?)|(?:vorherig|vorangegangen|frühere|"
    r"andere|"
    r"parallele)\w*|parallel call|"
    r"précédent\w*|anterior\w*|precedente|vorige|poprzedni\w*|předchozí\w*|предыдущ\w*|попередн\w*|föregående|forrige|"
    r"edellinen|előző|önceki|sebelumnya|上一|前一|之前|前の|이전)"
)
_NEVER_BEGAN = lazy_pattern(
    r"[^\n]{0,120}?(?:\b(?:tool|call|command|action|step|operation|execution|request|function)\b[^\n]{0,80}?\b(?:was|"
    r"were|has|"
    r"have|is|did)(?: not|n['\u2019]t| never) (?:been )?(?:run|executed|started|attempted|made|performed|invoked)\b|"
    r"\bbefore (?:it|this (?:call|tool|command)) (?:ran|started|began|was (?:run|started)|could)\b|"
    r"\b(?:tool|call|command) (?:was )?cancell?ed\b|^(?:tool|call|command|execution) not (?:started|run|executed)\b|"
    r"(?:\b(?:skipp(?:ed|ing)|cancel\w+|not (?:run|executed|attempted|started|performed)|nicht ausgeführt|übersprungen|"
    r"abgebrochen|non exécuté\w*|ignoré\w*|annulé\w*|no (?:se )?ejecut\w+|omitid\w+|cancelad\w+|não executad\w+|"
    r"non eseguit\w+|saltat\w+|annullat\w+|niet uitgevoerd|overgeslagen|nie wykonano|pominięt\w+|neproveden\w*|"
    r"přeskočen\w*|не выполн\w*|пропущен\w*|не виконано|inte kör\w*|hoppades över|ikke (?:kjørt|kørt)|ei suoritettu|"
    r"kihagyva|atlandı|tidak dijalankan|dilewati)\b|未执行|跳过|実行され|スキップ|실행되지|건너뛰)"
    rf"[^\n]{{0,100}}?{_OTHER_CALL}|{_OTHER_CALL}[^\n]{{0,100}}?(?:\bskipp(?:ed|ing)\b|\bcancel\w+|\bnot (?:run|"
    rf"executed)\b|"
    r"\bübersprungen\b|\bnicht ausgeführt\b|未执行|跳过|スキップ|実行され|건너뛰|실행되지))"
)


def _ends_built(effect: Effect | None, text: str) -> bool:
    """Whether the last line of a check says that it is complete: what stands before it is a warning, or of a log."""
    if effect is None or effect.kind is not EffectKind.CHECK:
        return False
    pattern = _IS_BUILT if effect.subject == "build" else _HAS_PASSED
    return pattern.search(last_line(text)) is not None


_HAS_PASSED = lazy_pattern(
    r"^OK(?: \([\w=, ]+\))?$|^=* ?\d+ passed(?:, \d+ (?:skipped|deselected|x?passed|warnings?))* in "
)
_IS_BUILT = lazy_pattern(
    r"^\W*(?:build (?:is )?(?:complete\w*|succe\w+|finished)|(?:compiled|built|finished) successfully|"
    r"successfully built)\b(?!.*\b(?:(?<!\b0 )errors?|fail\w*)\b)",
    re.IGNORECASE,
)


def _begin_of_refusal(folded: str) -> int:
    """Where a refusal begins after the call as its subject: `exec command rejected by user`."""
    subject = _REFUSED_SUBJECT.match(folded)
    return subject.end() if subject is not None else 0


_OF_CALL = lazy_pattern(r"\b(?:tool|command|call|operation|hook|permission rule)\b", re.IGNORECASE)
_REFUSED_SUBJECT = lazy_pattern(
    r"\[operation cancelled\] reason: |permission to (?:run|use|call) \S{1,60} (?=\w+ by\b)|"
    r"(?:the|your) (?=(?:user|operator|human) (?:has )?(?:(?:reject|declin|den|refus|cancell?|abort|interrupt|disallow|"
    r"block|skipp)(?:ed|ied) (?:to (?:run|use|execute|allow|approve|grant|proceed)\b|permission\b|"
    r"(?:this|that|the|your) (?:\w+ )?(?:tool|command|call|operation|action|request|edit|change|patch)\b)|"
    r"d(?:id|oes)(?: not|n['\u2019]t) (?:allow|approve|want to (?:run|use|execute|proceed|continue|take))\b|"
    r"chose (?:not )?to (?:skip|run|allow|stop) ))|"
    r"(?:the |this |your )?(?:(?:exec|shell|bash|tool|file|mcp|proposed) )?(?:command|call|tool use|edit|patch|"
    r"action|execution|request|operation) (?:(?:was|has been|is) )?(?=\w+ by\b)"
)


def _denial(call: ToolCall, effect: Effect | None, text: str) -> str | None:
    """The short answer of a tool that changes something, if it denies."""
    if effect is None or (effect.command is not None and not edits_by_command(effect)):
        return None
    if effect.kind is EffectKind.WRITE:
        return _refused_write(text)
    kind = kind_of(call.name or "")
    if kind is ToolKind.READS or (kind is ToolKind.UNKNOWN and has_known_effect(call)):
        return None
    return _refused_change(call, text) or _part_that_failed(text)


def _refused_change(call: ToolCall, text: str) -> str | None:
    """The short answer of a tool that changes something if its first sentence refuses: "the device is offline".

    A word for what was done, such as the tool's own verb ("Invitation cancelled"), says that it was, unless one just
    before it refuses ("cannot be cancelled"). What the call itself passed says nothing, and a state that was reached
    is no refusal ("the account is no longer locked"). An answer that is not English refuses if it denies.
    """
    told = text.strip()
    if told[:1] in ("{", "["):
        return None
    for _, value in leaves(call.arguments):
        if isinstance(value, str) and " " in value.strip():
            told = told.replace(value.strip(), "")
    sentence = _FIRST_SENTENCE.split(told, 1)[0].casefold()
    words = sentence.split()
    marked = _MARKED.search(text)
    if marked is not None and len(text) <= _SHORT:
        return marked[0].strip()
    is_english = _ENGLISH.search(sentence) is not None
    if not words or len(told.split()) > (_MAX_REFUSAL_WORDS if is_english else _MAX_DENIAL_WORDS):
        return None
    if len(words) == 1 and _ERROR_CODE.fullmatch(words[0]) is not None:
        return text.strip()
    verb = bare_name(call.name or "").partition("_")[0].removesuffix("y")[:_VERB_CHARS]
    done = next((at for at, word in enumerate(words) if word.startswith(verb) or _DONE.match(word)), None)
    before = " ".join(words if done is None else words[max(done - _WORDS_BEFORE, 0) : done + 1])
    if is_english or len(words) > _MAX_DENIAL_WORDS:
        refuses = _REFUSES.search(before) is not None and _STATE_REACHED.search(sentence) is None
    else:
        refuses = done is None and denies_plainly(sentence)
    return text.strip() if refuses else None


_MARKED = lazy_pattern(r"^\s*[\u26a0\u274c\u2717\u2718\u26d4]\ufe0f? ?\S.*", re.MULTILINE)  # ⚠ Choose a deputy.
_MAX_REFUSAL_WORDS, _MAX_DENIAL_WORDS, _VERB_CHARS, _WORDS_BEFORE = 20, 12, 4, 4
_FIRST_SENTENCE = lazy_pattern(r"(?<=[.!?])\s|\n|[\u3002\uff01]")
_ENGLISH = lazy_pattern(
    r"\b(?:the|is|are|was|not|no|be|to|of|your|you|a|an|in|by|this|does|failed|with|already|found)\b"
)
_DONE = lazy_pattern(
    r"(?:sent|created|added|saved|updated|deleted|removed|booked|reserved|posted|scheduled|completed|done|ok|"
    r"success\w*|submitted|applied|assigned|confirmed|registered|recorded|logged|queued|accepted)\W*$"
)
_STATE_REACHED = lazy_pattern(r"\b(?:no longer|any ?more|now|until|needed|without)\b")
# A code in place of words, as Slack writes them: `channel_not_found`, `not_in_channel`.
_ERROR_CODE = lazy_pattern(r"(?:\w+_)?(?:not|no|invalid|missing)_\w+|\w+_(?:denied|failed|error|expired|exceeded)")
_REFUSES = lazy_pattern(
    r"^error\b|\b(?:cannot|can(?: not|['\u2019]t)|could(?: not|n['\u2019]t)|unable|"
    r"(?:not|n['\u2019]t) (?:be |been |currently )?(?:allowed|permitted|possible|eligible|available|found|"
    r"authori[sz]ed|mergeable|supported|have|exist|include|connected|delivered|reachable)|"
    r"no permission|no [\w ]{1,30} (?:left|available|free)|fail(?:ed|s|ure)|forbidden|declined|denied|refused|invalid|"
    r"must (?:be|have)|(?:is|are) required|unavailable|offline|insufficient|expired|suspended|"
    r"already (?:exists?|booked|taken|shipped|in use)|conflict|(?:is|are|was) locked by|exceed(?:ed|s)|out of stock|"
    r"too (?:large|long|many|short)|upgrade (?:to|your)|no [\w \"'-]{1,40} (?:found|exists?|matches)|not (?:be )?"
    r"(?:connected|created|sent|saved|updated|added|deleted|removed|booked|scheduled|submitted|applied))\b"
)


def _part_that_failed(text: str) -> str | None:
    """The short answer of a tool that did only some of what it was to do: "Uploaded 2 of 3 files. c: quota exceeded"."""
    told = text.strip()
    if len(told) > _SHORT or told[:1] in ("{", "["):
        return None
    is_part = any(int(done) < int(total) for done, total in _OF_TOTAL.findall(told))
    return told if is_part and _SOME_FAILED.search(told) is not None else None


_OF_TOTAL = lazy_pattern(r"\b(\d{1,9}) (?:out )?of (?:the )?(\d{1,9})\b")
_SOME_FAILED = lazy_pattern(
    r"\b(?:fail\w*|error\w*|exceed\w*|could not|rejected|bounced|invalid|skipped|denied)\b", re.IGNORECASE
)


def _refused_write(text: str) -> str | None:
    """The first line of an editor's short answer if it denies: an editor that did its work says so."""
    line = first_line(text)
    is_short = len(text) <= 2 * _SHORT and len(line) <= _SHORT
    return line if is_short and (denies(next(iter(line.split(". ")), "")) or _NOT_EDITED.search(text)) else None


# How editors of coding agents refuse: the text is not there, or not once, or the file is another than the agent read.
_NOT_EDITED = lazy_pattern(
    r"replace_all is false|modified since (?:it was )?(?:last )?read|has not been read|already exists|exactly the same|"
    r"\b(?:found|appears?|occurs?|matche[sd]) (?:multiple|more than|\d+) (?:times?|occurrences|matches|places)|"
    r"multiple (?:occurrences|matches)|not unique|(?:doesn't|does not|didn't|did not) match|"
    r"(?:was|were|been) reverted|(?:no|without) (?:changes?|replacements?|edits?) (?:to make|(?:was|were) made)|"
    r"out of (?:range|bounds)|within the range of lines",
    re.IGNORECASE,
)
