"""The effect that a call is to have: what it runs, reads, checks or changes, and on which targets.

What became of a failed call is a question about effects, not about tools: a write to a file is recovered by another
write to it, whichever tool does it, and never by a view. So each call is read as effects:

    Edit {"file_path": "src/a.py", ...}          write   a.py
    cd src && sed -i s/a/b/ a.py && pytest -q    write   a.py; check `test`
    git add -A && git commit -m x                run     `git add`; run `git commit`
    ls specs || echo none                        probe   specs

The tables below say which program and which tool has which effect. A program that is in none of them runs (`run`):
its effect is that of the same program. Of a line of several programs, `main_effect` is the one that the others lead
to: the last that changes, checks or runs something, else the last that looks. What follows `|` only filters, what
follows `||` only speaks of the failure.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Any

from msgspec import Struct, structs

from weaklink.inspector.chain.shell_lines import ShellCommand, elsewhere, shell_commands, without_options
from weaklink.inspector.chain.tool_kinds import ToolKind, bare_name, is_interpreter, is_shell, kind_of
from weaklink.inspector.json_text import word_of
from weaklink.inspector.memoized import of_latest
from weaklink.inspector.model import Json, ToolCall
from weaklink.inspector.scanning import lazy_pattern


class EffectKind(StrEnum):
    """What a call does to the world, at most."""

    NOTHING = "nothing"  # moves, speaks or sets something for the commands after it
    PROBE = "probe"  # asks; a negative answer is an answer
    READ = "read"
    CHECK = "check"  # runs over the work and reports its faults: tests, linters, compilers
    WRITE = "write"  # changes files
    RUN = "run"  # anything else


class Effect(Struct, frozen=True):
    """One effect.

    `subject` is its program with its subcommand (`git commit`), its family if it is a check (`test`), or its tool;
    `targets` are what it acts on, in lower case: paths and URLs, else words.
    """

    kind: EffectKind
    subject: str
    targets: tuple[str, ...] = ()
    command: ShellCommand | None = None
    connector: str = ""

    @property
    def in_words(self) -> str:
        """The effect for a sentence: `git commit`, `the test check`, `a write to a.py`."""
        aim = self.targets[0] if self.targets else ""
        match self.kind:
            case EffectKind.CHECK:
                return f"a check ({self.subject})"
            case EffectKind.WRITE:
                return f"a write to {aim}" if aim else "a write"
            case EffectKind.READ | EffectKind.PROBE:
                return f"a read of {aim}" if aim else "a read"
            case EffectKind.NOTHING | EffectKind.RUN:
                return self.subject


def _words(**tables: str) -> Mapping[str, str]:
    return MappingProxyType({word: name for name, table in tables.items() for word in table.split()})


_PROGRAMS = _words(
    nothing=(
        "cd echo printf export source . set unset true : sleep wait pushd popd alias ulimit umask trap exit clear "
        "date pwd whoami uname env history shopt declare local return break continue for case hostname arch"
    ),
    # POSIX: a status of 1 of these means "no", "not found" or "different".
    probe=(
        "test [ [[ ls dir stat which type command whereis hash grep egrep fgrep zgrep rg ag ack find fd locate diff "
        "cmp colordiff expr printenv pg_isready ping nslookup dig host mountpoint pgrep pidof ps fuser lsof "
        "ss netstat nc kill killall pkill getent id groups readlink "
        "realpath man apropos search_file search_dir find_file pip-show dpkg-query file false tree "
        "where Test-Path Get-Command "
        "nvidia-smi rocm-smi vainfo clinfo lspci lsusb lscpu lsblk lsmod kpsewhich fc-match fc-list pkg-config"
    ),
    read=(
        "cat head tail less more bat batcat tac nl strings zcat xxd od hexdump wc sort uniq cut awk gawk sed tr column "
        "du df md5sum sha256sum sha1sum jq yq journalctl curl wget http open goto scroll_up scroll_down base64 "
        "basename dirname seq xmllint free top nproc Get-Content pdfinfo ffprobe exiftool mediainfo identify"
    ),
    write=(
        "rm mv cp mkdir rmdir touch ln chmod chown tee patch truncate install rsync tar unzip zip gzip dd edit create "
        "insert apply_patch str_replace ed ex Set-Content"
    ),
)

_CHECKERS = _words(
    test=(
        "pytest py.test unittest tox nox nose2 nosetests jest vitest mocha ava karma tap jasmine rspec "
        "minitest phpunit "
        "pest ctest behave cucumber cypress bats busted doctest testem deno-test gotestsum runtests "
        "run_tests hypothesis prove"
    ),
    lint=(
        "ruff flake8 pylint black isort pycodestyle pydocstyle autopep8 bandit vulture lint-imports pre-commit eslint "
        "prettier biome stylelint standard xo oxlint shellcheck shfmt hadolint golangci-lint gofmt rubocop yamllint "
        "markdownlint actionlint checkstyle ktlint swiftlint clang-tidy clang-format jsonlint codespell sqlfluff "
        "pip-audit safety trivy grype osv-scanner semgrep gitleaks trufflehog detect-secrets "
        "pyflakes phpcs phpstan credo knip dprint size-limit bundlesize bundlewatch "
        "kubeconform kubeval kube-linter kube-score checkov tflint tfsec conftest ansible-lint cfn-lint commitlint "
        "redocly spectral vacuum vale textlint proselint write-good alex cspell typos misspell htmlhint html-validate "
        "pa11y depcheck ajv luacheck selene cppcheck cpplint scalafix hlint ameba psalm phpmd deptrac "
        "php-cs-fixer brakeman reek bundler-audit erb_lint staticcheck gosec govulncheck revive zizmor solhint slither "
        "protolint deptry interrogate yamale check-jsonschema polaris terrascan epubcheck "
        "rpmlint lintian desktop-file-validate svlint vsg dotenv-linter djlint curlylint"
    ),
    types="tsc mypy pyright basedpyright pyre pytype flow vue-tsc svelte-check ty sorbet",
    build=(
        "gcc g++ cc c++ clang clang++ javac rustc kotlinc scalac ghc ninja cmake msbuild xcodebuild webpack rollup "
        "esbuild swc nim zig py_compile compileall protoc latexmk pdflatex sphinx-build mkdocs ld nvcc"
    ),
)
# Programs that run a named task of a project: what a task checks shows in its name.
_TASK_RUNNERS_TABLE = (
    "npm yarn pnpm bun make gmake just task rake gradle gradlew mvn mvnw dotnet bazel cargo go swift mix stack "
    "cabal sbt deno turbo nx lerna composer invoke inv hatch rye flutter dart zig lein ant buck pants manage.py "
    "ng expo playwright vite next nuxt tauri wrangler truffle hardhat forge foundry helm terraform mise moon dune lake "
    "meson dbt"
)
_TASK_RUNNERS = frozenset(_TASK_RUNNERS_TABLE.split())
_TASK_WORDS = _words(
    test="test tests tst spec specs e2e unit integration check checks ci precommit qa verify validate coverage t",
    lint="lint lints vet clippy eslint style format fmt prettier stylecheck analyze analyse",
    types="types type typecheck tsc mypy typing",
    build="build compile assemble package dist bundle typings kaniko all",
)
_NO_TASKS_TABLE = (
    "install i ci-install add remove uninstall update upgrade publish init create start dev serve run get mod "
    "tidy list ls view info audit fund cache config link login logout whoami version clean deploy apply plan env "
    "new doc exec dlx x"
)
_NO_TASKS = frozenset(_NO_TASKS_TABLE.split())
_NO_TASK_NAMES = frozenset(("run", "run-script", "-s", "workspace", "--"))
_DEFAULT_IS_BUILD = frozenset(("make", "gmake", "ninja", "bazel", "gradle", "ant", "ng"))
_CHECKING_SCRIPT = lazy_pattern(
    r"""
    (?:^|[/_.-])(?:
        # English
        tests? | specs? | checks? | lint | verify | validate | repro\w* | smoke | e2e | run_?tests
        # other languages
        | tjek | tjekk | sjekk | kontroll? | kontrola | (?:über)?prüfen | prüfung | pruef(?:en|ung)? | vérif\w*
        | verif(?:ica|ier|icar) | valid(?:a|ar|er|iere?n?) | comprueba | comprobar | controleer | sprawdz
        | proveri | provjeri | preveri | tarkista | ellenor\w* | dogrula | periksa
    )(?:\d|[_.-]|$)
    | (?<=[a-z])(?:Test|Spec)s?\.\w+$
    """,
    re.VERBOSE,
)
# Subcommands by which any program checks the work: `systemd-analyze verify`, `promtool check`.
_CHECKING_VERBS = frozenset(("verify", "validate", "lint", "check", "vet", "configtest"))
_DATABASE_TABLE = "sqlite psql mysql mariadb duckdb clickhouse-client mongoimport sqlcmd"
DATABASE_CLIENTS = frozenset(_DATABASE_TABLE.split())
_SYNTAX_CHECKS = {
    "haproxy": "-c",
    "node": "--check",
    "bash": "-n",
    "sh": "-n",
    "php": "-l",
    "ruby": "-c",
    "perl": "-c",
    "visudo": "-c",
}
# What serves tests its configuration by such an option: `nginx -t`, `php-fpm8.3 -t`, `dnsmasq --test`.
_SERVER = lazy_pattern(r"[\w-]{2,}d|nginx|apache2?(?:ctl)?|apachectl|php-?fpm[\d.]*|dnsmasq")
_TESTS_CONFIGURATION = frozenset(("-t", "-T", "-tt", "--test"))
_SUMS = frozenset(("sha256sum", "sha1sum", "sha512sum", "md5sum", "b2sum", "cksum", "shasum"))
_VALIDATES = frozenset(("--noout", "--valid", "--schema", "--relaxng", "--schematron", "--dtdvalid"))  # of xmllint
_CODE_RUNNERS_TABLE = "python node ruby perl php bash sh zsh deno bun tsx ts-node java go julia Rscript lua"
_CODE_RUNNERS = frozenset(_CODE_RUNNERS_TABLE.split())

# Subcommands, by their program. What is in none is `run`.
_SUBCOMMANDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "git": _words(
            probe="rev-parse show-ref check-ignore ls-files merge-base cat-file ls-remote grep config describe",
            read="log show status diff blame branch tag remote reflog shortlog stash-list",
        ),
        "docker": _words(probe="inspect ps images version info top port", read="logs"),
        "kubectl": _words(probe="get describe version", read="logs"),
        "pip": _words(probe="show list check freeze index download-info", read=""),
        "gh": _words(probe="status", read="api"),
        "systemctl": _words(probe="status is-active is-enabled show list-units"),
        "npm": _words(probe="ls list view info outdated audit why explain whoami root prefix"),
        "conda": _words(probe="list info search env"),
        "brew": _words(probe="list info search"),
        "gem": _words(probe="list search info"),
        "crontab": _words(probe="-l"),
        "service": _words(probe="status"),
        "helm": _words(probe="list status get"),
        "aws": _words(probe="help"),
        "redis-cli": _words(probe="ping exists EXISTS get GET"),
        "apt": _words(probe="list show search"),
        "apt-cache": _words(probe="policy show search"),
        "dpkg": _words(probe="-s -l -L --status --list"),
        "rpm": _words(probe="-q -qa -qi"),
        "cargo": _words(probe="search tree metadata"),
        "go": _words(probe="version env list"),
        "tmux": _words(probe="has-session ls list-sessions", read="capture-pane"),
    }
)
# Subcommands by which any command-line program of a service only looks: `gcloud run services describe`.
_LOOKING_VERB = lazy_pattern(r"(?:list|ls|describe|show|status|info|logs|whoami)(?:-|$)|(?:head|get)-")
_STATES = frozenset(("status", "whoami", "can-i"))
_OBJECTS_OF_DOCKER = frozenset(("network", "volume", "image", "container", "context", "node", "service", "secret"))
_LISTING_OPTIONS = frozenset(("-l", "--list", "--show-current", "-v", "-vv", "--get", "--dry-run"))
PROBE_OPTIONS = frozenset(("--version", "-V", "-version", "--help", "-h"))
_GIVE_UP = frozenset(("--abort", "--quit"))  # `git merge --abort` takes back what was begun
_SCRIPTED = frozenset(("sed", "gsed", "awk", "gawk", "perl", "edit", "insert", "jq"))
_BLOCK_EDIT = lazy_pattern(r"\s*(?:edit|insert)\b[^\n]*\n[\s\S]*end_of_edit")
_GH_LOOKS = frozenset(("view", "list", "status", "diff", "checks", "search"))
_GH_FIELDS = frozenset(("-f", "--field", "--raw-field", "--input"))  # with these `gh api` sends a POST
_IN_PLACE = frozenset(("sed", "perl", "gsed"))
_COMPOSE_VALUES = ("-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory")
_OPTIONS_WITH_VALUE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "git": frozenset({"-C", "-c", "--git-dir", "--work-tree"}),
        "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s"}),
        "helm": frozenset({"-n", "--namespace", "--kube-context", "--kubeconfig"}),
        "docker": frozenset({"-H", "--host", "-c", "--context", "--config", "-l"}),
        "gh": frozenset({"-R", "--repo"}),
        "npm": frozenset({"--prefix", "-w", "--workspace"}),
        "pnpm": frozenset({"-C", "--dir", "--filter", "-F"}),
        "yarn": frozenset({"--cwd"}),
        "aws": frozenset({"--profile", "--region", "--endpoint-url", "--output"}),
        "gcloud": frozenset({"--project", "--account", "--configuration"}),
        "systemctl": frozenset({"-H", "-M", "-t", "-p"}),
        "conda": frozenset({"-n", "-p"}),
        "make": frozenset({"-C", "-f", "-j"}),
    }
)
"""Options before the subcommand of a program that take the next word as their value."""
# Subcommands of package managers whose aim is the same: that a package is there.
_INSTALLERS_TABLE = (
    "npm pnpm yarn bun pip pip3 pipx uv poetry conda mamba brew gem cargo apt apt-get dnf yum apk pacman zypper snap "
    "choco winget"
)
_INSTALLERS = frozenset(_INSTALLERS_TABLE.split())
_INSTALLS = frozenset({"install", "i", "add", "update", "upgrade", "ci"})

_TOOLS = _words(
    write=(
        "edit multi_edit multiedit write notebook_edit write_file edit_file create_file replace replace_in_file "
        "write_to_file str_replace insert insert_content apply_patch apply_diff search_replace search_and_replace "
        "insert_edit_into_file replace_string_in_file multi_replace_string_in_file file_change patch "
        "edit_notebook_file delete_file update_file file_write save_file append_to_file edit_block create "
        "str_replace_editor str_replace_based_edit_tool text_editor file_editor edit_existing_file "
        "create_new_file single_find_and_replace multi_edit_file strreplace move_file rename_file"
    ),
    read=(
        "read read_file view view_file open_file notebook_read read_many_files cat_file get_file_contents read_files "
        "read_text_file web_fetch webfetch fetch fetch_webpage browser_navigate web_search websearch google_web_search "
        "read_media_file get_logs read_logs task_output bash_output read_mcp_resource open"
    ),
    probe=(
        "glob grep ls list_directory list_dir list_files search_files find_files file_search codebase_search "
        "grep_search search_file_content directory_tree find search_code file_glob_search get_file_info "
        "list_code_definition_names semantic_search tool_search"
    ),
    check=(
        "run_tests run_test test lint check typecheck build compile get_diagnostics diagnostics get_errors "
        "run_linter run_checks execute_tests test_failure read_lints problems read_console"
    ),
    nothing=(
        "todo_write todowrite update_plan task_tracker think write_todos set_plan update_todo_list save_memory "
        "update_memory create_memory store_memory add_memory remember memory"
    ),
)
_EDITORS = frozenset(("str_replace_editor", "str_replace_based_edit_tool", "file_editor"))  # SWE-agent's, in a shell
_VIEW_COMMANDS = frozenset(("view", "read", "list", "cat"))
_PATH_KEYS = (
    *("file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path", "filename", "file", "filepath"),
    *("url", "uri", "target", "paths", "files", "pattern", "query", "destination", "source", "task_id"),
)
_PATCHED = lazy_pattern(
    r"^\*\*\* (?:Update|Add|Delete) File: (.{1,400})$|^\+\+\+ (?:b/)?(.{1,400}?)(?:\t.*)?$", re.MULTILINE
)
_SCRIPT = lazy_pattern(r"[\w.-]+\.(?:sh|bash|py|js|mjs|cjs|ts|tsx|rb|pl|php|lua|R|jl|ps1)")
_PATH_LIKE = lazy_pattern(r"[\w.~@+\-$*{}]*/[\w.~@+\-/*$:{}\[\]]*|[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]\w{0,7}(?:::\S*)?")
_MAX_TARGETS, _MAX_TARGET_CHARS = 12, 300


@of_latest
def effects_of(call: ToolCall) -> tuple[Effect, ...]:
    """The effects of a call, in order; one for each program of a shell's line. Never empty for a call with a name."""
    if call.name is None:
        return ()
    tool = bare_name(call.name)
    arguments: Mapping[str, Json] = call.arguments if isinstance(call.arguments, dict) else {}
    line = (is_shell(tool, dict(arguments)) or _line_of_program(tool, arguments)) if arguments else None
    if line is not None:
        return effects_of_line(line) or (Effect(EffectKind.NOTHING, tool),)
    return (_effect_of_tool(tool, arguments, call),)


def _line_of_program(tool: str, arguments: Mapping[str, Json]) -> str | None:
    """The line of a tool that is a program and takes its words: `cargo {"args": ["test"]}`; None for another."""
    words = arguments.get("args")
    if not isinstance(words, list) or not (is_common(tool) or tool in _INSTALLERS):
        return None
    return shlex.join((tool, *(word for word in islice(words, 200) if isinstance(word, str))))


def main_effect(effects: tuple[Effect, ...]) -> Effect | None:
    """The effect that the others lead to; None if there is none."""
    if len(effects) < 2:
        return effects[0] if effects else None
    return _strongest(effects)


@of_latest
def _strongest(effects: tuple[Effect, ...]) -> Effect:
    return max(enumerate(effects), key=lambda pair: (_rank(pair[1]), pair[0]))[1]


def folder_of(call: ToolCall) -> str | None:
    """The folder in which the main program of a shell's line works, as far as the call names it; else None.

    It is the one of the program's own option, else of the `cd`s before it, else of the tool's argument.
    """
    effects = effects_of(call)
    main = main_effect(effects)
    if main is None or main.command is None or not isinstance(call.arguments, dict):
        return None
    options = _FOLDER_OPTIONS.get(main.command.program, ())
    words = " ".join(main.command.words).replace("=", " ").split(" ")  # `-chdir=infra/eu`
    named = [value for option, value in pairwise(words) if option in options]
    before = (effect.command for effect in effects[: effects.index(main)])
    entered = [command.operands[0] for command in before if command and command.program == "cd" and command.operands]
    argument = next((call.arguments[key] for key in _FOLDER_KEYS if key in call.arguments), None)
    inside = next((index for index in range(len(entered), 0, -1) if entered[index - 1][0] in "/~$"), 1) - 1
    folder = named[0] if named else "/".join(entered[inside:]) or argument
    return folder if isinstance(folder, str) and _FOLDER.fullmatch(folder) is not None else None


_FOLDER_OPTIONS = {
    "git": ("-C",),
    "make": ("-C", "--directory"),
    "npm": ("--prefix", "-C"),
    "pnpm": ("--dir", "-C"),
    "yarn": ("--cwd",),
    "terraform": ("-chdir",),
}
_FOLDER_KEYS = ("workdir", "cwd", "dir_path", "directory", "working_directory")
_FOLDER = lazy_pattern(r"(?=.*[^./~-])[^$`*\s]+")  # no variable, which may be any


def aim_of(call: ToolCall) -> Effect | None:
    """The main effect of a call; of a line on another machine or in a container, that of what runs there."""
    effect = main_effect(effects_of(call))
    line = elsewhere(effect.command) if effect is not None and effect.command is not None else None
    inner = main_effect(effects_of_line(line)) if line else None
    return effect if inner is None or inner.kind is EffectKind.NOTHING else inner


_SETS_ASIDE = frozenset(("git stash",))  # what is run before the work comes back is what the line is for
_RANKS = {EffectKind.NOTHING: 0, EffectKind.PROBE: 2, EffectKind.READ: 2}


def _rank(effect: Effect) -> int:
    rank = _RANKS.get(effect.kind, 3)
    if effect.subject in _SETS_ASIDE:
        return 1
    if effect.connector == "|" and effect.subject == "tee":
        return 2  # it shows what the program before it wrote, if that is one
    if effect.connector == "||" or (effect.connector == "|" and rank < 3):
        return min(rank, 1)
    return rank


@lru_cache(1_024)  # a call's effects are read for its result, its recovery and what the agent said of it
def effects_of_line(line: str) -> tuple[Effect, ...]:
    """The effects of a shell's line, in order."""
    if _BLOCK_EDIT.match(line):  # SWE-agent's: the lines below the first are the new text
        line = line.partition("\n")[0]
    effects: list[Effect] = []
    for command in shell_commands(line):
        effect = _effect_of_command(command, line)
        effects.append(_comparison(effect, effects) or effect)
    return tuple(effects)


def _comparison(effect: Effect, before: Sequence[Effect]) -> Effect | None:
    """A comparison with what should be, or of what the same line has written: a check of the work."""
    if effect.command is None or effect.command.program not in ("diff", "cmp"):
        return None
    written = {target for other in before if other.command is not None for target in _normal(other.command.writes)}
    if written.isdisjoint(effect.targets) and not any(map(_AS_IT_SHOULD_BE.search, effect.targets)):
        return None
    return structs.replace(effect, kind=EffectKind.CHECK, subject="test")


_AS_IT_SHOULD_BE = lazy_pattern(
    r"(?:^|[/_.-])(?:expect\w*|golden|gold|want\w*|reference|baseline|snapshot|soll)(?:[/_.-]|$)"
)


def _effect_of_command(command: ShellCommand, line: str) -> Effect:
    kind, subject = _kind_of_command(command)
    redirected = kind in (EffectKind.NOTHING, EffectKind.READ) or command.program == ">"
    targets = tuple(command.writes) if redirected else ()
    if targets and subject in ("echo", "printf", "cat", ">", "base64", "jq", "sed", "awk", "curl"):
        kind = EffectKind.WRITE
    elif command.program == "apply_patch":
        targets = _patched(line)
    if not targets:
        targets = _targets(command, subject)
    return Effect(kind, subject, _normal(targets), command, command.connector)


def _kind_of_command(command: ShellCommand) -> tuple[EffectKind, str]:
    program, words = command.program, command.words
    if (inner := elsewhere(command)) is not None and (look := _look_of(inner)) is not None:
        return look, program
    if words and words[0] in PROBE_OPTIONS and len(words) <= 2:
        return EffectKind.PROBE, program
    if program in _EDITORS:
        return (EffectKind.READ if words[:1] == ("view",) else EffectKind.WRITE), program
    if not _GIVE_UP.isdisjoint(words):
        return EffectKind.NOTHING, program
    checked = _family(command)
    if checked:
        return EffectKind.CHECK, checked
    if (script := _script(command)) is not None:
        return EffectKind.RUN, script
    kind = _kind_of_program(command)
    return (kind, program) if kind is not None else _kind_of_subcommand(command)


def _look_of(line: str) -> EffectKind | None:
    """Whether a line that runs on another machine or in a container asks or reads there; None if it does more."""
    kinds = {effect.kind for effect in effects_of_line(line)} - {EffectKind.NOTHING}
    if kinds == {EffectKind.READ}:
        return EffectKind.READ
    return EffectKind.PROBE if kinds and kinds <= {EffectKind.PROBE, EffectKind.READ} else None


def _kind_of_program(command: ShellCommand) -> EffectKind | None:
    """The kind of a program whose subcommand does not matter; None for another."""
    program, words = command.program, command.words
    if program == ">" or (program in _IN_PLACE and any(word.startswith(("-i", "-pi")) for word in words)):
        return EffectKind.WRITE
    if program == "curl" and asks_for_status(words):
        return EffectKind.PROBE
    if program in ("curl", "wget", "http") and _sends(words):
        return EffectKind.RUN
    if program == "wget" and not _PRINTS.search(" ".join(words)):
        return EffectKind.RUN  # it saves what it gets
    if program in ("find", "fd") and "-delete" in words:
        return EffectKind.WRITE
    if command.is_module and program not in _SUBCOMMANDS:
        return EffectKind.RUN
    if any(word.startswith(_ASKING_OPTIONS) for word in words):
        return EffectKind.PROBE
    kind = _PROGRAMS.get(program) or _VERBS_OF_POWERSHELL.get(program.partition("-")[0])
    return None if kind is None else EffectKind(kind)


_ASKING_OPTIONS = ("--is-", "--has-")  # `qpdf --is-encrypted`, `git rev-parse --is-inside-work-tree`
# Of the approved verbs of PowerShell (Microsoft's documentation) those that only look.
_VERBS_OF_POWERSHELL = _words(probe="Test Find", read="Get Select Measure Compare Show Resolve")


def _kind_of_subcommand(command: ShellCommand) -> tuple[EffectKind, str]:
    program, words = command.program, command.words
    if program == "git" and words[:1] == ("diff",) and not {"--exit-code", "--quiet"}.isdisjoint(words):
        return EffectKind.PROBE, "git diff"
    verb = _verb(command)
    if "-noout" in words or (verb in _OBJECTS_OF_DOCKER and command.operands[1:2] in (("inspect",), ("ls",))):
        return EffectKind.PROBE, f"{program} {verb}"
    if verb == "rollout":
        return EffectKind.RUN, f"{program} {verb}"  # `rollout status` waits until it is through
    if not _STATES.isdisjoint(command.operands[1:3]) and program not in _TASK_RUNNERS:
        return EffectKind.PROBE, f"{program} {verb}"  # `gh auth status`
    if program == "gh" and not _GH_LOOKS.isdisjoint(command.operands[1:2]):
        return EffectKind.READ, f"gh {verb}"
    kind = _SUBCOMMANDS.get(program, {}).get(verb)
    if program == "gh" and verb == "api" and (_sends(words) or not _GH_FIELDS.isdisjoint(words)):
        kind = None
    if program == "git" and kind == "read" and verb in ("branch", "tag", "remote"):
        is_listed = len(command.operands) < 2 or not _LISTING_OPTIONS.isdisjoint(words)
        kind = kind if is_listed else None
    if kind is None and any(_LOOKING_VERB.match(word) is not None for word in command.operands[:4]):
        kind = "read" if program not in _INSTALLERS and program not in _TASK_RUNNERS else None
    if verb in _INSTALLS and program in _INSTALLERS:
        verb = "install"
    has_verb = program in _SUBCOMMANDS or program in _TASK_RUNNERS or program in _INSTALLERS
    subject = f"{program} {verb}" if verb and has_verb else program
    return (EffectKind(kind) if kind else EffectKind.RUN), subject


_PRINTS = lazy_pattern(r"--spider|(?:^| )-\w*O ?-(?: |$)|--output-document=?-|/dev/null")


def asks_for_status(words: tuple[str, ...]) -> bool:
    """Whether `curl` prints only the status of an answer: `curl -o /dev/null -w '%{http_code}' URL`."""
    is_status = any("%{http_code}" in word or "%{response_code}" in word for word in words)
    return is_status and not _NOWHERE.isdisjoint(words)


_NOWHERE = frozenset(("/dev/null", "-o/dev/null", "-so/dev/null"))


def _sends(words: tuple[str, ...]) -> bool:
    sends = ("-d", "--data", "-F", "--form", "-T", "-o", "-O", "--output", "--json", "--data-raw")
    posts = any(word in ("-X", "--request") and following != "GET" for word, following in pairwise(words))
    return posts or any(
        (word.startswith(sends) and word != "-o/dev/null") or _SENDS_BESIDE.match(word) is not None for word in words
    )


_SENDS_BESIDE = lazy_pattern(r"-[fsSLkvin]+[dFT]")  # `curl -fsST file URL`


def _script(command: ShellCommand) -> str | None:
    """The name of the script that an interpreter runs: `bash deploy.sh` runs the same as `./deploy.sh`."""
    if command.program not in _CODE_RUNNERS or command.program in _TASK_RUNNERS or inline_code(command.words):
        return None
    script = next(iter(command.operands), "")
    name, tasks = script.rsplit("/", 1)[-1], command.operands[1:2]
    if name in _CONSOLES and tasks:
        return f"{name} {tasks[0]}"
    return script.rsplit("/", 1)[-1] if _PATH_LIKE.fullmatch(script) and not script.startswith("$") else None


# Scripts of frameworks whose first word is the task: Laravel, Symfony, Django, Rails, Nextcloud, Craft.
_CONSOLES = frozenset(("artisan", "console", "manage.py", "rails", "occ", "craft"))


def runs_task(program: str) -> bool:
    """Whether a program runs named tasks of a project: `make`, `npm`."""
    return program in _TASK_RUNNERS


def inline_code(words: tuple[str, ...]) -> str | None:
    """The code that a command passes to an interpreter in its words; None if it passes none."""
    return next((code for option, code in pairwise(words) if option in ("-c", "-e", "-p")), None)


def _family(command: ShellCommand) -> str:
    """The family of a check (`test`, `lint`, `types`, `build`), `""` for another program."""
    program, words = command.program, command.words
    known = "test" if program == "test" and _OWN_TEST.fullmatch(command.own_name) else _CHECKERS.get(program)
    known = known or _family_by_options(program, words)
    if known is not None:
        return known
    if program in _TASK_RUNNERS or program in _CODE_RUNNERS:
        return _family_of_task(command) if program in _TASK_RUNNERS else _family_of_script(command)
    if program in _PROGRAMS or program in _SUBCOMMANDS:
        return ""
    verb = _VERB_END.split(next(iter(command.operands), ""))[0]
    if verb in _CHECKING_VERBS:
        return _TASK_WORDS.get(verb, "test")
    if words[:1] == ("test",) and "." not in program:  # `bin/rails test`, not `./deploy.sh test`
        return "test"
    return "test" if _is_checking_script(program) else ""


def _family_by_options(program: str, words: tuple[str, ...]) -> str | None:
    """The family of a check that a program makes only with some of its options, or as code in its line."""
    if words[:2] == ("run", "watch") and program == "gh":
        return "test"
    if program == "cargo" and words[:1] in (("doc",), ("rustdoc",)):
        return "build"
    option = _SYNTAX_CHECKS.get(program)
    if option is not None and any(word.startswith(option) for word in words):
        return "build"
    tests = any(word in _TESTS_CONFIGURATION and after[:1] in ("", "-") for word, after in pairwise((*words, "")))
    if tests and program not in _PROGRAMS and _SERVER.fullmatch(program):
        return "build"
    if any(word.startswith("--check") for word in words) or words[:1] == ("audit",):
        return "lint"
    if (program in _SUMS and "-c" in words) or (program == "xmllint" and not _VALIDATES.isdisjoint(words)):
        return "lint"
    return "test" if _RUNS_TESTS.search(inline_code(words) or "") is not None else None


# Of code in a line: R, Julia, Python.
_RUNS_TESTS = lazy_pattern(
    r"\b(?:testthat::test_|devtools::test\(|tinytest::|Pkg\.test\(|pytest\.main\(|unittest\.main\()"
)
_VERB_END = lazy_pattern(r"[_:-]")  # Home Assistant's `check_config`
_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_OWN_TEST = lazy_pattern(r"(?!/bin/|/usr/bin/).*/test")  # a project's `bin/test` is not the shell's `test`


def _family_of_task(command: ShellCommand) -> str:
    tasks = [word for word in command.operands if "=" not in word and word not in _NO_TASK_NAMES]
    if not tasks:
        is_build = command.program in _DEFAULT_IS_BUILD and PROBE_OPTIONS.isdisjoint(command.words)
        return "build" if is_build else ""
    if tasks[0] in _NO_TASKS or command.words[:1] == ("ci",):  # `npm ci` installs
        return ""
    named = [word for task in tasks[:2] for word in _task_words(task)]
    if named[:1] and named[0] in _ACTING:
        return ""
    families = (_CHECKERS.get(word) or _TASK_WORDS.get(word) for word in named)  # Gradle's `ktlintCheck` is a linter
    return next(filter(None, families), "")


def _family_of_script(command: ShellCommand) -> str:
    if "--test" in command.words and command.program in ("node", "bun", "deno"):
        return "test"
    script = next(iter(command.operands), "").rsplit("/", 1)[-1]
    if not script or inline_code(command.words) is not None:
        return ""
    if script in _CONSOLES:
        return next((_TASK_WORDS.get(word, "") for word in _task_words(" ".join(command.operands[1:2]))[:1]), "")
    return _CHECKERS.get(script) or ("test" if _is_checking_script(script) else "")


def _is_checking_script(script: str) -> bool:
    """Whether a script checks something by its name, and does not act for a test: `send-test.mjs`, `deploy_test.sh`."""
    return _CHECKING_SCRIPT.search(script) is not None and _task_words(script)[0] not in _ACTING


_ACTING = frozenset(("send", "mail", "notify", "deploy", "seed", "publish", "upload", "provision", "setup", "import"))


def _task_words(task: str) -> list[str]:
    task = _HUMP.sub(" ", task)  # Gradle's `checkLicences`
    return task.replace(":", " ").replace("-", " ").replace("_", " ").lower().split()


def _verb(command: ShellCommand) -> str:
    words = list(command.words)
    while words and words[0].startswith("-"):
        if command.program in ("dpkg", "rpm", "crontab"):
            return words[0]
        takes_value = words[0] in _OPTIONS_WITH_VALUE.get(command.program, ())
        words = words[2 if takes_value else 1 :]
    if words[:1] == ["compose"]:
        rest = without_options(words[1:], _COMPOSE_VALUES)
        return " ".join(("compose", *rest[:1]))
    if words and words[0] in ("run", "run-script") and len(words) > 1:
        return words[1]
    return words[0] if words else ""


def _targets(command: ShellCommand, subject: str) -> tuple[str, ...]:
    rest = [word for word in command.operands if word != _verb(command) or " " not in subject]
    if _SCRIPT.fullmatch(subject):
        return tuple(dict.fromkeys((subject, *(word for word in rest if word.rsplit("/", 1)[-1] != subject))))
    if command.program in _SCRIPTED:
        rest = rest[1:]  # the script of `sed` and `awk`, the lines of SWE-agent's `edit`
    if command.program in _INSTALLERS and _verb(command) in _INSTALLS:  # `react@19 @testing-library/react@16`
        return tuple(word for word in rest if len(word) > 1)
    paths = [word.partition("::")[0] for word in rest if _PATH_LIKE.fullmatch(word) and word.strip("./")]
    if paths or command.program == "git" or _family(command):
        return tuple(paths)
    return tuple(word for word in rest if 1 < len(word) <= 200 and word != command.program and word[0] != "$")


def _patched(text: str) -> tuple[str, ...]:
    return tuple(match[1] or match[2] for match in islice(_PATCHED.finditer(text), _MAX_TARGETS))


def _normal(targets: tuple[str, ...]) -> tuple[str, ...]:
    kept = (target[:_MAX_TARGET_CHARS].strip("\"'").rstrip("/").removeprefix("./").casefold() for target in targets)
    return tuple(islice(dict.fromkeys(target for target in kept if target), _MAX_TARGETS))


def _effect_of_tool(tool: str, arguments: Mapping[str, Json], call: ToolCall) -> Effect:
    listed = _listed_kind(tool)
    if is_interpreter(tool):
        return _effect_of_other(tool)
    if listed is None:
        effect = _effect_of_other(tool)
        return structs.replace(effect, kind=EffectKind.RUN) if _arguments_only_ask(arguments) is False else effect
    targets = _argument_targets(arguments)
    if listed == "write" and word_of(arguments.get("command")) in _VIEW_COMMANDS:
        listed = "read"
    if listed == "write" and not targets:
        targets = _patched(call.raw_arguments.replace("\\n", "\n") if call.raw_arguments else "")
    if listed == "check":
        return Effect(EffectKind.CHECK, _TASK_WORDS.get(tool.rsplit("_", 1)[-1], "test"), _normal(targets))
    if targets or listed != "write" or tool in ("apply_patch", "file_change"):
        return Effect(EffectKind(listed), tool, _normal(targets))
    return _effect_of_other(tool)


_CHECKED_THINGS_TABLE = (
    "xml json yaml toml html css sql links schema syntax types config accessibility a11y security vulnerabilities "
    "dependencies spelling style contrast"
)
_CHECKED_THINGS = frozenset(_CHECKED_THINGS_TABLE.split())


def _listed_kind(tool: str) -> str | None:
    """The kind of a tool in the table, or of one that is a program's task: `lake_build`, `cargo_test`."""
    program, _, task = tool.partition("_")
    is_task = (program in _TASK_RUNNERS or program in _CHECKERS) and task in _TASK_WORDS
    is_check = any(
        verb in ("validate", "lint", "scan", "check", "audit") and thing in _CHECKED_THINGS
        for verb, thing in ((program, task), (task, program))
    )
    return _TOOLS.get(tool) or ("check" if is_task or is_check else None)


@lru_cache(1_024)
def _effect_of_other(tool: str) -> Effect:
    """The effect of a tool by its name alone."""
    if is_interpreter(tool):
        return Effect(EffectKind.RUN, tool)
    kind = {ToolKind.READS: EffectKind.READ, ToolKind.WRITES: EffectKind.RUN, ToolKind.UNKNOWN: EffectKind.RUN}
    return Effect(kind[kind_of(tool)], tool)


def _argument_targets(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for item in value[:_MAX_TARGETS]:
                yield from texts(item.get("path", "") if isinstance(item, dict) else item)

    values = [text for key in _PATH_KEYS if key in arguments for text in texts(arguments[key])]
    changes = list(texts(arguments.get("changes")))  # of Codex's `file_change`
    return tuple(changes or (values if "paths" in arguments else values[:1]))


@of_latest
def has_known_effect(call: ToolCall) -> bool:
    """Whether a call runs a shell or code, or is of a tool whose effect is in the tables."""
    if call.name is None:
        return False
    tool = bare_name(call.name)
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    return (
        _listed_kind(tool) is not None
        or is_interpreter(tool)
        or (bool(arguments) and is_shell(tool, arguments) is not None)
    )


def checker_of(effect: Effect) -> str | None:
    """The program of a test or linter that is no runner of a project's tasks; None for another."""
    if effect.command is None or effect.kind is not EffectKind.CHECK or effect.subject not in ("test", "lint"):
        return None
    program = effect.command.program
    return None if _CHECKERS.get(program) is None else _SAME_CHECKERS.get(program, program)


_SAME_CHECKERS: dict[str, str] = dict.fromkeys(("py.test", "unittest", "nose2", "nosetests", "tox", "nox"), "pytest")


@of_latest
def only_asks(call: ToolCall) -> bool | None:
    """Whether a call that names an HTTP method, or passes statements of SQL or GraphQL, only asks; None for another."""
    if not isinstance(call.arguments, dict):
        return None
    commands = (effect.command for effect in effects_of(call))
    words = [word for command in commands if command is not None for word in command.words]
    return _arguments_only_ask(call.arguments, words)


def _arguments_only_ask(arguments: Mapping[str, Json], words: Iterable[str] = ()) -> bool | None:
    method = arguments.get("method")
    if isinstance(method, str):
        return method.upper() in ("GET", "HEAD", "OPTIONS")
    texts = (text for text in (*arguments.values(), *words) if isinstance(text, str) and _MAY_STATE.search(text))
    statements = [match for text in texts for match in _STATEMENTS.finditer(text[:_MAX_SQL_CHARS])]
    return all(match["changes"] is None for match in statements) if statements else None


_MAX_SQL_CHARS = 4_000
_MAY_STATE = lazy_pattern(r"[\s{;\\]|\A\.")  # most words of a shell's line have nothing of it
# At the beginning of a text or after a semicolon: a word that begins a statement, with what has to follow it.
_STATEMENTS = lazy_pattern(
    r"""
    (?:\A|;)\s*(?:
        # SQL that changes something, and GraphQL's mutations
        (?P<changes>
            insert\s+into | update\s+[\w.\"`\[]+\s+set | delete\s+from
            | (?:create|alter|drop|truncate)\s+(?:or\s+replace\s+|temp\w*\s+|unique\s+)?(?:
                table | index | view | database | schema | user | role | type | column | function | trigger
            )
            | grant\s | revoke\s | merge\s+into | replace\s+into | mutation\b[^{}]{0,80}\{
        )
        # SQL that only asks, GraphQL's queries, and the commands of psql and sqlite3
        | select\s | explain\s | describe\s | show\s+(?:tables|databases|columns|index|create)
        | query\b[^{}]{0,80}\{ | \\(?:d[a-z]{0,2}|l)\+?(?:\s|\Z) | \.(?:tables|schema|databases|indexes)\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def runs_code(effect: Effect) -> bool:
    """Whether a command passes code to an interpreter, as `python -c` does."""
    return effect.command is not None and inline_code(effect.command.words) is not None


def is_http_client(effect: Effect) -> bool:
    """Whether a command asks a service and succeeds whatever that answers: `curl` without `--fail`.

    Not one on this machine: what that answers, an error too, is mostly what was to be seen.
    """
    if effect.command is None or effect.command.program not in _HTTP_CLIENTS:
        return False
    if any(map(_IS_HERE.search, effect.command.words)):
        return False
    return not any(_FAILS_WITH_SERVER.fullmatch(word) for word in effect.command.words)


_HTTP_CLIENTS = frozenset(("curl", "http", "https", "xh", "curlie"))
_IS_HERE = lazy_pattern(
    r"""
    ^(?:
        # a loopback or private address
        (?:https?://)?(?:
            localhost | 127\.\d | 0\.0\.0\.0 | \[::1\] | 10\.\d | 192\.168\. | 172\.(?:1[6-9]|2\d|3[01])\.
            | host\.docker\.internal | \$
        )
        # a name without a dot, as containers have them
        | https?://[\w-]+(?=[:/]|$) | --unix-socket
    )
    """,
    re.VERBOSE,
)
_FAILS_WITH_SERVER = lazy_pattern(r"--fail(?:-with-body)?|--check-status|-\w*f\w*")


def only_fetches(effect: Effect) -> bool:
    """Whether an HTTP client asks for something and sends nothing."""
    words = effect.command.words if effect.command is not None else ()
    return not any(_SENDS.match(word) for word in words)


_SENDS = lazy_pattern(
    r"(?:-X|--request[= ]?)?(?:POST|PUT|PATCH|DELETE)$|-d|--data|--json|-F|--form|-T|--upload-file|\w+:?=(?!=)\S"
)


def installs(effect: Effect) -> bool:
    """Whether a command brings packages."""
    return effect.subject.endswith(" install")


def programs_of(effects: tuple[Effect, ...]) -> Iterator[str]:
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
            yield from programs_of(effects_of_line(line))


def _scripts(command: ShellCommand) -> Sequence[str]:
    """The script or module that an interpreter is given: `bin/phpunit`, `pyflakes` of `python -m pyflakes`."""
    first, second = (*command.words[:2], "", "")[:2]
    return (second,) if first == "-m" else ((first,) if "/" in first or first.endswith(".py") else ())


def runs_shell(call: ToolCall) -> bool:
    """Whether a call passes a line to a shell."""
    return any(effect.command is not None for effect in effects_of(call))


def is_common(program: str) -> bool:
    """Whether a program, with its subcommand, is in the tables: its name in an answer says little."""
    name = program.partition(" ")[0]
    return any(name in table for table in (_PROGRAMS, _CHECKERS, _TASK_RUNNERS, _SUBCOMMANDS, _CODE_RUNNERS))


# Programs that print nothing on success (POSIX: "The standard output shall not be used", or only on request).
_SILENT_TABLE = (
    "cd mkdir rmdir rm mv cp ln touch chmod chown chgrp install truncate export unset set source . alias kill pkill "
    "sleep wait true test [ cmp diff sed tee sync mount umount patch popd pushd umask ulimit trap exit clear"
)
_SILENT = frozenset(_SILENT_TABLE.split())
# Programs that print what they find, and nothing otherwise.
_FINDERS_TABLE = "grep egrep fgrep zgrep rg ag ack which command pgrep pidof fuser find fd locate getent whereis dig"
_FINDERS = frozenset(_FINDERS_TABLE.split())
_TEXT_FINDERS = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"))
_OPENERS = frozenset(("xdg-open", "gnome-open", "kde-open", "sensible-browser", "eog", "evince", "firefox"))
_LISTERS = frozenset(("ls", "dir", "tree", "stat", "find", "fd", "du"))
_SILENT_OF_GIT = frozenset(["add", "checkout", "config", "diff", "mv", "rm", "tag", "branch"])


def edits_by_command(effect: Effect) -> bool:
    """Whether an effect is an edit by the agent's own editor, called in a shell's line."""
    return effect.command is not None and effect.command.program in _EDITORS


def finds_in_words(effect: Effect) -> bool:
    """Whether a program prints what it finds: an empty output is the answer "nothing"."""
    return effect.command is not None and effect.command.program in _FINDERS


def only_opens(effect: Effect) -> bool:
    """Whether a program only shows a file to the user."""
    return effect.command is not None and effect.command.program in _OPENERS


def searches_texts(effect: Effect) -> bool:
    """Whether a program searches in the texts of files."""
    return effect.command is not None and effect.command.program in _TEXT_FINDERS


def lists_names(effect: Effect) -> bool:
    """Whether a program only lists the names of files."""
    return effect.command is not None and effect.command.program in _LISTERS


def may_be_silent(call: ToolCall) -> bool:
    """Whether this is a shell command that prints nothing on success, or that writes its output to a file."""
    commands = [effect.command for effect in effects_of(call) if effect.command is not None]
    if not commands:
        return False
    last = commands[-1]
    is_silent = last.program in _SILENT or (last.program == "git" and _verb(last) in _SILENT_OF_GIT)
    return is_silent or any(command.writes for command in commands)


def share_target(targets: tuple[str, ...], other: tuple[str, ...], *, is_write: bool = False) -> str | None:
    """A target that both have: the same name of a file, or for writes one path that may be the other; else None."""
    for mine in targets:
        for theirs in other:
            if mine == theirs or _is_tail(mine, theirs) or _is_tail(theirs, mine):
                return mine
            if not is_write and _base(mine) == _base(theirs) and len(_base(mine)) > 2:
                return mine
    return None


def _is_tail(path: str, other: str) -> bool:
    return bool(path) and other.endswith("/" + path.lstrip("/"))


def _base(target: str) -> str:
    return target.rsplit("/", 1)[-1]
