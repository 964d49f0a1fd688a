"""Access tokens for the dashboard of a team's database.

A token is 192 random bits; the database stores only its SHA-256. With so many bits, brute force is infeasible and no
slow hash is needed. A lost token is revoked and replaced with a new one.
"""

import hashlib
import secrets
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from weaklink.inspector.errors import StoreError
from weaklink.storage import tables
from weaklink.storage.engine import Database
from weaklink.storage.packing.blobs import escaped, unescaped

_BYTES = 24
_PREFIX = "wl_"  # lets secret scanners find tokens
_MAX_NAME_CHARS = 80
_token = tables.access_token.c


class TokenRole(StrEnum):
    """The permissions of a token."""

    READ = "read"
    """May see every trace."""
    WRITE = "write"
    """May also set marks, import, and send requests again."""


class AccessToken(Struct, frozen=True):
    """A token without its secret; times are in seconds since 1970-01-01 UTC.

    `revoked_at_s` is None if it was not revoked, `expires_at_s` if it does not expire.
    """

    name: str
    role: TokenRole
    made_at_s: float
    revoked_at_s: float | None = None
    expires_at_s: float | None = None

    def is_valid(self, now_s: float) -> bool:
        """Whether the token is accepted at that time."""
        return self.revoked_at_s is None and (self.expires_at_s is None or now_s < self.expires_at_s)


class AccessTokens:
    """The tokens of a store: `Store.tokens`. Raises the same errors as `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, role: TokenRole, *, expires_at_s: float | None = None) -> str:
        """Create a token and return it; it cannot be read again.

        StoreError if a valid token has this name, or if `expires_at_s` is not in the future.
        """
        if not name.strip() or len(name) > _MAX_NAME_CHARS or not name.isprintable():
            raise StoreError(f"a token name must have 1 to {_MAX_NAME_CHARS} printable characters")
        now_s = time.time()
        if expires_at_s is not None and expires_at_s <= now_s:
            raise StoreError("the token would already be expired; choose a later date")
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        with self._database.writing() as connection:
            if connection.scalar(sa.select(_token.id).where(*_valid(name, now_s))) is not None:
                raise StoreError(f"a token named `{name}` already exists; revoke it first, or choose another name")
            row = {"name": escaped(name), "role": role.value, "digest": _digest(secret)}
            times = {"made_at_s": now_s, "expires_at_s": expires_at_s}
            connection.execute(sa.insert(tables.access_token), row | times)
        return secret

    def revoke(self, name: str) -> None:
        """Revoke the valid token with this name. StoreError if there is none."""
        now_s = time.time()
        with self._database.writing() as connection:
            change = sa.update(tables.access_token).where(*_valid(name, now_s)).values(revoked_at_s=now_s)
            if not connection.execute(change).rowcount:
                raise StoreError(f"no valid token named `{name}`; `weaklink db token list` lists all tokens")

    def all(self) -> Sequence[AccessToken]:
        """Every token, the oldest first, including revoked and expired ones."""
        with self._database.reading() as connection:
            result = connection.execute(_selected().order_by(_token.id))
            return [_read(row) for row in result]

    def holder(self, word: str) -> AccessToken | None:
        """The valid token with this secret; None if there is none."""
        with self._database.reading() as connection:
            row = connection.execute(_selected().where(_token.digest == _digest(word))).first()
        token = None if row is None else _read(row)
        return token if token is not None and token.is_valid(time.time()) else None


def _selected() -> "sa.Select[*tuple[Any, ...]]":
    return sa.select(_token.name, _token.role, _token.made_at_s, _token.revoked_at_s, _token.expires_at_s)


def _read(row: Sequence[Any]) -> AccessToken:
    name, role, *times = row
    return AccessToken(unescaped(name), TokenRole(role), *times)


def _valid(name: str, now_s: float) -> tuple[sa.ColumnElement[bool], ...]:
    unexpired = sa.or_(_token.expires_at_s.is_(None), _token.expires_at_s > now_s)
    return _token.name == escaped(name), _token.revoked_at_s.is_(None), unexpired


def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode(errors="surrogatepass")).digest()
