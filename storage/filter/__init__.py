"""The filter language: words and `key:value` with `and`, `or` and `not`; parsed, planned and compiled to SQL."""

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
