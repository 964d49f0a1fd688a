"""What the agent said in words, and whether it admits that something failed."""

import re
from dataclasses import dataclass

from inspector.chain.languages import ADMISSIONS


@dataclass(frozen=True, slots=True)
class Speech:
    """The words of one assistant turn that are neither call nor reasoning; `turn` counts from 1."""

    turn: int
    text: str


HEARD = 20_000
"""How many code points of a speech are looked at, from its beginning."""
_TROUBLE = r"(?:errors?|problems?|issues?|trouble|failures?)"
# "No errors", "I fixed the issue" and "let me know if you have any trouble" admit nothing.
_NO_TROUBLE = re.compile(
    r"\b(?:no|0|zero|any|without|free of|fix(?:e[ds]|ing)?|resolv\w{1,5}|solv\w{1,4}|handl\w{1,4}|avoid\w{0,4}|"
    rf"prevent\w{{0,4}})(?: (?:the|an?|all|this|that|these|further|other|more))?(?: [\w-]{{1,30}})? {_TROUBLE}\b|"
    r"\berror[- ](?:handling|free|messages?|logs?|codes?|rates?|checking)\b",
    re.IGNORECASE,
)
_ADMISSION = re.compile(
    r"\b(?:could(?: not|n['’]t)|can(?:not|['’]t| not)|unable|(?:was|were|am|are|is)(?: not|n['’]t) (?:able|available|"
    rf"possible|working|reachable|found)|fail(?:ed|s|ure)?|{_TROUBLE}|sorry|unfortunately|apologi[sz]e|regret|"
    r"(?:did|does|do)(?: not|n['’]t) (?:work|exist|return|find|respond|succeed|complete|match|load|answer|get|give|"
    r"show|contain|have|support|recogni[sz]e|allow|let|go|accept|receive|seem|yield|provide|produce|manage|come|see|know)|"
    r"won['’]t|(?:have|has|had|got|received|with) no (?:\w+ )?(?:tools?|access|answer|results?|response|data|"
    r"information|records?|permission|way|luck|such)|"
    r"there (?:is|was|are|were) no (?!(?:fees?|charges?|costs?|need|extra|additional|limits?|further|doubt)\b)|"
    r"went wrong|refused|rejected|denied|timed out|time-?out|unavailable|not found|no (?:answer|result|response|luck)|"
    r"without success|unsuccessful(?:ly)?|missing|invalid|mistake|incorrect|broken|(?:is|was|are|were|be) down)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")


def admits(text: str) -> bool:
    """Whether a text says that something did not work; it looks at the first 20,000 code points."""
    return _place(text) is not None


def admission(text: str) -> str | None:
    """The first sentence of a text that says so, None where none does."""
    place = _place(text)
    if place is None:
        return None
    head = text[:HEARD]
    start = max((end.end() for end in _SENTENCE_END.finditer(head, 0, place)), default=0)
    end = _SENTENCE_END.search(head, place)
    return head[start : end.end() if end else len(head)].strip()


def _place(text: str) -> int | None:
    """Where the first words of an admission stand."""
    head = _NO_TROUBLE.sub(lambda found: " " * len(found[0]), text[:HEARD])
    found = (pattern.search(head) for pattern in (_ADMISSION, *ADMISSIONS))
    return min((match.start() for match in found if match is not None), default=None)
