"""The entry point of the command `weaklink`: checks that its packages are its own, then runs the command group."""

import sys

from ui.cli.group import run


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    sys.exit(run())
