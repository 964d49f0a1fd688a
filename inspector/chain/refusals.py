"""Results that say that somebody refused or stopped the call, or that it never began.

The user, a permission rule or a hook refused it, or another call of the same turn failed first. The words are those
that agents write: Claude Code, Codex, Gemini CLI, Cline, Roo Code, OpenHands, Copilot, OpenCode, Continue, LangGraph.
They count only at the beginning of a result: what a command prints may tell of a refusal of something else.
"""

import re

from weaklink.inspector.chain.effects import runs_shell
from weaklink.inspector.chain.failure_words import HEAD
from weaklink.inspector.chain.steps import ResultKind
from weaklink.inspector.chain.tool_kinds import ToolKind, kind_of
from weaklink.inspector.model import RunState, ToolCall
from weaklink.inspector.scanning import lazy_pattern

# Refusals by the user, a rule or a hook, as agents write them: Claude Code, Codex, Gemini CLI, Cline, OpenHands,
# Copilot, OpenCode, Continue. Only at the beginning of a result.
_REJECTED = lazy_pattern(
    r"""
    # "the user rejected", "the operator chose to skip"
    \b(?:user|operator|human)(?:[ ]has|[ ]have)?[ ](?:(?:explicitly|manually|just|already)[ ])?(?:
        rejected | denied | declined | refused | cancell?ed | aborted | interrupted | disallowed | blocked
        | did(?:[ ]not|n['’]t)[ ](?:allow|approve|want) | does(?:[ ]not|n['’]t)[ ]want[ ]to
        | skipped[ ](?:the|this)[ ]
        | chose[ ](?:not[ ])?to[ ](?:skip|stop|cancel|abort|reject|deny|run|allow|proceed)
    )
    # "denied by policy", "blocked by the sandbox rule"
    | (?:
        reject | den | declin | refus | cancel | cancell | abort | interrupt | block | disallow
    )(?:ed|ied)[ ]by[ ](?:the[ ]|a[ ]|your[ ]|an?[ ])?(?:
        (?:sandbox|security|safety|execution|command|approval|permission)[ ]
    )?(?:
        user | operator | human | polic\w+ | permission\w* | hook | rule | setting\w* | approval | administrator
        | reviewer | approver | pretooluse
    )
    # Claude Code: "permission to use X has been denied"; hooks; settings
    | permission[ ](?:to[ ]use[ ].{1,80}|for[ ]this[ ]\w+)[ ](?:has[ ]been|was)[ ]denied
    | \brequest(?:ed|s)[ ]permissions?[ ]to[ ].{1,120}[ ]but[ ]you
    | (?:requires|needs|without)[ ](?:user[ ]|your[ ])?(?:
        approval(?![ ](?:by|from|of)[ ]) | confirmation | permission[ ]to
    )
    | pretooluse\b.{0,80}\bhook | hook[ ](?:error|denied|blocked|rejected)
    | (?:
        sandbox | approval | permission | auto-?run | security | safety
    )[ ](?:policy|settings?|mode|rules?)[ ](?:has[ ]|have[ ])?(?:blocked|denied|rejected|refused|prevent\w*)
    # the words of single agents
    | \[?request[ ]interrupted[ ]by[ ]user | tool[ ]use[ ]was[ ]rejected
    | denied[ ]by[ ](?:your[ ])?permission[ ]settings | was[ ]blocked\.[ ]for[ ]security | user_reject
    | rejected\((?:user|\") | specified[ ]a[ ]rule[ ]which[ ]prevents | approval[ ](?:was[ ])?denied
    | not[ ](?:permitted|allowed)[ ]by[ ](?:the[ ]|your[ ])?(?:policy|permission|settings|rule)
    | tool[ ]call[ ](?:was[ ])?(?:rejected|denied|declined) | operation[ ]cancelled
    """,
    re.VERBOSE,
)
_NOT_RUN = lazy_pattern(
    r"""
    # another call of the same answer failed
    sibling[ ]tool[ ]call | (?:cancelled:[ ])?parallel[ ]tool[ ]call | tool[ ]call[ ]skipped\b
    | tool[ ]call[ ]was[ ](?:not[ ]executed|skipped|cancell?ed)
    # "was never run", "skipped because"
    | (?:was|were)[ ](?:not|never)[ ](?:run|executed|started) | not[ ]executed\b
    | \bskipped[ ](?:because|due|since) | (?:call|tool|execution|task|command)[ ](?:was[ ])?cancell?ed
    | ^(?:error:[ ])?cancell?ed\b | tool[ ]execution[ ]aborted
    | aborted[ ]before[ ](?:it|the[ ](?:tool|command))[ ](?:ran|started|began) | ^aborted\b
    """,
    re.VERBOSE,
)
_TIMED_OUT = lazy_pattern(r"time[ds]?[ -]?out|deadline exceeded", re.IGNORECASE)


# Pi's last line of a command that the user stopped, after what it had printed.
_STOPPED_AT_END = lazy_pattern(r"(?:^|\n)(?:Command|Operation) (?:was )?(?:aborted|cancell?ed)\.?\s*\Z")
_INTERRUPTED = lazy_pattern(r"(?:interrupted|aborted|cancell?ed|stopped) by (?:the )?user")


def kind_of_refusal(text: str, state: RunState | None, exit_code: int | None) -> ResultKind | None:
    """`REJECTED` or `NOT_RUN` if an error is one of these, by the recorded state, else by its first words."""
    head = text[:600].casefold()
    if state is RunState.REJECTED or (state is RunState.INTERRUPTED and not _TIMED_OUT.search(text[:HEAD])):
        return ResultKind.REJECTED
    if state is RunState.NOT_RUN:
        return ResultKind.NOT_RUN
    if exit_code not in (None, 0, -1) and not (exit_code > 128 and _INTERRUPTED.search(head)):
        return None  # the program ran
    if _never_began(head) or _NOT_BEGUN.match(head) or _NEVER_RAN.match(text) is not None:
        return ResultKind.NOT_RUN
    if _REJECTED.search(head) or (exit_code is None and _STOPPED_AT_END.search(text[-100:]) is not None):
        return ResultKind.REJECTED
    return ResultKind.NOT_RUN if _NOT_RUN.search(head[:200]) else None


def never_ran(call: ToolCall, text: str) -> str | None:
    """The reason for which an object says that the call was skipped: another one failed; None if it does not.

    What a lookup brings may be a job that was skipped: of it only an object without other members counts.
    """
    match = _NEVER_RAN.match(text)
    if match is None or (kind_of(call.name or "") is ToolKind.READS and text.count('":') > _STATE_AND_REASON):
        return None
    return match["reason"]


_STATE_AND_REASON = 2
_NEVER_RAN = lazy_pattern(
    r"""
    \{[^{}\n]{0,120}"(?:state|status)"\s*:\s*"(?:
        skipped | cancell?ed | not[_ -](?:run|executed|started) | blocked
    )"[^{}\n]{0,60}"(?:reason|message|detail|cause)"\s*:\s*"(?P<reason>
        [^"\n]{0,160}\b(?:
            # what failed in its place
            dependenc\w+ | upstream | previous | prior | preceding | earlier | prerequisite | sibling | parent
            | another | needs?
        )\b[^\"\n]{0,160}\b(?:fail\w*|error\w*|not[ ]\w+|abort\w*|cancel\w*)\b[^"\n]{0,100}
    )"
    """,
    re.IGNORECASE | re.VERBOSE,
)


def refusal_told(call: ToolCall, text: str) -> str | None:
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
        _REJECTED.match(folded, _begin_of_refusal(folded)) or _NOT_RUN.match(folded) or _never_began(folded)
    )
    is_told = is_told or (kind_of(call.name or "") is ToolKind.WRITES and _NOT_BEGUN.match(folded) is not None)
    return head.partition("\n")[0] if is_told else None


# Words for a call whose arguments or name could not be taken, of OpenHands, Hermes Agent, Kimi CLI, Codex, Claude
# Code, LangGraph, the AI SDK, OpenCode, Pydantic AI, OpenAI's Agents SDK, Strands, `llm`, MCP, Semantic Kernel, and of
# Python itself, whose message LlamaIndex passes on.
_NOT_TAKEN = lazy_pattern(
    r"""
    \s*(?:(?:<tool_use_error>|<system>)?(?:mcp[ ]error[ ]-?\d{1,6}:[ ]|error:[ ]){0,2})(?:
        # "error parsing the tool call", "failed to decode the arguments"
        error[ ](?:
            validating | invoking | parsing | decoding
        )[ ](?:the[ ])?(?:json[ ]|function[ ])?(?:tool|arguments?|input|call)\b
        | (?:failed|unable)[ ]to[ ](?:parse|decode|validate)[ ](?:the[ ])?(?:
            json[ ] | function[ ] | tool[ ]
        )?(?:arguments?|input)\b
        | invalid[ ](?:json[ ])?(?:arguments?|input|parameters?)(?:
            [ ]for[ ](?:the[ ])?(?:tool|function)\b | \.[ ] | :
        )
        # the words of single frameworks, among them Pydantic's
        | the[ ]\S{1,80}[ ]tool[ ]was[ ]called[ ]with[ ]invalid[ ]arguments | \d{1,4}[ ]validation[ ]errors?\b
        | an[ ]error[ ]occurred[ ]while[ ](?:running|parsing|validating)[ ]the[ ]tool\b
        | (?:input|schema|arguments?)[ ]?validation[ ]?error\b
        | validation[ ]failed[ ]for[ ](?:the[ ])?(?:input|tool|arguments?)\b
        | the[ ]tool[ ]call[ ](?:with[ ]name[ ]\S{1,80}[ ]is[ ]not[ ]part[ ]of|arguments[ ]are[ ]malformed)\b
        # Python's TypeError for wrong arguments
        | [\w.<>]{1,80}\(\)[ ](?:
            missing[ ]\d{1,2}[ ]required | got[ ](?:an[ ]unexpected|multiple[ ]values)
            | takes[ ](?:from[ ])?\d{1,2}
        )\b
        # a tool that does not exist
        | unknown[ ]tool\b | tool[ ]\S{1,80}[ ](?:was[ ])?(?:not[ ]found|does[ ]not[ ]exist)\b
        | \S{1,80}[ ]is[ ]not[ ]a[ ]valid[ ]tool\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def is_not_taken(text: str) -> bool:
    """Whether a result begins with words of an agent for a call whose arguments or name it could not take.

    What a command shows may begin so as well: ask only of a call that is against its schema, malformed or unknown.
    """
    return _NOT_TAKEN.match(text) is not None


# An agent's words, of any, for a call that never began: it names the call, or another one because of which.
_OTHER_CALL = (
    r"(?:(?:previous|earlier|preceding|prior|another|parallel|sibling|other|first) (?:\S+ ){0,3}(?:tools?|calls?|"
    r"commands?|failures?|errors?|(?:steps?|actions?|edits?|operations?|executions?|messages?) (?:\S+ ){0,3}"
    r"(?:fail|error|reject|den|cancel|abort|refus|interrupt|stopp)\w*)|(?:vorherig|vorangegangen|frühere|"
    r"andere|parallele)\w*|parallel call|"
    r"précédent\w*|anterior\w*|precedente|vorige|poprzedni\w*|předchozí\w*|предыдущ\w*|попередн\w*|föregående|forrige|"
    r"edellinen|előző|önceki|sebelumnya|上一|前一|之前|前の|이전)"
)
_NEVER_BEGAN_SIGNS = (
    *(
        "not ",
        "n't",
        "n\u2019t",
        "never",
        "skip",
        "cancel",
        "before ",
        "nicht",
        "übersp",
        "abgebr",
        "non ",
        "ignor",
        "annul",
    ),
    *(
        "no ",
        "omit",
        "não",
        "salt",
        "niet",
        "overgesl",
        "nie ",
        "pomin",
        "neprov",
        "přesko",
        "не ",
        "пропущ",
        "inte ",
        "hopp",
    ),
    *("ikke", "ei ", "kihagy", "atlan", "tidak", "dilewat", "未", "跳过", "実行", "スキップ", "실행", "건너"),
)


def _never_began(folded: str) -> bool:
    """Whether a text in lower case begins with an agent's words for a call that never began."""
    return any(sign in folded for sign in _NEVER_BEGAN_SIGNS) and _NEVER_BEGAN.match(folded) is not None


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


# ... and of a change in one of the first languages of services: "Nicht ausgeführt: der Lauf wurde abgebrochen."
_NOT_BEGUN = lazy_pattern(
    r"""
    (?:
        # "not run", in the languages that are read
        not[ ](?:run|executed|started) | nicht[ ](?:ausgeführt|gestartet)
        | non[ ](?:exécuté|lancé|eseguit|avviat)\w{0,2} | no[ ](?:ejecutad|iniciad)[oa]
        | não[ ](?:executad|iniciad)[oa] | niet[ ](?:uitgevoerd|gestart) | nie[ ](?:wykonano|uruchomiono)
        | neproveden[oa]? | не[ ](?:выполнено|запущено|виконано) | inte[ ](?:körd|startad)
        | ikke[ ](?:kjørt|kørt|startet) | ei[ ]suoritettu | 未执行 | 未运行 | 未実行
    )\s?[:：.。(（—–](?!\s*\d)[^\n]{10,200}$
    """,
    re.VERBOSE,
)


def _begin_of_refusal(folded: str) -> int:
    """Where a refusal begins after the call as its subject: `exec command rejected by user`."""
    subject = _REFUSED_SUBJECT.match(folded)
    return subject.end() if subject is not None else 0


_OF_CALL = lazy_pattern(r"\b(?:tool|command|call|operation|hook|permission rule)\b", re.IGNORECASE)
_REFUSED_SUBJECT = lazy_pattern(
    r"""
    \[operation[ ]cancelled\][ ]reason:[ ] | permission[ ]to[ ](?:run|use|call)[ ]\S{1,60}[ ](?=\w+[ ]by\b)
    # the user, if what follows is a refusal
    | (?:the|your)[ ](?=
        (?:user|operator|human)[ ](?:has[ ])?(?:
            (?:reject|declin|den|refus|cancell?|abort|interrupt|disallow|block|skipp)(?:ed|ied)[ ](?:
                to[ ](?:run|use|execute|allow|approve|grant|proceed)\b | permission\b
                | (?:this|that|the|your)[ ](?:\w+[ ])?(?:
                    tool | command | call | operation | action | request | edit | change | patch
                )\b
            )
            | d(?:id|oes)(?:[ ]not|n['\u2019]t)[ ](?:
                allow | approve | want[ ]to[ ](?:run|use|execute|proceed|continue|take)
            )\b
            | chose[ ](?:not[ ])?to[ ](?:skip|run|allow|stop)[ ]
        )
    )
    # the call: "the command was rejected by"
    | (?:error:[ ])?(?:the[ ]|this[ ]|your[ ])?(?:(?:exec|shell|bash|tool|file|mcp|proposed)[ ])?(?:
        command | call | tool[ ]use | edit | patch | action | execution | request | operation
    )[ ](?:(?:was|has[ ]been|is)[ ])?(?=\w+[ ]by\b)
    """,
    re.VERBOSE,
)
