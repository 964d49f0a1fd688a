"""`weaklink web`: the dashboard in a browser."""

import secrets
import sys

import click

from inspector.host_header import is_loopback
from storage import open_store
from ui.cli.options import database_option
from ui.web.access import Access, links
from ui.web.terminal import visible_output

_RANDOM = "random"


@click.command("web")
@database_option
@click.option("--port", default=8789, show_default=True, type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on.")
@click.option("--token", default="", metavar="WORD", help="What browsers must show; `random` makes one up.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A host name that browsers may call it by.")
def web(where: str | None, *, port: int, host: str, token: str, names: tuple[str, ...]) -> None:
    """Serve the dashboard: which models, tools and prompts break chains, how often, and where.

    It listens on this machine alone. Another address needs `--token`, since whoever can open the page can read every
    trace. Nothing leaves the machine: no usage statistics, no fonts, no links that are followed. Ctrl-C ends it.
    """
    word = secrets.token_urlsafe(18) if token == _RANDOM else token
    access = Access(host, port, word, tuple(name.lower() for name in names))
    open_store(where, read_only=True).close()
    with visible_output():
        from ui.web.server import serve  # noqa: PLC0415  # Streamlit takes 300 ms to load

        for address in links(access):
            sys.stderr.write(f"weaklink: the dashboard is at {address} (Ctrl-C ends it)\n")
        serve(access, where, is_local=is_loopback(host.strip("[]")))
