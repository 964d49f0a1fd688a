"""Aider's chat history (`.aider.chat.history.md`), a session each time that it starts, and its history of requests.

Chat history: a line that begins with `#### ` is the user's, one with `> ` is a notice of the program, others are the
model's. Only the first line of a notice is marked: the notice ends with the line that ends with two spaces. The model
may write headings of four `#` too; these do not end with two spaces. History of requests (`--llm-history-file`): each
line begins with its role in capitals, a row of dashes separates messages. Edits are blocks in the model's text, not
calls. Source: `aider/io.py` (`append_chat_history`, `log_llm_history`), `aider/utils.py` (`format_messages`), a run of
0.86.2.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from weaklink.inspector.importers.agents.agent_session import AgentSession, ids_of
from weaklink.inspector.importers.log_source import LogSource
from weaklink.inspector.importers.records import whole_text
from weaklink.inspector.importers.source import FileSample, Skipped, SourceFile
from weaklink.inspector.model import Trace
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.titles import first_words

_NOTES = (
    "the source stores neither requests, exact counts of tokens nor chunks; edits are blocks in the model's text",
)
_REQUEST_NOTES = ("the source stores neither the model, usage nor chunks; edits are blocks in the model's text",)
_START = "# aider chat started at "
_USER, _NOTICE, _ENDED = "#### ", "> ", "  "
_CERTAIN_NOTICE = lazy_pattern(
    r"> (?:Tokens: |Applied edit to |Commit [0-9a-f]{7} |Did not apply |Skipping edits |Creating )"
)
_FACT = lazy_pattern(r"(?:Aider v(?P<version>\S+)|(?:Main m|M)odel: (?P<model>\S+))")
_STAMP = lazy_pattern(r"(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT\S+)\Z")
_DASHES = "-------"
_ROLES = ("SYSTEM", "USER", "ASSISTANT", "TOOL", "FUNCTION")


def _take_chat(lines: list[str], _began: str, session: AgentSession) -> None:
    for kind, block in groupby(zip(_kinds(lines), lines, strict=True), key=lambda pair: pair[0]):
        text = "\n".join(line.removeprefix(kind).removesuffix(_ENDED) for _, line in block).strip()
        if kind == _USER:
            session.say("user", text)
        elif kind == _NOTICE and session.turns:
            session.say("user", text, is_injected=True)
        elif kind == _NOTICE:
            for fact in _FACT.finditer(text):
                session.version, session.model = fact["version"] or session.version, fact["model"] or session.model
        elif text:
            session.answer(text, model=session.model)


def _kinds(lines: Iterable[str]) -> Iterator[str]:
    """For each line whose it is, by the mark of such lines; `""` is the model's."""
    kind, is_open = _NOTICE, False
    for line in lines:
        is_blank, is_ended = not line.strip(), line.endswith(_ENDED)
        is_marked = line.startswith((_USER, _NOTICE))
        if not is_blank and (is_marked or not is_open):
            is_certain = kind != "" or is_ended or _CERTAIN_NOTICE.match(line) is not None
            kind = line[: line.index(" ") + 1] if is_marked and is_certain else ""
        is_open = is_open if is_blank else kind == _NOTICE and not is_ended
        yield kind


def _take_request(lines: list[str], began: str, session: AgentSession) -> None:
    ended = ""
    for is_content, block in groupby(lines, key=lambda line: line != _DASHES and not _STAMP.match(line)):
        listed = list(block)
        if not is_content:
            ended = next((stamp[2] for line in listed if (stamp := _STAMP.match(line))), ended)
            continue
        role = listed[0].partition(" ")[0]
        if role in _ROLES:
            text = "\n".join(line.removeprefix(role).removeprefix(" ") for line in listed).rstrip("\n")
            if ended:
                session.answer(text, started=began, ended=ended)
            else:
                session.say(role.lower(), text)
    session.title = first_words(reversed(session.turns))


def _starts(sample: FileSample) -> float:
    """By the first line that is not blank."""
    first = sample.text.lstrip("\ufeff \t\r\n").partition("\n")[0].rstrip("\r")
    return 0.95 if first.startswith(_START) or _STAMP.match(first) else 0.0


def _sessions(file: SourceFile) -> Iterator[Trace | Skipped]:
    text = whole_text(file)
    if isinstance(text, Skipped):
        yield text
        return
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith((_START, "TO LLM "))]
    for number, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        began = lines[number].removeprefix(_START).removeprefix("TO LLM ")
        ids = (*ids_of("", file), ("line", str(number + 1)), ("started", began))
        is_request = not lines[number].startswith(_START)
        session = AgentSession("aider", ids, f"line {number + 1}", _REQUEST_NOTES if is_request else _NOTES)
        session.began(began)
        session.folder = str(file.path.absolute().parent)
        (_take_request if is_request else _take_chat)(lines[number + 1 : end], began, session)
        yield session.trace()


AIDER = LogSource(
    name="aider",
    signs="the line `# aider chat started at`, or `TO LLM` with a time",
    score=_starts,
    reader=_sessions,
)
"""One trace per session, or per request; a session in which nothing was said is skipped."""
