"""A rule: one code, one name, one severity, one explanation."""

from enum import StrEnum

from msgspec import Struct

from weaklink.inspector.scanning import lazy_pattern

_CODE = lazy_pattern(r"[A-Z]\d{3}")
_NAME = lazy_pattern(r"[a-z0-9]+(-[a-z0-9]+)*")
FILE_FORMAT = "file"
"""The `format` of a rule whose examples are whole files."""
ROW_FORMAT = "row"
"""The `format` of a rule whose examples are rows of `weaklink data verify`."""
DATA_FORMAT = "data"
"""The `format` of a rule whose examples are training data, JSON lines."""


class Severity(StrEnum):
    """How bad a fault is: an `error` breaks the call or the chain, a `warning` may, an `info` is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(Struct, frozen=True):
    """The meaning of a code. A code is never reused; the name reads well after "allow".

    `summary` is one sentence for tables; `explanation` is why it matters for an agent, `remedy` what to do about it.
    `bad` violates the rule, `good` is the correct version, both in `format`: each a piece of stream, or if it begins
    with `@` the sketch of a small trace. A sketch's lines `@user`, `@assistant`, `@tool` and `@system` begin a turn,
    any other (`@call:0`, `@wire:unread`) a further part of it; facts follow as `key=value`. In the format `FILE_FORMAT`
    both are the content of a file for `weaklink check`; in `DATA_FORMAT` of a file for `weaklink data lint`, where a
    line `@eval` begins the rows of the evaluation set, and a line `@context N` gives the context in words; in
    `ROW_FORMAT` a row as JSON, whose member `verifier` names the verifier.

    In a sketch, `sent=1,2` at an assistant's turn lists the turns in its request, a part `@sent:2/call:0` replaces the
    text of one of them, and `@run` after a tool's turn is the tool's own result. `layer` and `owner` are set for
    differences between layers (L8xx): where the difference arose, and who made it.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    explanation: str
    remedy: str = ""
    bad: str = ""
    good: str = ""
    format: str = "hermes"
    layer: str = ""
    owner: str = ""

    def __post_init__(self) -> None:
        if not _CODE.fullmatch(self.code) or not _NAME.fullmatch(self.name):
            raise ValueError(
                f"a rule needs a code such as J104 and a name such as trailing-comma, got {self.code} {self.name}"
            )

    def __str__(self) -> str:
        return f"{self.code} {self.name}"
