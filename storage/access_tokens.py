"""Tokens with which people open the dashboard of a team's database.

A token is 192 random bits; the database keeps its SHA-256 alone. So many bits need no slow hash: nobody can try them
all. A token that is lost is revoked and made anew.
"""

import hashlib
import secrets
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from inspector.errors import StoreError
from storage import tables
from storage.engine import Database
from storage.packing.blobs import escaped, unescaped

_BYTES = 24
_PREFIX = "wl_"  # what a scanner for secrets can search for
_LONGEST_NAME = 80
_token = tables.access_token.c


class TokenRole(StrEnum):
    """What the holder of a token may do."""

    READ = "read"
    """See every trace."""
    WRITE = "write"
    """Also set marks, import, and send requests again."""


class AccessToken(Struct, frozen=True):
    """A token without its secret; times are seconds since 1970-01-01 UTC.

    `revoked_at_s` is None where nobody revoked it, `expires_at_s` where it does not end by itself.
    """

    name: str
    role: TokenRole
    made_at_s: float
    revoked_at_s: float | None = None
    expires_at_s: float | None = None

    def is_valid(self, now_s: float) -> bool:
        """Whether it opens the dashboard at that time."""
        return self.revoked_at_s is None and (self.expires_at_s is None or now_s < self.expires_at_s)


class AccessTokens:
    """The tokens of a store: `Store.tokens`. Errors as `Store` raises them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, role: TokenRole, *, expires_at_s: float | None = None) -> str:
        """Make a token and give it: it cannot be read again.

        StoreError where a valid one has that name, or it would have ended already.
        """
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise StoreError(f"a token's name has 1 to {_LONGEST_NAME} characters, all of them printable")
        now_s = time.time()
        if expires_at_s is not None and expires_at_s <= now_s:
            raise StoreError("the token would have ended already; name a later date")
        word = _PREFIX + secrets.token_urlsafe(_BYTES)
        with self._database.writing() as connection:
            if connection.scalar(sa.select(_token.id).where(*_valid(name, now_s))) is not None:
                raise StoreError(f"there is a token named `{name}`; revoke it first, or choose another name")
            row = {"name": escaped(name), "role": role.value, "digest": _digest(word)}
            times = {"made_at_s": now_s, "expires_at_s": expires_at_s}
            connection.execute(sa.insert(tables.access_token), row | times)
        return word

    def revoke(self, name: str) -> None:
        """Make the valid token of that name invalid. StoreError where there is none."""
        now_s = time.time()
        with self._database.writing() as connection:
            change = sa.update(tables.access_token).where(*_valid(name, now_s)).values(revoked_at_s=now_s)
            if not connection.execute(change).rowcount:
                raise StoreError(f"no valid token is named `{name}`; `weaklink db token list` shows all")

    def all(self) -> Sequence[AccessToken]:
        """Every token, the oldest first, those that were revoked or have ended too."""
        with self._database.reading() as connection:
            found = connection.execute(_selected().order_by(_token.id))
            return [_read(row) for row in found]

    def holder(self, word: str) -> AccessToken | None:
        """The valid token that this word is; None where it is none."""
        with self._database.reading() as connection:
            row = connection.execute(_selected().where(_token.digest == _digest(word))).first()
        held = None if row is None else _read(row)
        return held if held is not None and held.is_valid(time.time()) else None


def _selected() -> "sa.Select[*tuple[Any, ...]]":
    return sa.select(_token.name, _token.role, _token.made_at_s, _token.revoked_at_s, _token.expires_at_s)


def _read(row: Sequence[Any]) -> AccessToken:
    name, role, *times = row
    return AccessToken(unescaped(name), TokenRole(role), *times)


def _valid(name: str, now_s: float) -> tuple[sa.ColumnElement[bool], ...]:
    lasts = sa.or_(_token.expires_at_s.is_(None), _token.expires_at_s > now_s)
    return _token.name == escaped(name), _token.revoked_at_s.is_(None), lasts


def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode(errors="surrogatepass")).digest()
