"""Files that appear or grow while a folder is watched, each as far as it is whole."""

import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.importers.rows import layout_of
from inspector.importers.source import HEAD_BYTES
from ui.importing.file_places import files_below
from ui.importing.placed_file import PlacedFile

_AT_REST_S = 1.0
_PATIENCE = 4
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class _State:
    """What the file system says of a file; another one is another content."""

    inode: int
    size_bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class _Taken:
    """What was handed out of a file: as it was then, how much of it, and when it may be looked at again."""

    state: _State
    size_bytes: int
    again_at_s: float = 0.0

    def is_all_of(self, state: _State) -> bool:
        """Whether nothing has come since."""
        return self.state == state and self.size_bytes == state.size_bytes


class PathWatcher:
    """Finds what is to be imported below some paths; a path may come to be there later.

    A file is handed out when it is at rest, unchanged since the last look; one of JSON lines also while it grows, as
    far as its lines are whole. A large file that grows all the time is not read again before four times as long has
    passed as reading it took. `clock` counts seconds and never goes back.
    """

    def __init__(self, paths: Sequence[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._seen: dict[str, _State] = {}
        self._taken: dict[str, _Taken] = {}

    def due(self) -> list[PlacedFile]:
        """What has appeared or grown since it was last handed out."""
        now_s = self._clock()
        seen: dict[str, _State] = {}
        found = []
        for path in files_below(self._paths):
            state = _state(path)
            if state is None or path in seen:
                continue
            seen[path] = state
            file = self._if_due(path, state, now_s)
            if file is not None:
                found.append(file)
        self._seen = seen
        return found

    def took(self, file: PlacedFile, seconds: float) -> None:
        """Reading a file took so long."""
        known = self._taken.get(file.path)
        if known is not None:
            self._taken[file.path] = replace(known, again_at_s=self._clock() + _PATIENCE * seconds)

    def forget(self) -> None:
        """Everything is to be imported again."""
        self._taken.clear()

    def _if_due(self, path: str, state: _State, now_s: float) -> PlacedFile | None:
        taken = self._taken.get(path)
        if taken is not None and (now_s < taken.again_at_s or taken.is_all_of(state)):
            return None
        before = self._seen.get(path)
        is_at_rest = before == state or (before is None and time.time() - state.modified_ns / 1e9 > _AT_REST_S)
        size_bytes = state.size_bytes if is_at_rest else _whole_lines_bytes(path, state.size_bytes)
        has_more = taken is None or taken.state.inode != state.inode or taken.size_bytes != size_bytes
        if not size_bytes or not (has_more or is_at_rest):
            return None
        self._taken[path] = _Taken(state, size_bytes)
        return PlacedFile(path, size_bytes=size_bytes)


def _state(path: str) -> _State | None:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):  # ValueError: a path that no file can have
        return None
    if not stat.S_ISREG(found.st_mode):  # a pipe has no size, and opening it may wait forever
        return None
    return _State(found.st_ino, found.st_size, found.st_mtime_ns)


def _whole_lines_bytes(path: str, size_bytes: int) -> int:
    """How many bytes of a file of JSON lines end with a line; 0 for a file of another layout, and where none does."""
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(min(HEAD_BYTES, size_bytes))
            if not head.startswith(b"{") or layout_of(head) != "line":
                return 0
            end = size_bytes
            while end > 0:
                start = max(end - _BLOCK, 0)
                stream.seek(start)
                at = stream.read(end - start).rfind(b"\n")
                if at >= 0:
                    return start + at + 1
                end = start
    except OSError:
        return 0
    return 0
