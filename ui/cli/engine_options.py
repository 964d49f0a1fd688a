"""The options `--jobs`, `--engine`, `--resume` and `--ray-address` of every command that works through many files."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from ui.importing.engine import BLOCK_BYTES, EngineOptions

_jobs = click.option(
    "--jobs",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of workers; 0 for one per core. The output is the same for any number."
    "  [default: 1; with --engine ray, one per CPU of the cluster]",
)
engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Work in processes of this machine, or on a Ray cluster (needs the extra `cluster`).",
)
_resume = click.option(
    "--resume", metavar="DIR", help="Keep finished blocks in DIR; the same command goes on from there."
)
block_size_option = click.option(
    "--block-size",
    type=click.FloatRange(min=0.001),
    default=BLOCK_BYTES >> 20,
    show_default=True,
    metavar="MIB",
    help="Size of the pieces that workers take, in MiB.",
)
ray_address_option = click.option(
    "--ray-address",
    envvar="RAY_ADDRESS",
    metavar="ADDRESS",
    help="The Ray cluster to use.  [env: RAY_ADDRESS; default: a cluster on this machine]",
)
_OPTIONS = (_jobs, engine_option, _resume, block_size_option, ray_address_option)


def engine_of(
    jobs: int | None, engine: str, block_size: float, address: str | None, resume: str | None = None
) -> EngineOptions:
    """The options as one value; `block_size` is in MiB."""
    workers = jobs if jobs is not None else (0 if engine == "ray" else 1)
    return EngineOptions(engine, workers, resume, address, int(block_size * (1 << 20)))


_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def jobs_option(command: _Decorated) -> _Decorated:
    """Adds the options; the command gets them as one `EngineOptions`, called `jobs`."""

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

    for option in reversed(_OPTIONS):
        option(with_engine)
    return cast("_Decorated", with_engine)
