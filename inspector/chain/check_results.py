"""What checks print: whether they ran and found faults in the work, or could not run.

A test runner, a linter or a compiler that reports faults has done what was wanted; one whose own program, options or
input are wrong has not. The tables have the words of programs; the end of an output counts more than what is before it.
"""

import re
from collections import Counter

from weaklink.inspector.chain.effects import (
    DATABASE_CLIENTS,
    Effect,
    EffectKind,
    effects_of,
    main_effect,
    programs_of,
    runs_task,
)
from weaklink.inspector.chain.failure_words import HEAD, first_line, last_line
from weaklink.inspector.chain.reader_messages import COMMAND_TIMED_OUT
from weaklink.inspector.chain.shell_lines import elsewhere
from weaklink.inspector.chain.steps import ResultKind
from weaklink.inspector.chain.tool_kinds import ToolKind, kind_of
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.inspector.scanning import LinePattern, folded, folded_pattern, lazy_pattern

_TAIL = 6_000

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
    # ... or a module that a tool or a configuration needs, not the code.
    r"cannot find (?:package|module) ['\"](?![./])[^'\"\n]{1,80}['\"](?: imported from [\w@/-]{1,80}$|"
    r"(?: imported from |\nrequire stack:\n- )\S{0,200}(?:node_modules|\.config\.))|"
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
    r"^\S Build failed|^(?:Checked .{1,80}, )?[1-9]\d* (?:broken|vulnerabilities|violations|offenses|issues)\b|"
    r"\bFailed checks: [1-9]|\b[1-9]\d* (?:fehlgeschlagen|échoué\w*|fallid[oa]s?|falhou|falharam|fallit[oi]|mislukt|"
    r"nieudan\w+|selhal\w*|не пройден\w*|失败|失敗|실패)|^[ \t]{0,8}[\u2715\u2717\u2718\u274c] \S|^\[error\] \(|"
    r"\*\*\* FAILED \*\*\*",
    r"fail|FAIL|Failed|broken|vulnerabilities|violations|offenses|issues|fehlg|échou|falli|"
    r"falh|mislukt|nieudan|selhal|пройден|失[败敗]|실패|error|Error|ERROR|Exception|problem|[\u2715\u2717\u2718\u274c]|"
    r"\*\*\*|: [A-Z]+\d|would reformat|not ok",
)
_VULNERABILITIES = r"\b[1-9]\d* (?:\w+ ){0,2}vulnerabilit(?:y|ies)\b"
_FINDINGS_TABLE = {  # by program, or by program and subcommand
    **dict.fromkeys(("npm audit", "pnpm audit", "yarn audit", "pip-audit"), _VULNERABILITIES),
    **dict.fromkeys(("pyright", "basedpyright"), r"^[1-9]\d* errors?, "),
    **dict.fromkeys(("markdownlint", "markdownlint-cli2"), r"^\S+:\d+(?::\d+)? (?:error )?MD\d{3}/"),
    "brakeman": r"^Security Warnings: [1-9]",
    "bundle exec": r"^Security Warnings: [1-9]",
    "govulncheck": r"affected by [1-9]\d* vulnerabilit",
    "vale": r"\u2716 [1-9]\d* errors?,",
    "luacheck": r"^Total: [1-9]\d* (?:warnings?|errors?)",
    "swift format": r"^\S+:\d+:\d+: (?:warning|error): \[",
    "bandit": r"^>> Issue: \[",
    "bun test": r"^ *[1-9]\d* fail$",
    "check": r"^Status: [1-9]\d* (?:ERROR|WARNING)",  # R CMD check
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
    "terraform validate": r"^(?:\u2502 )?Error: ",
    "trivy": r"^Total: [1-9]\d* \(",
    "yamllint": r"^ {1,4}\d+:\d+ +error ",
}
# A test run that ran nothing: it says so, and often ends as one that passed.
_NOTHING_RAN = lazy_pattern(
    r"""
    ^(?:
        # Jest, Mocha, Go
        \W{0,4}no[ ]tests?[ ](?:files?[ ])?(?:were[ ])?(?:found|ran|collected)
        # pytest
        | \d+[ ]deselected[ ]in[ ]\d | =+[ ](?:\d+[ ]deselected|no[ ]tests[ ]ran)\b
    )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_FINDINGS_OF = {name: lazy_pattern(expression, re.MULTILINE) for name, expression in _FINDINGS_TABLE.items()}
_TEST_COUNTS = LinePattern(
    r"\b\d+ (?:passed|failed|errors?|passing|failing)\b|^Ran \d+ tests?|^--- (?:FAIL|PASS): |^test result: |^not ok \d",
    "pass(?:ed|ing)|fail(?:ed|ing)|error|Ran |--- |test result|not ok",
)


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


def reports_located_faults(effect: Effect, text: str) -> bool:
    """Whether a program that no table knows reports faults at lines of files, as a checker does."""
    if effect.kind is not EffectKind.RUN or effect.command is None or "Traceback (most recent" in text[:HEAD]:
        return False
    if effect.subject == "git commit" or effect.command.program in DATABASE_CLIENTS:
        return False  # a hook found faults, and nothing was committed; a line of data was not loaded
    if _TEST_SUMMARY.search(text[-_TAIL:]) is not None or _counts_faults(last_line(text)):
        return True
    if effect.command.program in _LINK_CHECKERS:  # what is out of reach is what they look for
        return _own_finding((effect,), text) is not None
    return _LOCATED.search(text[:HEAD]) is not None and _OWN_COMPLAINT.search(text[:HEAD]) is None


_LINK_CHECKERS = frozenset(("lychee", "linkchecker", "muffet"))


def measures_too_much(effect: Effect, text: str) -> bool:
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
    r"""
    ^(?:[\w.-]+[ ]{1,4}\|[ ]+)?(?:
        # pytest, Jest, unittest, Go, Cargo, Mocha
        (?:=+[ ]|Tests?:[ ]+)?[1-9]\d*[ ]failed,[ ]\d+[ ]passed\b | FAILED[ ]\S+::
        | FAILED[ ]\((?:failures|errors)= | ---[ ]FAIL:[ ] | test[ ]result:[ ]FAILED | [1-9]\d*[ ]failing$
        # Node's own runner, TAP
        | \W{0,3}pass(?:ed)?:?[ ]\d+\n\W{0,3}fail(?:ed)?:?[ ][1-9]
        # RSpec, Minitest
        | \d+[ ](?:examples?|tests?),[ ][1-9]\d*[ ]failures?\b
    )
    """,
    re.MULTILINE | re.VERBOSE,
)


def _counts_faults(line: str) -> bool:
    """Whether a line counts what was checked and what is wrong with it: `41 total, 40 ok, 1 error`.

    One count is the sum of the others, or there are at least four, or it names faults in a number of things.
    """
    counts = [int(number) for number in _COUNT.findall(line[:_MAX_TALLY_CHARS])]
    if _FAULTS_IN.search(line[:_MAX_TALLY_CHARS]) is not None:
        return True
    if len(counts) < _MIN_COUNTS or any(map(str.isalnum, _COUNT.sub("", line[:_MAX_TALLY_CHARS]))):
        return False
    total, others = max(counts), sum(counts) - max(counts)
    return len(counts) > _MIN_COUNTS or (total == others and total > 0)


_MAX_TALLY_CHARS, _MIN_COUNTS = 300, 3
_COUNT = lazy_pattern(r"(?<![\w.])(\d{1,9}) [^\W\d_][\w-]*")
_FAULTS_IN = lazy_pattern(
    r"""
    # "3 errors in 2 files"
    \b[1-9]\d*[ ](?:errors?|problems?|warnings?|issues?|failures?)[ ]in[ ]\d+[ ]\w+
    # "PASS=4 WARN=0 ERROR=1", as dbt counts
    | \bPASS(?:ED)?=\d+[ ].{0,200}\b(?:ERROR|FAIL(?:ED)?)=[1-9]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_OWN_COMPLAINT = lazy_pattern(r"^(?:node:|\s+at |Error: Cannot find module|panic:|Uncaught)", re.MULTILINE)


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


def kind_of_check(effect: Effect, text: str, exit_code: int | None, *, is_in_words: bool) -> ResultKind:
    """`FINDING` for a failed check that ran and reports faults in the work, `FAILURE` for one that could not run.

    `is_in_words` is true if only its words say that it failed.
    """
    if exit_code in (4, 5, 124, 126, 127, 137, 143) and not _TEST_COUNTS.search(text):
        return ResultKind.FAILURE
    head, tail = text[:HEAD], text[-_TAIL:]
    ends = dict.fromkeys((head, tail))  # a short text is both
    if any(_FINDINGS.search(end) or _own_finding((effect,), end) for end in ends):
        could_run = _TEST_COUNTS.search(tail) is not None or not _could_not_run(head[:400], tail)
        could_run = could_run and (_SOME_PASSED.search(tail) is not None or _MACHINE_LACKS.search(text) is None)
        return ResultKind.FINDING if could_run else ResultKind.FAILURE
    if exit_code == 2 and effect.subject == "lint" and _NAMES_LINE.search(text[:HEAD]) is None:
        return ResultKind.FAILURE  # linters end with 1 for what they found, with 2 for what they could not do
    if COMMAND_TIMED_OUT.match(first_line(text)) or COMMAND_TIMED_OUT.match(last_line(text)):
        return ResultKind.FAILURE
    if any(_could_not_run(end, text) or _NOTHING_RAN.search(end) for end in ends):
        return ResultKind.FAILURE
    reports = (_LOCATED.search(head), _TEST_COUNTS.search(tail), _DIFFERENCES.search(head), _NOT_VALID.search(head))
    ended = exit_code is not None or is_in_words
    ended = ended and _SIGNS_NOTHING.search(tail) is None
    return ResultKind.FINDING if ended or any(match is not None for match in reports) else ResultKind.FAILURE


# A service's `{"valid": false, "errors": [...]}`.
_NOT_VALID = lazy_pattern(r'"(?:is_?)?valid"\s*:\s*false\b', re.IGNORECASE)
# What tests need beside the project, without which each of them fails: a browser, a container.
_MACHINE_LACKS = lazy_pattern(
    r"""
    # Playwright
    Executable[ ]doesn't[ ]exist[ ]at[ ] | missing[ ]dependencies[ ]to[ ]run[ ]browsers
    # Testcontainers
    | Could[ ]not[ ]find[ ]a[ ]valid[ ]Docker[ ]environment
    | Could[ ]not[ ]find[ ]a[ ]working[ ]container[ ]runtime
    # Selenium and its drivers
    | session[ ]not[ ]created:[ ] | Missing[ ]X[ ]server[ ]or[ ]\$DISPLAY
    | unable[ ]to[ ]find[ ](?:Chrome|Firefox)[ ]binary | Cannot[ ]find[ ](?:Chrome|Firefox)[ ]binary
    | No[ ]binary[ ]for[ ]Chrome
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SOME_PASSED = lazy_pattern(r"\b[1-9]\d* (?:tests? )?pass(?:ed|ing)\b|^ *(?:ok \d|--- PASS)", re.MULTILINE)
_NAMES_LINE = lazy_pattern(r"[:(]\d+\b|\bline \d+", re.IGNORECASE)
# A build that got as far as its keys: what is wrong is beside the work.
_SIGNS_NOTHING = lazy_pattern(
    r"""
    # what signs, and that it does not
    \b(?:
        keystore | key[ ]?store | provisioning[ ]profile | code[ ]?sign\w* | signing
    )\b[^\n]{0,120}\b(?:incorrect|not|no|fail\w*|missing|invalid|expired|wrong|denied)\b
    | \bpassword[ ]was[ ]incorrect\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


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
    if is_known or ends_well(effect, result.content):
        return None
    for end in dict.fromkeys((result.content[-_TAIL:], result.content[:HEAD])):
        match = _FINDINGS.search(end) or _LOCATED_FAULT.search(end) or _own_finding(effects, end)
        if match is None and effect.command is not None and effect.command.program in ("diff", "cmp"):
            match = _DIFFERENCES.search(end)
        if match is None and effect.command is None:
            match = _FINDINGS_IN_JSON.search(end)
        match = match or _NOTHING_RAN.search(end)
        if match is not None and (
            _COUNTS.search(match[0]) or not _NOTHING_FAILED.search(end, match.start(), match.end() + 80)
        ):
            start = end.rfind("\n", 0, match.start()) + 1
            return end[start : match.end() + 200].partition("\n")[0].strip()[:400]
    return None


# What tools that check answer as JSON: an editor's diagnostics (Language Server Protocol), axe's violations, counts.
_FINDINGS_IN_JSON = lazy_pattern(
    r"""
    # a finding
    "severity"\s*:\s*"error" | "(?:violations|vulnerabilities|issues|problems|findings)"\s*:\s*\[\s*[{"]
    # a count of them
    | "(?:failed|failures|errors|numFailedTests|errorCount|violations|vulnerabilities)"\s*:\s*[1-9]
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _may_run_tests(effect: Effect) -> bool:
    """Whether a command runs something on another machine or in a container, or a script for tests."""
    command = effect.command
    if command is None:
        return False
    return bool(elsewhere(command)) or any(_FOR_TESTS.search(word) for word in (command.program, *command.words[:5]))


_FOR_TESTS = lazy_pattern(r"(?:^|[/_.:-])(?:tests?|specs?|checks?|verify|ci|e2e|smoke)", re.IGNORECASE)


def _own_finding(effects: tuple[Effect, ...], text: str) -> re.Match[str] | None:
    """What a check says in words that only it uses."""
    patterns = (_FINDINGS_OF[name] for name in programs_of(effects) if name in _FINDINGS_OF)
    return next(filter(None, (pattern.search(text) for pattern in patterns)), None)


_DIFFERENCES = lazy_pattern(r"^\d+(?:,\d+)?[acd]\d+|^@@ |^\S+ \S+ differ: ", re.MULTILINE)


_NOTHING_FAILED = lazy_pattern(r"\b(?:0|no) (?:failed|failures?|errors?|remaining)\b(?!=)", re.IGNORECASE)
_COUNTS = lazy_pattern(r"\b[1-9]\d* (?:tests? )?fail\w*$", re.IGNORECASE)


def ends_well(effect: Effect | None, text: str) -> bool:
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
