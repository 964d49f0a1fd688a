"""Where the work on many files runs, and which paths need an engine."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from weaklink.inspector.importers.source import is_url
from weaklink.ui.importing.input_files import find_files

BLOCK_BYTES = 8 << 20
"""The default size of a block in bytes; a row group or a line may be longer."""

TABLE_SUFFIXES = (".parquet", ".arrow")
"""The suffixes of table files; their rows can only be read in blocks."""


class EngineOptions(Struct, frozen=True):
    """Where work runs. `jobs` is the number of workers; 0 means one per core, or one per CPU of the cluster.

    `resume` is the folder for finished blocks, `address` the address of a Ray cluster; without one, a local cluster is
    started. `block_bytes` is the size of a block.
    """

    engine: str = "local"
    jobs: int = 1
    resume: str | None = None
    address: str | None = None
    block_bytes: int = BLOCK_BYTES

    @property
    def is_plain(self) -> bool:
        """Whether the work needs neither blocks nor another process."""
        return self.engine == "local" and self.jobs == 1 and self.resume is None


IN_PROCESS = EngineOptions()
"""Work in this process only."""


def needs_blocks(paths: Sequence[str]) -> bool:
    """Whether any path is a URL, a table (Parquet, Arrow), or a folder or pattern that contains tables."""
    return any(is_url(path) or _has_tables(path) for path in paths)


def _has_tables(path: str) -> bool:
    if path.lower().endswith(TABLE_SUFFIXES):
        return True
    return not Path(path).is_file() and any(file.path.lower().endswith(TABLE_SUFFIXES) for file in find_files([path]))
