"""Completion in bash, which cuts words at `:` and `=`: a filter such as `status:br` must be seen, and given, whole."""

import os
import re

from click.shell_completion import BashComplete, CompletionItem, split_arg_string

_BREAK = re.compile(r"[\s\"'@><=;|&(:]")
_WORDS, _LINE = 'COMP_WORDS="${COMP_WORDS[*]}"', 'COMP_WORDS="${COMP_LINE:0:COMP_POINT}"'


class WholeWords(BashComplete):
    """Click's, but it is told the line up to the cursor, and answers with what bash takes for the last word alone."""

    source_template = BashComplete.source_template.replace(_WORDS, _LINE)
    name = "bash"
    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and that one as far as it is written."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        begun = words.pop() if words and not line[-1:].isspace() else ""
        is_quoted = any(line.count(mark) % 2 for mark in "\"'")
        ends = [0] if is_quoted else [found.end() for found in _BREAK.finditer(begun)]
        self._before = begun[: max(ends, default=0)]
        return words[1:], begun

    def format_completion(self, item: CompletionItem) -> str:
        """One line: what kind it is, and what stands in the place of bash's word."""
        return f"{item.type},{str(item.value).removeprefix(self._before)}"
