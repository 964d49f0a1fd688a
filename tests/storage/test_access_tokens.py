"""Tokens: their secret is given once and kept nowhere, and a revoked one opens nothing."""

import time

import pytest
import sqlalchemy as sa

from weaklink.inspector.errors import StoreError
from weaklink.storage import tables
from weaklink.storage.access_tokens import TokenRole
from weaklink.storage.store import Store


def test_a_token_is_known_by_its_word_alone(store: Store) -> None:
    word = store.tokens.create("ann", TokenRole.WRITE)
    held = store.tokens.holder(word)
    assert held is not None
    assert (held.name, held.role, held.revoked_at_s) == ("ann", TokenRole.WRITE, None)
    for other in ("", "ann", word[:-1], word + "x", word.upper(), "\ud800"):
        assert store.tokens.holder(other) is None
    assert word != store.tokens.create("bob", TokenRole.READ)


def test_the_database_holds_no_word(store: Store) -> None:
    word = store.tokens.create("ann", TokenRole.READ)
    with store._database.reading() as connection:
        kept = repr(connection.execute(sa.select(tables.access_token)).all())
    assert word not in kept
    assert word.removeprefix("wl_") not in kept


def test_a_revoked_token_opens_nothing_and_its_name_is_free(store: Store) -> None:
    first = store.tokens.create("ann", TokenRole.READ)
    with pytest.raises(StoreError, match="a token named `ann` already exists"):
        store.tokens.create("ann", TokenRole.WRITE)
    store.tokens.revoke("ann")
    assert store.tokens.holder(first) is None
    second = store.tokens.create("ann", TokenRole.WRITE)
    assert store.tokens.holder(first) is None
    assert store.tokens.holder(second) is not None
    assert [(turn.name, turn.role, turn.revoked_at_s is None) for turn in store.tokens.all()] == [
        ("ann", TokenRole.READ, False),
        ("ann", TokenRole.WRITE, True),
    ]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[31m", "a\0", "x" * 81, "\ud800"])
def test_a_name_that_would_not_be_seen_is_refused(store: Store, name: str) -> None:
    with pytest.raises(StoreError, match="printable"):
        store.tokens.create(name, TokenRole.READ)
    assert store.tokens.all() == []


def test_what_is_not_there_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(StoreError, match="no valid token named `ann`"):
        store.tokens.revoke("ann")


def test_a_token_ends_when_it_was_to_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = time.time()
    word = store.tokens.create("ann", TokenRole.READ, expires_at_s=now_s + 90 * 86_400)
    (kept,) = store.tokens.all()
    assert kept.expires_at_s == now_s + 90 * 86_400
    assert store.tokens.holder(word) == kept
    monkeypatch.setattr("weaklink.storage.access_tokens.time.time", lambda: now_s + 90 * 86_400 - 1)
    assert store.tokens.holder(word) == kept
    monkeypatch.setattr("weaklink.storage.access_tokens.time.time", lambda: now_s + 90 * 86_400)
    assert store.tokens.holder(word) is None
    with pytest.raises(StoreError, match="no valid token named `ann`"):
        store.tokens.revoke("ann")
    assert store.tokens.holder(store.tokens.create("ann", TokenRole.WRITE)) is not None
    assert store.tokens.holder(word) is None


def test_a_token_that_would_have_ended_is_not_made(store: Store) -> None:
    with pytest.raises(StoreError, match="would already be expired"):
        store.tokens.create("ann", TokenRole.READ, expires_at_s=time.time() - 1)
    assert store.tokens.all() == []
