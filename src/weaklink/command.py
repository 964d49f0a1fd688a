"""The entry point of the command `weaklink`, and of `python -m weaklink`."""

import gc
import sys

from weaklink.inspector.version import __version__


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"weaklink {__version__}\n")
        sys.exit(0)
    gc.disable()  # saves a fifth of the start: it would scan all loaded objects repeatedly and free nothing
    from weaklink.ui.cli.group import run  # noqa: PLC0415  # Click takes longer to load than Python to start

    sys.exit(run())
