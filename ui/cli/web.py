"""`weaklink web`: serve the dashboard, with hostile characters in its terminal output made visible."""

import io
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import TextIO

import click
from click.core import ParameterSource
from msgspec.structs import replace

from weaklink.inspector.errors import StoreError
from weaklink.inspector.host_header import is_loopback
from weaklink.storage.schema import NoDatabaseYetError
from weaklink.storage.store import open_store
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import interrupt_on_signals, require_extra
from weaklink.ui.importing.result_tables import ResultsFolder
from weaklink.ui.views.styled_text import visible
from weaklink.ui.web.guard import Access, links

_RANDOM = "random"


class VisibleStream(io.TextIOBase):
    """A stream that writes to another one, with hostile characters made visible."""

    def __init__(self, to: TextIO) -> None:
        self._to = to

    def write(self, text: str, /) -> int:
        """Write `text` with hostile characters made visible."""
        self._to.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Flush the other stream."""
        self._to.flush()

    def writable(self) -> bool:
        """Always True."""
        return True


@contextmanager
def visible_output() -> Iterator[None]:
    """Make hostile characters in all terminal output of this block visible. Enter it before loggers get the streams."""
    with redirect_stdout(VisibleStream(sys.stdout)), redirect_stderr(VisibleStream(sys.stderr)):
        yield


@declaring.command("web")
@declaring.database_option
@click.option(
    "--port", default=8789, show_default=True, type=click.IntRange(0, 65535), help="The port; 0: any free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on.")
@click.option(
    "--token",
    default="",
    envvar="WEAKLINK_TOKEN",
    metavar="WORD",
    help="A token that browsers must send; `random` generates one.",
)
@click.option("--tokens", is_flag=True, help="Accept the tokens of the database; see `weaklink db token`.")
@click.option("--user-header", default="", metavar="HEADER", help="The header in which a reverse proxy names the user.")
@click.option("--on", "results", metavar="DIR", help="Show the results that `import --to DIR` wrote; folder or URL.")
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="A host name under which browsers may open the dashboard."
)
def web(
    where: str | None,
    *,
    port: int,
    host: str,
    token: str,
    tokens: bool,
    user_header: str,
    names: tuple[str, ...],
    results: str | None,
) -> None:
    """Serve the dashboard: which models, tools and prompts break chains, how often, and where.

    Listens on this machine only. Another address requires `--token` or `--tokens`, since anyone who can open the page
    can read every trace. Nothing leaves the machine: no usage statistics, no fonts, no links are loaded. Press Ctrl-C
    to stop.
    """
    require_extra("web", module="streamlit", use="`weaklink web`")
    secret = secrets.token_urlsafe(18) if token == _RANDOM else token
    access = Access(
        host, port, secret, tuple(name.lower() for name in names), stored_tokens=tokens, user_header=user_header
    )
    if results is not None:
        if tokens or click.get_current_context().get_parameter_source("where") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--on shows results instead of a database: omit --db and --tokens.")
        ResultsFolder(results).dataset("traces")
    else:
        _check_database(where, needs_tokens=tokens)
    with visible_output():
        from weaklink.ui.web.server import free_port, serve  # noqa: PLC0415  # Streamlit takes 300 ms to load

        access = replace(access, port=free_port(access))
        for address in links(access):
            sys.stderr.write(f"weaklink: the dashboard is at {address} (Ctrl-C ends it)\n")
        interrupt_on_signals()  # uvicorn raises the signal that ended it again
        with suppress(KeyboardInterrupt):
            serve(access, where, is_local=is_loopback(host.strip("[]")), results=results or "")


def _check_database(where: str | None, *, needs_tokens: bool) -> None:
    """Raise StoreError before anything is served if the database cannot be read, or has no valid token."""
    if not needs_tokens:
        with suppress(NoDatabaseYetError):  # the page then opens on its imports
            open_store(where, read_only=True).close()
        return
    with open_store(where, read_only=True) as store:
        if not any(token.is_valid(time.time()) for token in store.tokens.all()):
            raise StoreError("this database has no tokens yet; `weaklink db token create NAME` creates one")
