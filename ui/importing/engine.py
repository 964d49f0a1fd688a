"""Where work over many files runs: the options of an engine, and which paths need one."""

from collections.abc import Sequence

from msgspec import Struct

from inspector.importers.source import is_url

BLOCK_BYTES = 8 << 20
"""How many bytes of a file a block has, unless somebody says otherwise; a row group or a line may be longer."""

_TABLE_SUFFIX = ".parquet"


class EngineOptions(Struct, frozen=True):
    """Where work runs. `jobs` is the number of workers, 0 for one per core or as many as the cluster has.

    `resume` is the folder in which finished blocks are kept, `address` that of a Ray cluster; without one a local
    cluster is started. `block_bytes` is the size of a block.
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
"""No other process."""


def needs_blocks(paths: Sequence[str]) -> bool:
    """Whether any path is a URL or a Parquet file, which only the plan of blocks reads."""
    return any(is_url(path) or path.lower().endswith(_TABLE_SUFFIX) for path in paths)
