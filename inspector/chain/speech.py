"""What the agent said in words, and whether it admits that something failed."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Speech:
    """The words of one assistant turn that are neither call nor reasoning; `turn` counts from 1."""

    turn: int
    text: str


_LONGEST = 20_000
_ADMISSION = re.compile(
    r"\b(?:could(?: not|n['’]t)|can(?:not|['’]t| not)|unable|(?:was|were|am|are|is)(?: not|n['’]t) (?:able|available|"
    r"possible|working|reachable|found)|fail(?:ed|s|ure)?|errors?|sorry|unfortunately|apologi[sz]e|regret|"
    r"did(?: not|n['’]t)|does(?: not|n['’]t)|won['’]t|(?:have|has|had|there is|there was|got|received|with) no|"
    r"went wrong|refused|rejected|denied|timed out|time-?out|unavailable|not found|no (?:answer|result|response|luck)|"
    r"problems?|trouble|issue|without success|unsuccessful(?:ly)?|missing|invalid|mistake|incorrect|broken|down)\b",
    re.IGNORECASE,
)


def admits(text: str) -> bool:
    """Whether a text says that something did not work. English so far; it looks at the first 20,000 code points."""
    return _ADMISSION.search(text, 0, _LONGEST) is not None
