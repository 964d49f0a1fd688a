"""The entry point of the command `weaklink`: runs the command group with the arguments of this process."""

import gc
import sys

from inspector.version import __version__


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"weaklink {__version__}\n")
        sys.exit(0)
    gc.disable()  # a fifth of the start: it would go over all that is loaded, again and again, and free nothing
    from ui.cli.group import run  # noqa: PLC0415  # Click takes longer to load than Python to start

    sys.exit(run())
