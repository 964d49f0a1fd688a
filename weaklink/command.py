"""The entry point of the command `weaklink`, and of `python -m weaklink`."""

import sys

from weaklink.own_packages import NameCollisionError, prefer_own_packages, require_own


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code.

    A folder of the user that has an `inspector`, `storage` or `ui` of its own does not get in the way.
    """
    prefer_own_packages()
    try:
        for name in ("inspector", "storage", "ui"):
            require_own(name)
    except NameCollisionError as error:
        sys.stderr.write(f"weaklink: {error}\n")
        sys.exit(2)
    from ui.cli.main import main as run  # noqa: PLC0415  # the packages are checked before one is imported

    run()
