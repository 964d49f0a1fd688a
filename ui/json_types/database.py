"""What `weaklink db` prints with `--json`."""

from typing import Literal, TypedDict


class DatabaseCheckJson(TypedDict):
    database: str
    problems: list[str]
    traces: int
    turns: int
    toolsets: int
    without_checksums: int
    outdated: int


DatabaseCopyJson = TypedDict(
    "DatabaseCopyJson",
    {
        "from": str,
        "to": str,
        "copied": int,
        "replaced": int,
        "present": int,
        "running": int,
        "tokens_left_out": int,
        "problems": list[str],
    },
)


class DatabaseStatsJson(TypedDict):
    database: str
    size_bytes: int
    traces: int
    by_status: dict[str, int]
    turns: int
    characters: int
    chunks: int
    tool_calls: int
    errors: int
    tools: int
    not_indexed: int
    outdated: int


class AccessTokenJson(TypedDict):
    name: str
    role: Literal["read", "write"]
    made_at_s: float
    revoked_at_s: float | None
    expires_at_s: float | None


class AccessTokensJson(TypedDict):
    tokens: list[AccessTokenJson]
