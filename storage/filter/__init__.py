"""The filter language: words and `key:value` with `and`, `or` and `not`; parsed, planned and compiled to SQL.

Theory of operation. A filter goes through four stages, each in its own module:

1. `grammar` splits the text into words, phrases and fields, and combines them: next to each other means `and`, which
   binds closer than `or`. Lark's parser decides; limits on terms and nesting keep a hostile filter cheap.
2. `reading` turns each field into a term, by the kind of its key: a list of values, a number with a unit, a moment, or
   a path into arguments. It raises FilterError with the position and what to write instead.
3. `sql.with_default_terms` adds what lists leave out unless a filter asks for it (answers to experiments).
4. `sql.conditions_of` makes one SQL condition of each term. The database's planner orders them.

So the text

    status:broken (tool:search or "no such file") tokens:>10k

becomes the terms, joined by `and`,

    Field(STATUS, ("broken",))
    AnyTerm((Field(TOOL, ("search",)), PhraseTerm("no such file")))
    NumberTerm(TOKENS, MORE, 10000.0)

and these the conditions

    trace.status IN ('broken')
    trace.id IN (SELECT trace_id FROM trace_tool WHERE name IN ('search'))
      OR trace.id IN (SELECT rowid FROM search_text WHERE search_text MATCH '"no such file"')
    trace.tokens > 10000

`parsing` is the entry: it parses a whole filter, or completes the term at a position. `wildcards` decides which stored
values a value with `*` means.
"""

from weaklink.storage.filter.parsing import FilterCompletion, check_filter, complete_filter, filter_value, parse_filter
from weaklink.storage.filter.terms import KEYS, Field, Filter, FilterError, FilterKey, PhraseTerm

__all__ = [
    "KEYS",
    "Field",
    "Filter",
    "FilterCompletion",
    "FilterError",
    "FilterKey",
    "PhraseTerm",
    "check_filter",
    "complete_filter",
    "filter_value",
    "parse_filter",
]
