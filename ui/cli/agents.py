"""`weaklink mcp` and `weaklink skill`: what coding agents use to ask why a run failed."""

import shlex
import sys
from importlib import resources
from pathlib import Path

import click

from weaklink.inspector.errors import WeaklinkError
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import require_extra


@click.group("skill", cls=declaring.CommandGroup)
def skill() -> None:
    """Install weaklink's skill, a page that explains to coding agents when and how to use it."""


@declaring.command("mcp")
@declaring.database_option
@click.option("--http", is_flag=True, help="Serve streamable HTTP on this machine instead of standard streams.")
@click.option("--port", default=8791, show_default=True, type=click.IntRange(1, 65535), help="The port for --http.")
@click.option("--allow-run", default="", metavar="COMMAND", help="Let agents replay runs of just this command.")
def mcp(where: str | None, *, http: bool, port: int, allow_run: str) -> None:
    """Serve the database to coding agents, as an MCP server.

    Its tools list traces, explain why one broke, show characters, compare two runs, explain rules and check texts. They
    only read; with `--allow-run` one more runs COMMAND with a recorded run's answers, offline. Answers are bounded, and
    secrets in them are masked.
    """
    require_extra("mcp", module="mcp", use="`weaklink mcp`")
    from weaklink.ui.agent_server import agent_server  # noqa: PLC0415  # an extra, checked first

    server = agent_server(where, shlex.split(allow_run))
    if http:
        server.run("streamable-http", host="127.0.0.1", port=port, stateless_http=True)
    else:
        server.run("stdio")


@skill.command("install")
@click.option("--to", "folder", required=True, metavar="DIR", help="The agent's folder of skills: `.claude/skills`.")
def install_skill(folder: str) -> None:
    """Write the skill to DIR/weaklink/SKILL.md, in place of an older one."""
    text = resources.files("weaklink.ui").joinpath("skill", "SKILL.md").read_text(encoding="utf-8")
    path = Path(folder) / "weaklink" / "SKILL.md"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WeaklinkError(f"cannot write {path}: {error.strerror or error}") from error
    sys.stdout.write(f"{path}\n")
