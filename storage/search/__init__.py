"""Full-text search: each kind of database has its own index, which the migrations make.

SQLite: an FTS5 table without content, one row a trace. PostgreSQL: pieces of a trace as tsvector under a GIN index.
Both know words without case, accents and punctuation; both find a word however it was cut into chunks.
"""

from storage.search.asking import are_cheaper_than, count_up_to, holding, holding_among, holds_phrase
from storage.search.filling import forget, index_some
from storage.search.nearest import newest_holding
from storage.search.phrases import Phrase

__all__ = [
    "Phrase",
    "are_cheaper_than",
    "count_up_to",
    "forget",
    "holding",
    "holding_among",
    "holds_phrase",
    "index_some",
    "newest_holding",
]
