"""The filter language: words and `key:value` under `and`, `or` and `not`, read, understood and turned into SQL."""

from storage.filter.parsing import FilterCompletion, check_filter, complete_filter, filter_value, parse_filter
from storage.filter.terms import KEYS, Field, Filter, FilterError, FilterKey, PhraseTerm

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
