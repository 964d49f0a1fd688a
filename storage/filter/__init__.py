"""The filter: words and `key:value`, read, understood and turned into SQL."""

from storage.filter.parsing import FilterError, parse_filter
from storage.filter.terms import KEYS, Field, Filter, Key, Words

__all__ = ["KEYS", "Field", "Filter", "FilterError", "Key", "Words", "parse_filter"]
