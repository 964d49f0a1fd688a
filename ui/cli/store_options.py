"""Shared by commands that read a database: filters and traces as arguments, and maintenance before reading."""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from click.shell_completion import CompletionItem
from platformdirs import user_cache_path

from weaklink.inspector.atomic_write import whole_file
from weaklink.inspector.errors import StoreError, WeaklinkError
from weaklink.inspector.json_text import write_json
from weaklink.storage.filter import KEYS, FilterError, parse_filter
from weaklink.storage.store import Store, open_store
from weaklink.ui.cli.console import print_notice, progress_bar
from weaklink.ui.views.styled_text import cell_width, counted, visible_line

_BEFORE, _AFTER = 60, 20  # code points shown around the error in a filter
LOCK_TIMEOUT_S = 2.0
"""How long a reading command waits while another program writes."""

_BATCH_TRACES = 100
_TERM = re.compile(r"\s*(?:(?:not\b|[(-])\s*)*(\w+):")
_MAX_MARKED = 100_000


def filter_of(words: Sequence[str], expression: str = "") -> str:
    """The filter of the words on a command line, combined with `expression` by `and`.

    If one of the two is invalid, prints it to stderr with a caret at the error, and raises FilterError.
    """
    filters = [text for text in (" ".join(words), expression) if text.strip()]
    for text in filters:
        _check(text)
    return filters[0] if len(filters) == 1 else " ".join(f"({text})" for text in filters)


def paths_and_filter(words: Sequence[str], expression: str) -> tuple[list[str], str]:
    """The words of a command line that name files, and the filter of the others, combined with `expression`.

    All words are paths, unless one begins with a filter key, such as `since:1d`, and does not name a file.
    """
    if not any(map(_is_term, words)):
        return list(words), expression
    paths = [word for word in words if Path(word).exists()]
    return paths, filter_of([word for word in words if word not in paths], expression)


def _is_term(word: str) -> bool:
    key = _TERM.match(word)
    return key is not None and key[1] in KEYS and not Path(word).exists()


def _check(text: str) -> None:
    try:
        parse_filter(text)
    except FilterError as error:
        start = max(0, error.position - _BEFORE)
        before = visible_line(text[start : error.position])
        after = visible_line(text[error.position : error.position + _AFTER])
        sys.stderr.write(f"  {before}{after}\n  {' ' * cell_width(before)}^\n")
        raise


def filter_completions(where: str | None, incomplete: str) -> list[CompletionItem]:
    """Completions from the filter language and the database; none if there is no database yet."""
    try:
        with open_store(where, create=False) as store:
            completions = store.complete(incomplete)
    except WeaklinkError:
        return []
    return [
        CompletionItem(incomplete[: completion.start] + completion.text, help=completion.what)
        for completion in completions
    ]


def remember_list(store: Store, ids: Sequence[int]) -> None:
    """Save which traces a list showed, so that `@3` names the third of them; a failure to save is ignored."""
    path = _last_list()
    kept = write_json({"database": str(store.location), "ids": list(ids)})
    with suppress(OSError, WeaklinkError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as out:
            out.write(kept)


def trace_id(store: Store, word: str) -> int:
    """The number of the trace that a word names; `@3` is the third of the list that was shown last (`#3` in 0.2).

    Raises StoreError if there is none; if the word is a file, the message names the commands that read files.
    """
    if not re.fullmatch(r"[@#][1-9]\d{0,8}", word):
        try:
            return store.summary(word).id
        except StoreError:
            if not os.path.isfile(word):  # noqa: PTH113 - a Path raises if the word is too long
                raise
            file = shlex.quote(word)
            commands = f"`weaklink check {file}` inspects it, `weaklink tui {file}` opens it"
            raise StoreError(
                f"`{word}` is a file, not a trace: {commands}, `weaklink import {file}` imports it"
            ) from None
    ids = _listed_ids(store, word)
    if int(word[1:]) > len(ids):
        raise StoreError(f"there is no `{word}`: the last list showed {counted(len(ids), 'trace')}")
    return store.summary(ids[int(word[1:]) - 1]).id


def trace_ids(store: Store, words: Sequence[str]) -> list[int]:
    """The numbers of the traces that words name: `@marked` and `@shown` (in the last list) mean several, each once.

    Raises StoreError if there is none.
    """
    ids: list[int] = []
    for word in words:
        match word:
            case "@marked":
                ids += sorted(trace.id for trace in store.traces("marked:yes", limit=_MAX_MARKED))
            case "@shown":
                ids += _listed_ids(store, word)
            case _:
                ids.append(trace_id(store, word))
    if not ids:
        raise StoreError("no trace is marked; `m` in `weaklink tui` marks one")
    return list(dict.fromkeys(ids)) if {"@marked", "@shown"}.intersection(words) else ids


def _listed_ids(store: Store, word: str) -> list[int]:
    """The ids that the last list of this database showed. Raises StoreError if there is no such list."""
    try:
        kept = json.loads(_last_list().read_text(encoding="utf-8"))
        ids = kept["ids"] if kept["database"] == str(store.location) else None
    except (OSError, ValueError, KeyError, TypeError):
        ids = None
    if not isinstance(ids, list):
        raise StoreError(
            f"`{word}` refers to the last list of this database, and `weaklink list` has not shown one yet"
        )
    return ids


def _last_list() -> Path:
    return user_cache_path("weaklink", appauthor=False) / "last-list.json"


def recover_traces(store: Store) -> None:
    """End the traces whose recorder was killed, so that none is shown as running forever."""
    try:
        store.recover()
    except StoreError as error:
        print_notice(
            f"the traces of a killed recorder could not be closed; they are shown as far as they were read: {error}"
        )


def fill_text_index(store: Store) -> None:
    """Add the traces that are not indexed yet to the text index."""
    waiting = store.maintenance.stats().not_indexed
    try:
        with progress_bar("adding traces to the text index", waiting) as advance:
            while waiting > 0 and (done := store.search.index_pending(limit=_BATCH_TRACES)):
                advance(done)
                waiting -= done
    except StoreError as error:
        print_notice(f"the text index could not be written: {error}")
