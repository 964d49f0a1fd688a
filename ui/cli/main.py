"""The entry point of the command `weaklink`."""

import sys

from ui.cli.neighbours import strangers


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    said = strangers()
    if said is not None:
        sys.stderr.write(f"weaklink: {said}\n")
        sys.exit(2)
    from ui.cli.group import run  # noqa: PLC0415  # a stranger named `inspector` must be seen before it is imported

    sys.exit(run())
