"""`weaklink mcp` and `weaklink skill`: what coding agents use to ask why a run failed."""

import shlex
import sys
from importlib import resources
from pathlib import Path

from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.cli.console import require_extra


def mcp(where: str | None, *, http: bool, port: int, allow_run: str) -> None:
    """`weaklink mcp`; see its help."""
    require_extra("mcp", module="mcp", use="`weaklink mcp`")
    from weaklink.ui.agent_server import agent_server  # noqa: PLC0415  # an extra, checked first

    server = agent_server(where, shlex.split(allow_run))
    if http:
        server.run("streamable-http", host="127.0.0.1", port=port, stateless_http=True)
    else:
        server.run("stdio")


def install_skill(folder: str) -> None:
    """`weaklink skill install`; see its help. Raises WeaklinkError if the file cannot be written."""
    text = resources.files("weaklink.ui").joinpath("skill", "SKILL.md").read_text(encoding="utf-8")
    path = Path(folder) / "weaklink" / "SKILL.md"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WeaklinkError(f"cannot write {path}: {error.strerror or error}") from error
    sys.stdout.write(f"{path}\n")
