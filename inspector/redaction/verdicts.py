"""What is found out about a place in a text: a secret, nothing, or that more of the text is needed."""

from dataclasses import dataclass
from typing import TypeAlias

from inspector.redaction.endings import Ending


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret from `start` to `end`, in code points of a text; `goes_on` where it may reach beyond the text's end."""

    start: int
    end: int
    goes_on: Ending | None = None

    @classmethod
    def of(cls, text: str, start: int, ending: Ending, *, is_final: bool) -> "Secret":
        """The secret that begins at `start`, as far as the text has it."""
        end = ending.end(text, start, len(text), is_final=is_final)
        return cls(start, len(text), ending) if end is None else cls(start, end)


@dataclass(frozen=True, slots=True)
class Undecided:
    """A secret may begin at `start`; what follows the text decides."""

    start: int


Verdict: TypeAlias = Secret | Undecided | None
"""What a place turns out to be; None where no secret begins there."""
