"""What a rule is: one code, one name, one severity, one explanation."""

import re
from dataclasses import dataclass
from enum import StrEnum

_CODE = re.compile(r"[A-Z]\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Severity(StrEnum):
    """How bad a fault is: an `error` breaks the call or the chain, a `warning` may, an `info` is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a code stands for. A code is never reused; the name reads well after "allow".

    `summary` is one sentence for tables; `explanation` says why it matters and what to do about it;
    `bad` is a piece of stream that breaks the rule, `good` the same piece as it should be (either may be empty).
    """

    code: str
    name: str
    severity: Severity
    summary: str
    explanation: str
    bad: str = ""
    good: str = ""

    def __post_init__(self) -> None:
        if not _CODE.fullmatch(self.code) or not _NAME.fullmatch(self.name):
            raise ValueError(
                f"a rule needs a code like J104 and a name like trailing-comma, not {self.code} {self.name}"
            )

    def __str__(self) -> str:
        return f"{self.code} {self.name}"
