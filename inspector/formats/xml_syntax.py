"""What a dialect's calls with parameters in tags look like: the tags, and how values stand between them."""

import re
from dataclasses import dataclass, field

from inspector.segmenter.ahead import Ahead, Run

NAME = Run(r'[^<>"\n]', 1, 128)
"""A name within a tag, of a tool or a parameter."""


@dataclass(frozen=True, slots=True)
class XmlSyntax:
    """The tags of a call.

    `call` opens a call, its group is the tool's name; None where that name stands bare, up to the first tag. `call_end`
    closes it; "" where the span's own closing marker does. `opener` and `closer` are the markers of the span around,
    and `lead` is what of the call's tag the opener already holds.

    `parameter` opens a parameter: its groups are the name and, where the wire tells the type, the type, of which
    `text_type` says that the value is a text; any other is JSON. `parameter_begins` is what every such tag begins with,
    `shown_parameter` such a tag as a template shows it, `parameter_end` closes a value. `own_lines` says that a value
    stands on lines of its own: one line feed on each side is not part of it. `anywhere` says that the tags are special
    tokens, so that one counts wherever it stands in a line.
    """

    call: Ahead | None
    call_end: str
    parameter: Ahead
    parameter_begins: str
    shown_parameter: str
    parameter_end: str
    opener: str
    closer: str
    lead: str = ""
    call_begins: str = ""
    text_type: str = ""
    own_lines: bool = False
    anywhere: bool = False
    tags: re.Pattern[str] = field(init=False, repr=False)
    in_value: re.Pattern[str] = field(init=False, repr=False)
    longest: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        opens = _ungrouped(self.parameter.whole.pattern)
        begins = re.escape(self.parameter_begins)
        kinds = {
            "parameter": opens,
            "end": re.escape(self.parameter_end),
            "call": _ungrouped(self.call.whole.pattern) if self.call is not None else "",
            "call_end": re.escape(self.call_end),
            "bad": rf"{begins}[^<>\n]*>?",
        }
        tags = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items() if pattern)
        object.__setattr__(self, "tags", re.compile(tags))
        object.__setattr__(self, "in_value", re.compile(f"({opens})|{re.escape(self.parameter_end)}"))
        longest = max(self.parameter.longest, self.call.longest if self.call is not None else 0, len(self.call_end))
        object.__setattr__(self, "longest", max(longest, len(self.parameter_end)))

    @property
    def first(self) -> str:
        """The character that every tag begins with."""
        return self.parameter_end[0]


def _ungrouped(pattern: str) -> str:
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)
