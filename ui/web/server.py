"""Starts the dashboard: Streamlit's Starlette application behind the guard."""

import socket
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from inspector.errors import WeaklinkError
from ui.web.access import Access
from ui.web.guard import Guard
from ui.web.policy import index_page, security_headers
from ui.web.serving import Serving, serve_from
from ui.web.theme import theme_options
from ui.web.ticks import Ticks

SCRIPT = Path(__file__).parent / "script" / "weaklink_page.py"
"""The page's script. It lies alone in its folder, since Streamlit puts that folder first on the path."""

_MOST_UPLOAD_MB = 500  # Streamlit says 512 as 1 GB
_OPTIONS = {
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.enableStaticServing": False,
    "server.maxUploadSize": _MOST_UPLOAD_MB,
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",  # they lead to search engines, with the error in their address
    "client.showSidebarNavigation": True,
    "logger.hideWelcomeMessage": True,
    "logger.enableRich": False,  # it would write to standard output, in colours
}


def serve(access: Access, where: str | None, *, is_local: bool) -> None:
    """Serve the dashboard over the database until it is interrupted. WeaklinkError where the port is taken."""
    _refuse_taken(access)
    serve_from(Serving(where, is_local=is_local))
    guard = Middleware(Guard, access=access, headers=security_headers(index_page()))
    options = {**_OPTIONS, **theme_options(), "server.address": access.host, "server.port": access.port}
    App(SCRIPT, middleware=[guard, Middleware(Ticks)]).run(config=options)


def _refuse_taken(access: Access) -> None:
    """Say in a sentence what the server would say in a traceback."""
    try:
        found = socket.getaddrinfo(access.host, access.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise WeaklinkError(
            f"the dashboard cannot listen on {access.host}, port {access.port}: {error.strerror}"
        ) from error
