"""A title for a session whose source stores none: what the user wanted, in its first line.

Text that clients put before or around it is not the user's: blocks in tags (`<system-reminder>`), `# AGENTS.md
instructions`, notes that the user interrupted something, and end markers of chat templates. A slash command is its name
and its arguments. Of a prompt that frames an issue (SWE-agent's `ISSUE:`, `<issue_description>` of OpenHands,
`<pr_description>` and `Please solve this issue:` of mini-swe-agent) or a task (`New task:` of smolagents, `Current
Task:` of CrewAI, `Begin!` and `Question:` of LangChain, `NEW TASK DESCRIPTION` behind the example that OpenHands shows
models without tools), only that is wanted. The name of a field (`[[ ## question ##
]]` of DSPy) is written before its value, where redaction looks for it.
"""

import re
from collections.abc import Callable, Iterable

from weaklink.inspector.model import Role, Turn
from weaklink.inspector.scanning import lazy_pattern
from weaklink.inspector.text import after_inserted

_MAX_TITLE_CHARS = 120
_MAX_READ_CHARS = 20_000
_OPENING_TAG = lazy_pattern(  # not of HTML within a line: its words are the user's, and may name the secret behind them
    r"<(?!(?:a|b|i|u|code|em|font|label|mark|span|strong)[\s>])(?P<tag>[\w-]{1,60})(?:\s[^<>]{0,200})?>"
)
_USERS_WORDS = lazy_pattern(r"<(task|user_query)>((?:(?!<\1>).)*?)</\1>", re.DOTALL)  # of Cline and Cursor
_COMMAND = lazy_pattern(r"<command-name>\s*([^<>\n]{1,200}?)\s*</command-name>")
_COMMAND_ARGUMENTS = lazy_pattern(r"<command-args>\s*([^<>]{0,2000}?)\s*</command-args>")
_NOT_WANTED = lazy_pattern(
    r"\s*(?:\[Request interrupted by user[^\]\n]*\]\s*\Z|# AGENTS\.md instructions\b|<turn_aborted>)"
)
_END_MARKERS = lazy_pattern(r"(?:(?:<\|(?:im_end|eot_id|endoftext|end_of_text|end)\|>|</s>)\s*)+\Z")
_FIELD = lazy_pattern(r"\A\s*\[\[ ## ([\w-]{1,60}) ## \]\]\s*")
_ISSUE = lazy_pattern(
    r"^ISSUE:[^\S\n]*\n|<(?:issue_description|pr_description)>|\APlease solve this issue: |\ANew task:\n"
    r"|\A\s*Current Task: |^Begin!\s{1,8}Question: |^New input: |^-{5,40} NEW TASK DESCRIPTION -{5,40}\s",
    re.MULTILINE,
)


def first_words(turns: Iterable[Turn], words_of: Callable[[Turn, str], str] = lambda _, text: text) -> str:
    """The first line that the user wrote, at most 120 characters; `""` if the user wrote none.

    Turns with a flag (injected, copied) are not the user's. `words_of` returns the words in the text of a turn.
    """
    for turn in turns:
        if turn.role is Role.USER and not turn.flags:
            text = " ".join(_readable(words_of(turn, part.text)) for part in turn.parts if part.name == "text")
            if line := _wanted(text):
                return line if len(line) <= _MAX_TITLE_CHARS else f"{line[: _MAX_TITLE_CHARS - 1].rstrip()}…"
    return ""


def _readable(text: str) -> str:
    """The beginning of a text, or the beginning after the blocks that a client put before it if they are longer."""
    start = after_inserted(text) if len(text) > _MAX_READ_CHARS else 0
    return text[start if start > _MAX_READ_CHARS else 0 : start + _MAX_READ_CHARS]


def _wanted(text: str) -> str:
    if _NOT_WANTED.match(text):
        return ""
    command = _COMMAND.search(text)
    if command is not None:
        arguments = _COMMAND_ARGUMENTS.search(text)
        return " ".join(f"{command[1]} {arguments[1] if arguments else ''}".split())
    if (issue := _ISSUE.search(text)) is not None:
        text = text[issue.end() :]
    elif (users := _USERS_WORDS.search(text)) is not None:
        text = users[2]
    plain = _FIELD.sub(r"\1: ", _END_MARKERS.sub("", _untagged(text).rstrip()))
    return next((line.strip() for line in plain.splitlines() if line.strip()), "")


def _untagged(text: str) -> str:
    """The text with a line feed for each block in tags; linear also for tags without an end."""
    pieces: list[str] = []
    unclosed: set[str] = set()
    done = start = 0
    while tag := _OPENING_TAG.search(text, start):
        closing = f"</{tag['tag']}>"
        end = -1 if closing in unclosed else text.find(closing, tag.end())
        if end < 0:
            unclosed.add(closing)
            start = tag.start() + 1
            continue
        pieces.append(text[done : tag.start()])
        done = start = end + len(closing)
    return "\n".join((*pieces, text[done:]))
