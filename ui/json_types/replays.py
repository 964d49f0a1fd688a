"""What `replay` prints with `--json`."""

from typing import NotRequired, TypedDict


class InjectionJson(TypedDict):
    kind: str
    turn: int
    rules: list[str]
    found: list[str]
    status: str
    exit_code: int
    was_sent: bool


class InjectionRowJson(TypedDict):
    """A row of `--inject all`: an injected fault, or only a kind and the reason why it is not possible."""

    kind: str
    status: str
    turn: NotRequired[int]
    rules: NotRequired[list[str]]
    found: NotRequired[list[str]]
    exit_code: NotRequired[int]
    was_sent: NotRequired[bool]
    reason: NotRequired[str]


class ReplayDifferenceJson(TypedDict):
    kind: str
    pointer: str
    message: int | None
    recorded: str
    live: str
    recorded_range: list[int] | None
    live_range: list[int] | None
    tool: str | None


class IgnoredDifferenceJson(ReplayDifferenceJson):
    request: int


class ReplayDivergenceJson(TypedDict):
    kind: str
    request: int
    method: str
    path: str
    recorded_request: int | None
    turn: int | None
    differences: list[ReplayDifferenceJson]


class ReplayTracesJson(TypedDict):
    recorded: int
    live: int


class ReplayJson(TypedDict):
    recorded: int
    replayed: int
    requests: int
    live: int
    ignored: list[IgnoredDifferenceJson]
    divergences: list[ReplayDivergenceJson]
    traces: ReplayTracesJson | None
    exit_code: int
