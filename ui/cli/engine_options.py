"""The value that `--jobs`, `--engine`, `--resume`, `--block-size` and `--ray-address` make together."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from ui.importing.engine import EngineOptions


def engine_of(
    jobs: int | None, engine: str, block_size: float, address: str | None, resume: str | None = None
) -> EngineOptions:
    """The options as one value; `block_size` is in MiB."""
    workers = jobs if jobs is not None else (0 if engine == "ray" else 1)
    return EngineOptions(engine, workers, resume, address, int(block_size * (1 << 20)))


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def takes_engine(command: _Decorated) -> _Decorated:
    """Hands the options on to `command` as one `EngineOptions`, called `jobs`."""

    @wraps(command)
    def with_engine(
        *args: Any,
        jobs: int | None,
        engine: str,
        resume: str | None,
        block_size: float,
        ray_address: str | None,
        **options: Any,
    ) -> Any:
        return command(*args, jobs=engine_of(jobs, engine, block_size, ray_address, resume), **options)

    return cast("_Decorated", with_engine)
