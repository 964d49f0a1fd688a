"""The options of the engine that processes many files: how many workers there are, and where they run."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from weaklink.ui.cli import declaring
from weaklink.ui.importing.engine import BLOCK_BYTES, EngineOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])

engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Work in processes of this machine, or on a Ray cluster (needs the extra `cluster`).",
)
block_size_option = click.option(
    "--block-size",
    type=click.FloatRange(min=0.001),
    default=BLOCK_BYTES >> 20,
    show_default=True,
    metavar="MIB",
    help="Size of the blocks that workers process, in MiB.",
)
ray_address_option = click.option(
    "--ray-address",
    envvar="RAY_ADDRESS",
    metavar="ADDRESS",
    help="The Ray cluster to use.  [env: RAY_ADDRESS; default: a cluster on this machine]",
)
_all_options = declaring.all_of(
    click.option(
        "--jobs",
        type=click.IntRange(min=0),
        metavar="N",
        help="Number of workers; 0 for one per core. The output is the same for any number."
        "  [default: 1; with --engine ray, one per CPU of the cluster]",
    ),
    engine_option,
    click.option("--resume", metavar="DIR", help="Keep finished blocks in DIR; the same command continues from there."),
    block_size_option,
    ray_address_option,
)


def jobs_options(command: _Command) -> _Command:
    """Options of a command that processes many files; it gets them as one `EngineOptions`, in the argument `jobs`."""

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

    return cast("_Command", _all_options(with_engine))


def engine_of(
    jobs: int | None, engine: str, block_size: float, address: str | None, resume: str | None = None
) -> EngineOptions:
    """The options as one value; `block_size` is in MiB, `jobs` is None for the engine's default."""
    workers = jobs if jobs is not None else (0 if engine == "ray" else 1)
    return EngineOptions(engine, workers, resume, address, int(block_size * (1 << 20)))
