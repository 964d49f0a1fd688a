"""Separates what a reader says of its own work from the content that it shows.

Where no exit code and no state is recorded, only words can tell whether a call failed, and what a log, a page or a
source file says looks like a failure: `cat run.log` prints `fatal: no route to host` and has worked. So of a call that
only shows something, a line counts only if its reader wrote it:

    cat: run.log: No such file or directory             begins with a program of the line
    bash: line 1: bat: command not found                the shell, about a program or a file of the line
    path 'run.log' does not exist in 'HEAD'             names the very file as missing or barred
    Error response from daemon: No such container: db   the form in which this client of a service reports

A program's name alone is no sign: `curl: (6) ...` that `cat` prints is content. A tool that reads (`read_file`,
`get_logs`, `fetch_page`) has no program's name: its line has to say that something is missing, barred or out of reach,
and to name either what was asked for or nothing at all. One that names another file, another host or another program
is content. Only the first and the last line are read, and each line of a short result; so the cost is bounded.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from weaklink.inspector.chain.effects import Effect, EffectKind
from weaklink.inspector.chain.failure_words import (
    BARRED_IN_LANGUAGES,
    FAILED_BEGINNINGS,
    FAILED_ENDINGS,
    MISSING_IN_LANGUAGES,
    error_line,
    first_line,
    last_line,
)
from weaklink.inspector.chain.shell_lines import elsewhere, shell_commands
from weaklink.inspector.chain.tool_kinds import bare_name, is_search
from weaklink.inspector.model import Json
from weaklink.inspector.scanning import lazy_pattern

_SHORT, _LONGEST_LINE, _MAX_LINES = 400, 400, 20
_MAX_OWN_LINES = 4  # of a tool's message about its own work

# What is missing or barred, and what stands before or after its name.
_BARRED = (
    r"(?:no such \w+|not (?:be )?found|does(?: not|n['’]t) exist|non-?existent|permission denied|access (?:is )?denied|"
    r"is a directory|not a (?:regular file|directory)|not (?:permitted|allowed|readable|accessible)|"
    rf"is (?:binary|empty|outside|too (?:large|big))|exceeds|outside (?:of )?the|{MISSING_IN_LANGUAGES}|"
    rf"{BARRED_IN_LANGUAGES})"
)
_CANNOT = (
    r"(?:no such \w+|(?:can ?not|can['’]t|could(?: not|n['’]t)|unable to|failed to|error) (?:\w+ )?(?:open|read|access|"
    r"stat|find|load|get|view|fetch|retrieve|show|display|locate)(?:ing)?(?: \w+)?|"
    r"(?:file|directory|path|url|resource|page) not found|(?:permission|access) denied|enoent|eacces|eisdir)"
)
_QUOTE = "['\"`‘’“”»«]?"
_TROUBLE = lazy_pattern(rf"{_BARRED}|{_CANNOT}", re.IGNORECASE)
_AFTER_NAME = rf"{_QUOTE}(?: \([^)\n]{{1,60}}\))?:? {{1,2}}(?:\w+ ){{0,2}}{_BARRED}"
_BEFORE_NAME = rf"\b{_CANNOT}\b[^\n]{{0,40}}?[:,(]? ?{_QUOTE}(?:[^\s'\"`]*[/\\:])?"

_SHELL = lazy_pattern(r"(?:(?:\S*/)?(?:ba|z|da|k)?sh|\(eval\)):(?: ?line)? ?(?:\d+: ?)?")
# The shell's words about a program or a file; what else it says (a syntax error) is about the line itself.
_ABOUT_A_NAME = lazy_pattern(
    r"""
    (?:
        # zsh
        command[ ]not[ ]found:[ ](?P<missing>\S+)
        # bash and other shells
        | (?P<name>[^\s:]+):[ ](?:
            command[ ]not[ ]found | not[ ]found | no[ ]such[ ]file | permission[ ]denied | is[ ]a[ ]directory
            | cannot[ ]execute | cannot[ ]overwrite | cannot[ ]open
        )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_COMPLAINT = (
    r"(?:\*\*\*|\(\d+\)|\S[^\n]{0,80}:|[^\n]{0,80}?\b(?:unknown|not|no|fail\w*|cannot|can['’]t|could|unable|denied|"
    r"error|invalid|illegal|unrecognized|refused|required|missing|already|must|warning)\b)"
)
_NOT_RECOGNIZED = lazy_pattern(
    r"['\"]?(?P<name>[\w.-]+)['\"]?(?: : The term .{1,80})? is not recognized as ", re.IGNORECASE
)  # of PowerShell and cmd
COMMAND_TIMED_OUT = lazy_pattern(
    r"\[?(?:the )?(?:command|process|execution|tool|script)\b.{0,40}\b(?:timed out|(?:exceed\w+|after|by) the "
    r"time-?(?:out|limit))\b",
    re.IGNORECASE,
)
"""The agent's own words about a run that it ended."""
# By what name programs complain that only call another.
OTHER_NAMES = MappingProxyType(
    {
        **dict.fromkeys(("zcat", "gunzip", "zgrep", "zless"), "gzip"),
        **dict.fromkeys(("bzcat", "bunzip2", "bzgrep"), "bzip2"),
        **dict.fromkeys(("xzcat", "unxz", "xzgrep", "lzcat"), "xz"),
        **dict.fromkeys(("zstdcat", "unzstd", "zstdgrep"), "zstd"),
    }
)
# How clients of a service and programs of a system report, where they do not begin with their own name.
_DOCKER = lazy_pattern(
    r"""
    # the daemon's errors
    Error[ ]response[ ]from[ ]daemon:[ ]
    | Error(?:[ ]response)?:[ ]No[ ]such[ ](?:container|image|object|volume|network|service)
    | (?:Error:[ ])?(?:Cannot|permission[ ]denied[ ]while[ ]trying[ ]to)[ ]connect[ ]to[ ]the[ ]Docker[ ]daemon
    # Docker Compose, the runtime
    | no[ ]such[ ](?:service|container):[ ] | error[ ]during[ ]connect:[ ]
    | no[ ]configuration[ ]file[ ]provided | OCI[ ]runtime[ ]exec[ ]failed:[ ]
    """,
    re.VERBOSE,
)
_KUBECTL = lazy_pattern(
    r"""
    # the server's errors, and that it is not reached
    Error[ ]from[ ]server\b | Unable[ ]to[ ]connect[ ]to[ ]the[ ]server
    | The[ ]connection[ ]to[ ]the[ ]server[ ]
    # kubectl's own errors
    | error:[ ](?:
        You[ ]must[ ]be[ ]logged[ ]in | a[ ]container[ ]name[ ]must[ ]be[ ]specified
        | container[ ]\S+[ ]is[ ]not[ ]valid | the[ ]server[ ]doesn't[ ]have[ ]a[ ]resource
        | no[ ](?:matching|context) | expected[ ] | unknown[ ] | timed[ ]out[ ]waiting | unable[ ]to[ ]
        | cannot[ ] | current-context
    )
    """,
    re.VERBOSE,
)
_SYSTEMD = lazy_pattern(
    r"Failed to (?:get|open|add|search|determine|parse|iterate|list|connect to (?:bus|system|user))|"
    r"Unit \S+ could not be found|No journal files were "
)
_CLIENTS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        **dict.fromkeys(("docker", "podman", "docker-compose", "nerdctl"), _DOCKER),
        **dict.fromkeys(("kubectl", "oc"), _KUBECTL),
        **dict.fromkeys(("journalctl", "systemctl", "loginctl", "timedatectl"), _SYSTEMD),
        "helm": lazy_pattern(r"Error: "),
        "git": lazy_pattern(r"fatal: |error: (?:pathspec|unknown|object|bad) "),
        "gh": lazy_pattern(
            r"failed to (?:get|fetch|find|load|list|query|determine|run git)|gh: \S|HTTP \d{3}\b|"
            r"run \S+ is still in progress|could not |no git remotes|GraphQL: |To get started with GitHub CLI|"
            r"argument required|unknown (?:command|flag)|error connecting to "
        ),
        "apt": lazy_pattern(r"E: \S"),
        "aws": lazy_pattern(
            r"An error occurred \(|Unable to locate credentials|Could not connect to the endpoint|Error loading SSO"
        ),
        "gcloud": lazy_pattern(r"ERROR: \(gcloud\."),
        "az": lazy_pattern(r"\([A-Z]\w+\) \S|Please run 'az login'|ERROR: "),
        "ssh": lazy_pattern(
            r"(?:\S+@\S+: )?Permission denied \(|Host key verification failed|kex_exchange_identification"
        ),
    }
)


def only_shows(effect: Effect) -> bool:
    """Whether a command, the main one of its line, only shows or asks for something."""
    return effect.command is not None and effect.kind in (EffectKind.READ, EffectKind.PROBE)


def message_of_command(tool: str, effects: tuple[Effect, ...], text: str) -> str | None:
    """The line in which a command that only shows something reports its own failure; None if there is none.

    `tool` runs the command, and may be a client itself (`ssh`).
    """
    names = _names(effects) | {bare_name(tool)}
    bases = frozenset(target.rsplit("/", 1)[-1] for effect in effects for target in effect.targets if _is_path(target))
    clients = [_CLIENTS[name] for name in names if name in _CLIENTS]
    ends = list(dict.fromkeys((first_line(text), last_line(text) if len(effects) > 1 else first_line(text))))
    for line in ends:
        if any(client.match(line) for client in clients) or COMMAND_TIMED_OUT.match(line):
            return line
    lines = text.splitlines()[:_MAX_LINES] if len(text) <= _SHORT else (first_line(text), last_line(text))
    return next((line.strip() for line in lines if _is_own(line.strip()[:_LONGEST_LINE], names, bases)), None)


def _is_path(target: str) -> bool:
    return "." in target or "/" in target


def _names(effects: tuple[Effect, ...]) -> frozenset[str]:
    """The names by which the programs of a line report: their own, and those of what they run elsewhere."""
    commands = [effect.command for effect in effects if effect.command is not None]
    inner = [part for command in commands if (line := elsewhere(command)) for part in shell_commands(line)]
    names = {command.program for command in (*commands, *inner)}
    if any("sudo" in command.words for command in commands):
        names.add("sudo")
    return frozenset((*names, *(OTHER_NAMES[name] for name in names if name in OTHER_NAMES)))


def _reports_own_trouble(line: str, names: frozenset[str], bases: frozenset[str]) -> bool:
    """Whether a line begins with the name of one of the programs, or names one of the targets as missing or barred.

    The pattern is made for the few lines that have such a name: making it takes a hundred times as long as looking.
    """
    folded = line.casefold()
    named = [name for name in ("sudo", *names) if name.casefold() in folded] if ":" in line else []
    targets = [base for base in bases if base and base.casefold() in folded]
    targets = targets if targets and _TROUBLE.search(line) else []
    return (bool(named) or bool(targets)) and _own_pattern(tuple(named), tuple(targets)).match(line) is not None


@lru_cache(64)
def _own_pattern(names: tuple[str, ...], bases: tuple[str, ...]) -> re.Pattern[str]:
    ways = []
    if names:
        programs = "|".join(map(re.escape, names))
        ways.append(rf"(?:\S*/)?\[?(?:{programs})(?:\.exe)?(?:\[\d+\]|(?: \w+)?\])? ?: ?{_COMPLAINT}")
    if bases:
        name = rf"(?:{'|'.join(map(re.escape, bases))})"
        ways.append(rf"(?:^|.*[\s'\"`/\\:]){name}{_AFTER_NAME}|.*{_BEFORE_NAME}{name}(?![\w-])")
    return re.compile("|".join(ways), re.IGNORECASE)


def _is_own(line: str, names: frozenset[str], bases: frozenset[str]) -> bool:
    shell = _SHELL.match(line)
    if shell is None:
        unknown = _NOT_RECOGNIZED.match(line)
        return _reports_own_trouble(line, names, bases) or (unknown is not None and unknown["name"] in names)
    rest = line[shell.end() :]
    about = _ABOUT_A_NAME.match(rest)
    name = "" if about is None else (about["missing"] or about["name"]).rsplit("/", 1)[-1]
    return not name or name in names or _reports_own_trouble(rest, names, bases)


def shows_content(effect: Effect, tool: str) -> bool:
    """Whether a tool shows what is kept somewhere (a file, a log, a page), and does not look up data."""
    if effect.command is not None or effect.kind is not EffectKind.READ or is_search(tool):
        return False
    words = bare_name(tool).split("_")
    return not _CONTENTS.isdisjoint(words) or (len(words) == 1 and words[0] in _VERBS)


_CONTENTS_TABLE = (
    "file files log logs page pages webpage url document source content contents text output web resource console "
    "messages requests"
)
_CONTENTS = frozenset(_CONTENTS_TABLE.split())
_VERBS = frozenset(("read", "view", "cat", "fetch", "webfetch", "open"))


def message_of_tool(arguments: Json, text: str) -> str | None:
    """The first line of a short result in which a tool that shows content reports its own failure, else None."""
    line = (last_line(text) if text.startswith("Traceback (most") else first_line(text))[:_LONGEST_LINE]
    if (tagged := _TAGGED.match(text)) is not None:
        return tagged[2].strip()
    asked = str(arguments).casefold()
    if "://" in asked and (stand_in := _stand_in(text)) is not None:
        return stand_in
    if "://" in asked and len(text) <= 2 * _SHORT and _TELLS_OF_WALL.search(text) is not None:
        return line
    if line.startswith("# ") or _NUMBERED.match(line) is not None:  # a heading, a numbered line
        return None
    if len(text) > _SHORT or text.strip().count("\n") >= _MAX_OWN_LINES:
        return None
    is_only_line = "\n" not in text.strip()
    if is_only_line and _OF_READER.match(line) is not None:
        return line
    is_alone = is_only_line and line.startswith("Error: ")  # the form in which most tools report
    is_error = error_line(text) is not None and (is_alone or _FAILS_TO_READ.search(line) is not None)
    if not (is_error or _IS_MISSING.search(line)) or _OF_LOG.match(line):
        return None
    named = [match[0].strip(".,:;'\"`()").casefold() for match in _NAMED.finditer(line)]
    is_asked = all(name in asked or name.rsplit("/", 1)[-1] in asked for name in named)
    explains = not is_alone and _EXPLAINED.search(line) is not None
    is_own = is_error and not explains and _OTHER_PROGRAM.match(line) is None
    return line if is_asked and (named or is_own) else None


def _stand_in(text: str) -> str | None:
    """The line of a short page that a site shows in place of the page; else None."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] if len(text) <= 2 * _SHORT else []
    is_short = len(lines) <= _MAX_OWN_LINES
    return next((line for line in lines if is_short and _STANDS_IN.fullmatch(line) is not None), None)


_TAGGED = lazy_pattern(r"\s*<(tool_use_error|error)>([^\n]*?)(?:</\1>|\n|\Z)")  # Claude Code's, and of MCP's `fetch`
# The whole line that a site shows in place of a page, and Claude Code in place of what it searched.
_STANDS_IN = lazy_pattern(
    r"""
    # a gateway's error, Cloudflare's pages
    API[ ]Error:[ ].* | Just[ ]a[ ]moment\.\.\. | Attention[ ]Required![ ]\|.*
    # a wall: for scripts, robots, or those who do not pay
    | (?:
        (?:please[ ]|you[ ]need[ ]to[ ])?enable[ ]JavaScript[ ](?:and[ ]cookies[ ])?to[ ](?:run|continue|view)
        | (?:please[ ])?verify(?:ing)?[ ](?:that[ ])?you[ ]are[ ](?:a[ ])?human | checking[ ]your[ ]browser
        | (?:\w+[!,.][ ])?the[ ]page[ ]you['’]re[ ]looking[ ]for[ ](?:can|could|was|does)
        | (?:this|the)[ ](?:\w+[ ]){1,2}is[ ](?:only|exclusively)[ ](?:available[ ])?(?:to|for)[ ]subscribers
        | you[ ]must[ ]be[ ](?:logged|signed)[ ]in[ ]to[ ](?:view|see|read|access|continue)
        | (?:please[ ])?(?:subscribe|log[ ]in|sign[ ]in)[ ]to[ ](?:continue|keep)[ ]reading
        | (?:\w+[ ]){0,4}(?:nur[ ]für[ ]Abonnenten|réservé[ ]aux[ ]abonnés|(?:solo|sólo)[ ]para[ ]suscriptores)
    )\b.{0,160}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What a model that read the page for the agent says of such a page (Claude Code's `WebFetch`).
_TELLS_OF_WALL = lazy_pattern(
    r"""
    \b(?:
        # what is in the way
        captcha | bot[- ]protection | (?:security|human)[ ]verification
        | verify(?:ing)?[ ](?:that[ ])?you[ ]are[ ](?:a[ ])?human | interstitial | login[ ]wall | paywall
    )\b[\s\S]{0,300}\b(?:
        # what it prevents
        cannot[ ](?:be[ ])?determine | can(?:not|['\u2019]t)[ ](?:be[ ])?(?:find|read|access|answer)
        | (?:does[ ]not|doesn['\u2019]t)[ ]contain | contains[ ]no
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMBERED = lazy_pattern(r"\s*\d+(?:\u2192|\t| ?\| )")  # a line of a file, with its number
# What readers of files and pages say that they cannot read at all.
_OF_READER = lazy_pattern(
    r"""
    # the size or kind of the file is refused
    this[ ]tool[ ]cannot[ ]read[ ]binary[ ] | file[ ](?:content[ ]|size[ ])?\([^)\n]{1,40}\)[ ]exceeds[ ]
    | (?:the[ ])?file[ ](?:is[ ])?too[ ]large | \(?no[ ]text[ ]layer | unable[ ]to[ ]verify[ ]if[ ]domain[ ]
    | (?:the[ ])?(?:file|image|document|pdf)[ ](?:is|appears[ ]to[ ]be)[ ](?:an?[ ])?(?:
        binary | password | encrypted | corrupt\w* | unsupported
    )
    | cannot[ ](?:read|display|open)[ ](?:binary|this)[ ]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FAILS_TO_READ = lazy_pattern(
    rf"{_BARRED}|{_CANNOT}|timed? ?out|time-?out|net::ERR_|\b(?:EN\w+|EACCES|EISDIR|ECONN\w+|ETIMEDOUT)\b|"
    r"connection (?:refused|reset|closed|lost|error)|could not resolve|getaddrinfo|unavailable|too many requests|"
    r"rate limit|\b(?:http|status|error)\D{0,12}[45]\d\d\b|^[45]\d\d\b|unauthori[sz]ed|forbidden|not supported|"
    r"unsupported|\b(?:invalid|unknown|missing|unexpected|required) |internal server error|(?:FileNotFound|Permission|"
    r"IsADirectory|Timeout|Connection)\w*(?:Error|Exception)|" + "|".join((*FAILED_BEGINNINGS, *FAILED_ENDINGS)),
    re.IGNORECASE,
)
_IS_MISSING = lazy_pattern(
    rf"no such file|not (?:be )?found|does(?: not|n['’]t) exist|(?:permission|access) denied|{MISSING_IN_LANGUAGES}|"
    rf"{BARRED_IN_LANGUAGES}",
    re.IGNORECASE,
)
_OF_LOG = lazy_pattern(r"\W?\d{1,4}[-/:.]\d\d")  # it begins with a time
_OTHER_PROGRAM = lazy_pattern(
    r"(?!error|fatal|fehler|erreur|failed|failure|\w*(?:error|exception)\b)[\w.+-]{1,40}(?:\[\d+\])?: ", re.IGNORECASE
)
# "File not found: when the path is wrong" explains a message.
_EXPLAINED = lazy_pattern(rf"(?:{_BARRED}|{_CANNOT})\W{{0,2}}: \D", re.IGNORECASE)
# What a line names: paths, hosts, addresses and whatever is in quotation marks.
_NAMED = lazy_pattern(
    r"""
    # a URL, a quoted name, a path
    https?://[^\s'\"`]+ | ['\"`][^'\"`\n]{1,200}['\"`] | [\w.~@+-]*/[\w.~@+/-]+
    # an address, a file's or host's name
    | \b\d{1,3}(?:\.\d{1,3}){3}\b | \b[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,7}\b
    """,
    re.VERBOSE,
)
