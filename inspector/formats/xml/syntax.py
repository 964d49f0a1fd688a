"""The syntax of calls with parameters in tags: the tags, and how values are placed between them."""

import re
from functools import cached_property

from msgspec import Struct

from weaklink.inspector.scanning import MAX_ROUNDS
from weaklink.inspector.segmenter.table import Lookahead, Repeat

NAME = Repeat(r'[^<>"\n]', 1, 128)
"""A name within a tag, of a tool or a parameter."""

QUOTED_NAME = Repeat(r'[^>"\n]', 1, 128)
"""A name in quotes within a tag."""

EMPTY_ENDS = ('"/>', '" />')
"""The ends of a tag that closes itself, from the quote after a name on."""

BARE_NAME = r"[^\s<>{}\"'`]+"
"""An expression for a tool's name outside any tag."""


class TagSlip(Struct, frozen=True):
    """A tag that is not quite the format's: `replacement`, a template for its match, belongs in place of group 1.

    `problem` is the message's beginning, with the fields `tag` for the match and `part` for group 1.
    """

    pattern: re.Pattern[str]
    replacement: str
    problem: str


class XmlSyntax(Struct, frozen=True, dict=True):
    """The tags of a call.

    `call` opens a call, its group is the tool's name; None if that name is bare text up to the first tag. `call_end`
    closes the call; "" if the span's own closing marker does. `opener` and `closer` are the markers of the span, and
    `lead` is the part of the call's tag that the opener already contains.

    `parameter` opens a parameter. Its groups are the name and, if the wire has types, the type; the type `text_type`
    means that the value is a text, any other that it is JSON. `parameter_begins` is the beginning of every such tag,
    `shown_parameter` such a tag as messages show it (and `shown_call` a call's). `parameter_end` closes a value, or
    `end_tag` if that tag repeats the parameter's name. `own_lines` says that a value is on separate lines: one line
    feed on each side is not part of it. `anywhere` says that the tags are special tokens, so that a tag counts at any
    position in a line. `bad_tag` is an expression for the rest of a tag that is not whole; a value follows it unless
    `bad_is_empty`. A call's tag without its end (`>`) is read anyway, and flagged.

    `slips` are what models write in place of a tag.

    `key` matches a name in tags of its own, group 1, then a stray closing tag of a name, group 2, and the tag that
    opens the value, group 3, if they are there.
    """

    call: Lookahead | None
    call_end: str
    parameter: Lookahead
    parameter_begins: str
    shown_parameter: str
    parameter_end: str
    opener: str
    closer: str
    lead: str = ""
    call_begins: str = ""
    shown_call: str = ""
    end_tag: Lookahead | None = None
    bad_tag: str = r"""["']?[\w.-]*["']?(?: [a-z]+="[^"<>\n]*"?)?>?"""
    bad_is_empty: bool = False
    slips: tuple["TagSlip", ...] = ()
    key: re.Pattern[str] | None = None
    text_type: str = ""
    own_lines: bool = False
    anywhere: bool = False

    @cached_property
    def tags(self) -> re.Pattern[str]:
        """Finds any tag, whole or malformed; its groups are named by the kind of tag."""
        # The tag of a call whose end is missing: after the name a line ends, or another tag begins.
        unfinished = rf"""{re.escape(self.call_begins)}[^<>"'\n]{{1,128}}+["']?(?=[ \t]*+(?:\n|<))"""
        kinds = {
            "call": _ungrouped(self.call.expression) if self.call is not None else "",
            "call_end": re.escape(self.call_end),
            "parameter": _ungrouped(self.parameter.expression),
            "end": _ungrouped(self.closes.expression),
            "bad": re.escape(self.parameter_begins) + self.bad_tag,
            "bad_call": unfinished if self.call is not None and self.call_begins else "",
        }
        # A fixed first character lets `re` skip the text between tags.
        first = re.escape(self.first)
        alternatives = "|".join(f"(?P<{kind}>{pattern[len(first) :]})" for kind, pattern in kinds.items() if pattern)
        return re.compile(f"{first}(?:{alternatives})")

    @cached_property
    def in_value(self) -> re.Pattern[str]:
        """Finds in a value the opening tag of a parameter, as group 1, or the tag that closes a value."""
        first = re.escape(self.first)
        opens, closes = _ungrouped(self.parameter.expression), _ungrouped(self.closes.expression)
        return re.compile(f"{first}(?:({opens[len(first) :]})|{closes[len(first) :]})")

    @cached_property
    def other_parameter(self) -> re.Pattern[str] | None:
        """Matches a parameter's tag with another word in place of `parameter`, group `word`; None if tags lack it."""
        before, word, after = self.parameter.expression.partition("parameter")
        return re.compile(rf"{before}(?!{word}\b)(?P<word>[A-Za-z_][\w-]{{0,63}}){after}") if word else None

    @cached_property
    def longest(self) -> int:
        """The length of the longest tag, in characters."""
        call = self.call.longest if self.call is not None else 0
        return max(len(self.call_end), self.parameter.longest, self.closes.longest, call)

    # A regular call: its head, parameters in whose values no tag begins, its tail.

    @cached_property
    def head(self) -> re.Pattern[str]:
        """Matches the tag of a regular call."""
        head = self.call.expression if self.call is not None else rf"({BARE_NAME})(?=\s*(?:<|\Z))"
        return re.compile(rf"{head}\s*")

    @cached_property
    def regular(self) -> re.Pattern[str]:
        """Matches a regular parameter."""
        first = re.escape(self.first)
        marks = (self.parameter_begins, self.end_begins, self.call_begins, self.call_end, self.value_begins)
        data = "|".join(re.escape(mark[1:]) for mark in marks if mark)
        value = rf"([^{first}]*+(?:{first}(?!{data})[^{first}]*+){{0,{MAX_ROUNDS}}})"
        end = _ungrouped(self.closes.expression) if self.end_tag is None else self.end_tag.expression
        return re.compile(rf"{self.parameter.expression}{value}({end})\s*")

    @cached_property
    def tail(self) -> re.Pattern[str]:
        """Matches the end of a regular call."""
        return re.compile(rf"{re.escape(self.call_end)}\s*\Z")

    def closes_value_of(self, name: str) -> str:
        """The tag that closes the value of this parameter."""
        return f"{self.parameter_end}{name}>" if self.end_tag is not None else self.parameter_end

    @property
    def value_begins(self) -> str:
        """The tag right before a value."""
        return self.shown_parameter[self.shown_parameter.rindex("<") :]

    @property
    def end_begins(self) -> str:
        """The tag that closes a value, up to its first token's end."""
        return self.parameter_end[: self.parameter_end.find(">") + 1] or self.parameter_end

    @property
    def closes(self) -> Lookahead:
        """The tag that closes a value."""
        return self.end_tag or Lookahead(self.parameter_end)

    @property
    def first(self) -> str:
        """The character that every tag begins with."""
        return self.parameter_end[0]


def _ungrouped(pattern: str) -> str:
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)
