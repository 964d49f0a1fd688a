"""Runs the command `weaklink`; its entry point, `weaklink.command`, first checks the packages."""

import sys

from ui.cli.group import run


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    sys.exit(run())
