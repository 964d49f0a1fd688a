"""The line of a result that reports an error, where no exit code and no state says so.

What a call only shows speaks of other things: of it only its reader's own message counts (`reader_messages`). Of a
program, its own words at the end of its output; of a tool that looks something up, the beginning of a short answer; of
one that changes something, a refusal (`refused_changes`).
"""

import re
from collections.abc import Mapping, Sequence

from weaklink.inspector.chain.check_results import ends_well
from weaklink.inspector.chain.effects import (
    Effect,
    EffectKind,
    effects_of,
    inline_code,
    main_effect,
    programs_of,
    runs_shell,
)
from weaklink.inspector.chain.failure_words import (
    ADMISSIONS,
    BARRED_IN_LANGUAGES,
    ERROR_WORDS,
    HEAD,
    MISSING_IN_LANGUAGES,
    error_at_end,
    error_line,
    first_line,
    last_line,
    own_error,
    tool_failure,
)
from weaklink.inspector.chain.negative_answers import NEVER_SAYS_NO
from weaklink.inspector.chain.reader_messages import (
    COMMAND_TIMED_OUT,
    OTHER_NAMES,
    message_of_command,
    message_of_tool,
    only_shows,
    shows_content,
)
from weaklink.inspector.chain.refusals import refusal_told
from weaklink.inspector.chain.refused_changes import denial
from weaklink.inspector.chain.shell_frames import Framed
from weaklink.inspector.chain.shell_lines import ShellCommand
from weaklink.inspector.chain.tool_kinds import bare_name, is_search
from weaklink.inspector.model import ToolCall, ToolResult
from weaklink.inspector.scanning import lazy_pattern

_SHORT = 400

_RUNNING = lazy_pattern(
    r"^(?:process running with session id|command running in (?:the )?background|\[?command is still running)",
    re.IGNORECASE | re.MULTILINE,
)


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
    text = _without_expected(effects, text)
    main = main_effect(effects)
    crashed = _CRASHED.search(text[:HEAD]) if len(effects) > 1 else None
    if crashed is not None and main is not None and main.command and main.command.own_name in crashed[0]:
        return crashed[0]
    if main is not None and main.kind in (EffectKind.RUN, EffectKind.WRITE) and _shows_only_output_of(main, effects):
        names = () if main.command is not None and _prints_rows(main.command) else programs_of(effects)
        return error_at_end(text, names, is_any_error=False)
    if not effects or effects[-1].subject in ("true", ":"):
        return None
    is_loop = any(effect.subject in _LOOPS for effect in effects[:-1])
    connectors = (*(effect.connector for effect in effects[1:]), ";" if is_loop else "&&")
    for effect, connector in zip(effects, connectors, strict=True):
        is_hidden = connector in _HIDING or _ends_with_0(effect)
        if is_hidden and effect.kind not in (EffectKind.PROBE, EffectKind.NOTHING):
            line = _own_trouble(effect, text, is_piped=connector == "|")
            if line is not None:
                return line
    item = _OF_ITEM.search(text[:HEAD]) if is_loop and all(map(_does_work, effects)) else None
    return None if item is None else item[0]


def _does_work(effect: Effect) -> bool:
    """Whether a part of a loop prints nothing that the line's author words."""
    if effect.kind is EffectKind.NOTHING:
        return effect.subject not in ("echo", "printf")
    return effect.kind in (EffectKind.RUN, EffectKind.WRITE)


# `us: error: no answer`, of one turn of a loop.
_OF_ITEM = lazy_pattern(
    rf"^[\w./@-]{{1,60}}: (?:error|failed|{'|'.join(ERROR_WORDS)})\b.*", re.MULTILINE | re.IGNORECASE
)


def _without_expected(effects: tuple[Effect, ...], text: str) -> str:
    """The output without what a line provides for: `rm x; ...` goes on if `x` is not there, `mkdir x; ...` if it is."""
    connectors = [effect.connector for effect in effects[1:]]
    for effect, connector in zip(effects, connectors, strict=False):
        command = effect.command
        if command is None or connector not in _HIDING:
            continue
        names = {command.program, *command.words[:2]}
        expected = None if names.isdisjoint(_ENDING) else _IS_GONE
        expected = expected if names.isdisjoint(_MAKING) else _IS_THERE
        targets = [word.removesuffix("/") for word in command.words if not word.startswith("-")]
        lines = text[:HEAD].splitlines(keepends=True) if expected is not None else ()
        of_target = (line for line in lines if any(target in line for target in targets if target))
        if expected is not None and (line := next(filter(expected.search, of_target), None)) is not None:
            text = text.replace(line, "", 1)
    return text


_ENDING_TABLE = (
    "rm rmdir rmi unlink del delete remove stop kill pkill killall down drop dropdb dropuser uninstall umount userdel "
    "groupdel destroy purge -D -d"
)
_ENDING = frozenset(_ENDING_TABLE.split())
_MAKING = frozenset(("mkdir", "create", "createdb", "createuser", "useradd", "groupadd", "init", "add", "ln"))
_IS_GONE = lazy_pattern(
    rf"no such|not (?:found|loaded|mounted|running|installed)|does(?: not|n't) exist|{MISSING_IN_LANGUAGES}",
    re.IGNORECASE,
)
_IS_THERE = lazy_pattern(
    r"""
    # English
    already[ ]exists | file[ ]exists
    # other languages, the last Russian, Chinese, Japanese, Korean
    | existiert[ ]bereits | existe[ ]d\u00e9j\u00e0 | ya[ ]existe | j\u00e1[ ]existe | esiste[ ]gi\u00e0
    | bestaat[ ]al | finns[ ]redan | ju\u017c[ ]istnieje
    | \u0443\u0436\u0435[ ]\u0441\u0443\u0449\u0435\u0441\u0442\u0432 | \u5df2\u5b58\u5728
    | \u65e2\u306b\u5b58\u5728 | \uc774\ubbf8
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _ends_with_0(effect: Effect) -> bool:
    """Whether a program's exit code is 0 after an error: `redis-cli`, and `psql` but for a command that it is given."""
    command = effect.command
    return command is not None and command.program in _ALWAYS_END_WELL and not _prints_rows(command)


def _prints_rows(command: ShellCommand) -> bool:
    """Whether `psql` is given its statement, whose rows it prints, and ends with another code than 0 after an error."""
    return command.program == "psql" and any(_SQL_OPTION.match(word) is not None for word in command.words)


_SQL_OPTION = lazy_pattern(r"-\w*c$|--command\b")


def _own_trouble(effect: Effect, text: str, *, is_piped: bool) -> str | None:
    """The line in which one of a line's programs reports an error, wherever it is in the output."""
    command = effect.command
    if command is None:
        return None
    if _prints_rows(command):
        text = first_line(text)  # the others may be rows
    program = re.escape(command.program)
    if f"{command.program}: " in text[:HEAD]:
        words = _OWN_WORDS if is_piped else _OWN_TROUBLE
        match = re.search(rf"^(?:\S*/)?{program}: {words}.*", text[:HEAD], re.MULTILINE | re.IGNORECASE)
        if match is not None:
            return match[0]
    own = own_error(text, programs_of((effect,)))
    return own if own is not None or effect.kind is not EffectKind.RUN else None


_LOOPS = frozenset(("for", "while", "until", "xargs"))


def error_despite_code(effects: tuple[Effect, ...], text: str) -> str | None:
    """The line that reports an error of a program that ends with 0 whatever happened, such as `redis-cli`."""
    parts = tuple(effect for effect in effects if effect.command is None or not _prints_rows(effect.command))
    names = [name for name in programs_of(parts) if name in _ALWAYS_END_WELL]
    return own_error(text, names) if names else None


_ALWAYS_END_WELL_TABLE = "soffice libreoffice redis-cli sqlplus psql sqlcmd isql tsql code codium powershell pwsh"
_ALWAYS_END_WELL = frozenset(_ALWAYS_END_WELL_TABLE.split())
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


def told_by_line(call: ToolCall, text: str) -> str | None:
    """The line in which the shell, or the line's own words for it, say that its main program failed; else None.

    Neither needs an exit code: `bash: /mnt/a.sql: ...` of `dump > /mnt/a.sql`, in any language, means that nothing ran;
    what follows `||` is printed only after a failure. That counts if its words say that something failed, unless the
    line provides for it: it goes on with another try, removes what may not be there, or asks of each of several things
    whether it works (it throws the output away, or reports each success as well).
    """
    effects = effects_of(call)
    line = refused_redirection(effects, text) or _announced_failure(effects, text)
    if line is None:
        return None
    given = str(call.arguments)
    is_survey = _LOOP_BODY.search(given) is not None and ("/dev/null" in given or _tells_success(effects))
    return None if is_survey else line


def refused_redirection(effects: tuple[Effect, ...], text: str) -> str | None:
    """The line in which the shell says that it could not open the file for the main program's output; else None."""
    main = main_effect(effects)
    command = main.command if main is not None else None
    if main is None or command is None or not command.writes or "sh: " not in text[:HEAD]:
        return None
    if any(effect.connector == "||" for effect in effects[effects.index(main) + 1 :]):
        return None
    names = "|".join(re.escape(name) for name in command.writes)
    match = re.search(
        rf"^{_SHELL}(?:{_CANNOT_CREATE}(?:{names}): |(?:{names}): |[^:\n]{{1,60}}: (?:{names})$).*",
        text[:HEAD],
        re.MULTILINE,
    )
    return None if match is None else match[0]


_SHELL = r"-?(?:\S{0,80}/)?(?:ba|z|da|k)?sh: (?:(?:line )?\d{1,6}: )?"
_CANNOT_CREATE = r"(?:cannot|can't) create "


def _announced_failure(effects: tuple[Effect, ...], text: str) -> str | None:
    """The line that a line of programs prints only if its main program failed: `cp a b || echo "copy failed"`."""
    if all(effect.connector != "||" for effect in effects):
        return None
    main = main_effect(effects)
    if main is None or main.kind not in _DOES or main.command is None or inline_code(main.command.words) is not None:
        return None
    after = effects[effects.index(main) + 1 :]
    names = {main.command.program, *main.command.words[:2]}
    is_provided = not names.isdisjoint(_ENDING) or (
        not names.isdisjoint(_MAKING) and _IS_THERE.search(text[:HEAD]) is not None
    )
    if is_provided or any(effect.kind in _DOES and effect.connector != "|" for effect in after):
        return None
    for effect in after:
        words = effect.command.operands if effect.command is not None else ()
        told = {"echo": " ".join(words), "printf": "".join(words[:1]).removesuffix("n")}.get(effect.subject, "")
        if (
            effect.connector == "||"
            and not _GOES_ON.search(told)
            and any(pattern.search(told) for pattern in _ANNOUNCES)
        ):
            pieces = [piece.strip() for piece in _VARIABLE.split(told.removesuffix("\\"))]
            return next((line for line in map(str.strip, text[-HEAD:].splitlines()) if _has_pieces(line, pieces)), None)
    return None


def _has_pieces(line: str, pieces: Sequence[str]) -> bool:
    """Whether a line begins with the first piece, ends with the last, and has the others between them in order."""
    position = 0
    for piece in pieces:
        position = line.find(piece, position) + len(piece)
        if position < len(piece):
            return False
    return line.startswith(pieces[0]) and line.endswith(pieces[-1])


_LOOP_BODY = lazy_pattern(r"\bdo\b|\bxargs\b")


def _tells_success(effects: tuple[Effect, ...]) -> bool:
    return any(effect.connector == "&&" and effect.subject in ("echo", "printf") for effect in effects)


_DOES = (EffectKind.RUN, EffectKind.WRITE, EffectKind.CHECK)
_VARIABLE = lazy_pattern(r"\$\{[^}\n]{1,60}\}|\$\w+|%[sd]|[^\s*]*\*\S*")
_GOES_ON = lazy_pattern(r"\b(?:continu\w+|skip\w*|using|instead|anyway|ignor\w+|fall\w* back|offline)\b", re.IGNORECASE)
_ANNOUNCES = (
    lazy_pattern(
        r"\b(?:fail(?:ed|ure)?s?|errors?|could not|couldn't|cannot|unable)\b|"
        + "|".join(rf"\b{word}\b" if word.isascii() else word for word in ERROR_WORDS),
        re.IGNORECASE,
    ),
    *ADMISSIONS,
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
        effect.subject in NEVER_SAYS_NO
        and (
            effect.connector == "|"
            or (effect.command is not None and not set(written).isdisjoint(effect.command.words))
        )
        for effect in shows
    )


def is_running(text: str) -> bool:
    """Whether a result only says that the command continues in the background."""
    head = text[:HEAD]
    return "running" in head.lower() and _RUNNING.search(head) is not None


_PROGRAM_ERROR = lazy_pattern(
    r"""
    (?:\.{0,2}/(?:\S*/)?)?(?P<program>[\w.+-]{1,40})(?:\[\d+\])?:[ ](?:\d+:[ ])?(?:
        # Make's, curl's, or the subject of the error
        \*\*\* | \(\d+\) | \S[^\n]{0,80}:
        # words of an error
        | [^\n]{0,60}\b(?:
            unknown | not[ ] | no[ ] | fail | cannot | can't | unable | denied | error | invalid | illegal
            | unrecognized | refused | missing | already | requires
        )
    )
    # apt, Git
    | (?-i:E):[ ]\S | fatal:[ ]\S
    """,
    re.IGNORECASE | re.VERBOSE,
)


COMPLAINT = lazy_pattern(
    r"(?P<program>[\w.+-]{1,40}): [^\n]{0,60}\b(?:cannot|can't|could not|unable|denied|refused|required|no such|"
    r"not found|unknown|invalid|unrecognized|must|failed|error (?:\w+ing|in|while|when))\b",
    re.IGNORECASE,
)
_CANNOT_OPEN = lazy_pattern(r"(?:\S*/)?[a-z]{1,10}[\d.]*: (?:\d+: )?(?:can't|cannot) open ", re.IGNORECASE)
_HIT = lazy_pattern(r"\S+:\d+[:-]")


def _is_hit(call: ToolCall, line: str, text: str) -> bool:
    """Whether a line is what a search looked for: it begins with words of the query, or its address is below it."""
    if not is_search(call.name or "") or not isinstance(call.arguments, dict):
        return False
    if _ADDRESS_BELOW.search(text) is not None:
        return True
    begin = line[:_MAX_HIT_CHARS].partition(":")[0].casefold()
    values = (value.strip().casefold() for value in call.arguments.values() if isinstance(value, str))
    return any(len(value) > 3 and value in begin for value in values)


_MAX_HIT_CHARS = 80
_ADDRESS_BELOW = lazy_pattern(r"\n\W{0,4}https?://")
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
    errors = ((line, COMPLAINT.match(line)) for line in lines)
    return next((line for line, match in errors if match is not None and match["program"] in names), None)


def words_decide(call: ToolCall, result: ToolResult) -> str | None:
    """The line of a result without recorded facts that reports an error; None if there is none.

    What a call only shows speaks of other things: only its reader's own message counts.
    """
    text = result.content
    if text.startswith(("failed in sandbox: ", "exec_command failed for `")):  # Codex
        return first_line(text)
    if (refused := refusal_told(call, text)) is not None:
        return refused
    effects = effects_of(call)
    effect = main_effect(effects)
    if (login := _page_of_login(call, text)) is not None:
        return login
    failed = tool_failure(text, call.name or "")
    if failed is not None and (effect is None or not _may_show(call, effect, text)):
        return failed
    if effect is None:
        return error_line(text) or denial(call, effect, text)
    if only_shows(effect):
        return message_of_command(call.name or "", effects, text)
    if shows_content(effect, call.name or ""):
        return None if _is_translated(call, text) else message_of_tool(call.arguments, text)
    if effect.kind in (EffectKind.READ, EffectKind.PROBE):
        return _error_of_lookup(call, effect, text)
    return None if ends_well(effect, text) else _error_of_work(call, effects, effect, text)


def _may_show(call: ToolCall, effect: Effect, text: str) -> bool:
    """Whether a text may be what a call shows, such as a log, and not words about the call, which name its tool."""
    is_named = call.name is not None and call.name in first_line(text)
    return only_shows(effect) or (shows_content(effect, call.name or "") and not is_named)


def states_code_in_content(call: ToolCall, framed: Framed) -> bool:
    """Whether the exit code that a result states is in what a call shows: the end of a log, or of what a tool reads.

    A tool that reads has no exit code, but one that reads what a command printed. Of a command, the last line of an
    output counts as the log's if it has no brackets, as agents write them around it, and no program of the line reports
    a failure.
    """
    effects = effects_of(call)
    effect = main_effect(effects)
    if effect is None:
        return False
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
    text = _without_expected(effects, text)
    ends_with_look = len(effects) > 1 and effects[-1].kind in (EffectKind.READ, EffectKind.PROBE)
    ended = error_at_end(text, programs_of(effects), is_any_error=not ends_with_look) if runs_programs else None
    line = (_program_error(effects, text) or ended) if runs_programs else None
    if not runs_programs:
        line = own_error(text, _programs_named(call))
    return line or error_line(text) or denial(call, effect, text)


def _programs_named(call: ToolCall) -> tuple[str, ...]:
    """The programs that a tool may run by its name: `kubectl_apply`, `ansible_playbook`."""
    words = bare_name(call.name or "").split("_")
    return (*words, "-".join(words[:2]), *(("ansible-playbook",) if "ansible" in words else ()))


def _sent_to_login(effect: Effect, text: str) -> str | None:
    """The line in which a page that was not asked for says that the browser is not, or no longer, logged in."""
    page = _LOGIN_PAGE.search(text[:_SHORT])
    if page is None or not effect.targets or any(map(_LOGIN.search, effect.targets)):
        return None
    told = _LOGGED_OUT.search(text[:HEAD])
    return told[0].strip() if told is not None else None


def _page_of_login(call: ToolCall, text: str) -> str | None:
    """The title of a page to log in, with a field for a password, that a call got which names no login; else None."""
    page = _HTML_OF_LOGIN.match(text[:HEAD])
    is_markup = "://" not in call.raw_arguments and not _MARKUP.isdisjoint(bare_name(call.name or "").split("_"))
    if (
        page is None
        or is_markup
        or runs_shell(call)
        or _LOGIN.search(f"{call.name} {call.raw_arguments}".casefold()) is not None
    ):
        return None
    return page["title"].strip() if _TITLE_OF_LOGIN.search(page["title"]) is not None else None


_MARKUP = frozenset(("html", "page", "source", "content", "markup", "dom", "template", "form"))
_HTML_OF_LOGIN = lazy_pattern(
    r"""
    # a page with a title, and a password's field
    (?:HTTP[^\n]{0,40}\n+)?\s*(?:
        <!doctype[ ]html[^>]{0,80}>\s*
    )?<html[\s\S]{0,800}?<title>(?P<title>[^<\n]{0,100})</title>(?=
        [\s\S]{0,1500}?type=[\"']?password\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TITLE_OF_LOGIN = lazy_pattern(
    r"""
    # English
    log[ -]?[io]n | sign[ -]?(?:ed[ -])?in\b | \bsso\b | authenticat
    # other languages with spaces between words
    | anmeld | einlogg | connexion | connecte | identifi | inici\w*[ ](?:de[ ])?ses | acceder | acceso | entrar
    | acced | accesso | inlog | aanmeld | zalog | logowan | přihl | prihl | войти | вход | авториз | увійти
    | logga[ ]in | logg[ ]inn | log[ ]ind | kirjaud | bejelentkez | giriş | masuk
    # Chinese, Japanese, Korean
    | 登录 | 登入 | ログイン | サインイン | 로그인
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOGIN = lazy_pattern(r"log-?in|sign-?in|sso\b|/auth")
_LOGIN_PAGE = lazy_pattern(r"Page URL: \S*?(?:log-?in|sign-?in|\bsso\b|/auth)", re.IGNORECASE)
_LOGGED_OUT = lazy_pattern(
    r".*\b(?:(?:session|token) (?:has |was )?(?:expired|ended|timed out)|(?:log|sign) in again|"
    r"been (?:logged|signed) out)\b.*",
    re.IGNORECASE,
)


_COMMITTED = lazy_pattern(r"\s*\[[^\]\n]{1,200} [0-9a-f]{4,40}\] ")


def _error_of_lookup(call: ToolCall, effect: Effect, text: str) -> str | None:
    """The error at the beginning of a short answer of a tool that looks up data."""
    if (refused := _sent_to_login(effect, text) or own_error(text, _programs_named(call))) is not None:
        return refused
    if (unserved := _unserved(call, text)) is not None:
        return unserved
    line = error_line(text)
    if line is not None and line.startswith('{"'):
        return None  # a record of a queue or a log; an object that states an error was read before
    if line is None:
        failed = _SEARCH_FAILED.search(text[:_SHORT])  # Claude Code's, below its heading
        return failed[0] if failed is not None else denial(call, effect, text)
    is_hit = line not in text[:200] or _HIT.match(line) or _ITEM.match(line) or _is_hit(call, line, text)
    return line if len(text.strip()) <= _SHORT and not (is_hit or _is_translated(call, line)) else None


_ITEM = lazy_pattern(r"(?:\d{1,3}[.)]|[*\u2022\u2013-]|#\d+|\[\d+\]) ")  # of a list


def _unserved(call: ToolCall, text: str) -> str | None:
    """The one line with which a service, or a proxy before it, answers that it cannot: not that a thing is down.

    Of a tool that does not search, whose answer may be any text, only the proxy's line and that of a limit on requests.
    """
    line = text.strip()
    names = bare_name(call.name or "").split("_")
    if len(line) > _SHORT // 2 or "\n" in line or not _OF_CONTENTS.isdisjoint(names):
        return None
    is_told = _OF_PROXY.match(line) or (is_search(call.name or "") and _UNSERVED.match(line))
    return line if is_told else None


_OF_PROXY = lazy_pattern(
    r"""
    # Envoy
    upstream[ ](?:connect|request)[ ](?:error|timeout) | no[ ]healthy[ ]upstream
    # a gateway's limit
    | (?:
        api[ ] | daily[ ] | monthly[ ]
    )?(?:call|request|rate)[ ]limit[ ](?:was[ ]|has[ ]been[ ])?(?:reached|exceeded)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_UNSERVED = lazy_pattern(
    r"""
    # "the rate limit was reached"
    (?:[\w-]+[ ]){0,3}(?:limit|quota)[ ](?:was[ ]|has[ ]been[ ])?(?:reached|exceeded)\b
    # "the search service is temporarily unavailable"
    | (?:the[ ])?(?:[\w'-]+[ ]){0,2}(?:
        service | search | server | api | tool | backend | provider | system
    )[ ]is[ ](?:temporarily|currently)[ ](?:unavailable|overloaded|down|offline)\b
    # "overloaded, try again"
    | [^.:\n]{0,80}(?:
        too[ ]many[ ]requests | overloaded | unavailable | unreachable
    )[^:\n]{0,40}\b(?:try[ ]again|retry)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_OF_CONTENTS_TABLE = (
    "status state health incident incidents availability product stock usage limit limits quota account user plan "
    "message notification alert mail email ticket issue comment review post log note faq help code codes error errors"
)
_OF_CONTENTS = frozenset(_OF_CONTENTS_TABLE.split())


def _is_translated(call: ToolCall, line: str) -> bool:
    """Whether a tool was given a text that reads like an error, and its answer names nothing else that it was given."""
    if bare_name(call.name or "").partition("_")[0] not in _TRANSFORMS or not isinstance(call.arguments, dict):
        return False
    given = [value for value in call.arguments.values() if isinstance(value, str)]
    return any(error_line(value) for value in given) and not any(f"'{value}'" in line for value in given)


_TRANSFORMS = frozenset(("translate", "transcribe", "summarize", "summarise", "rephrase", "rewrite"))


_SEARCH_FAILED = lazy_pattern(r"^API Error: .*", re.MULTILINE)
