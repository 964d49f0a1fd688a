"""The entry point of the command `weaklink`, and of `python -m weaklink`."""

import gc
import sys

from weaklink.own_packages import NameCollisionError, prefer_own_packages, require_own


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code.

    An `inspector`, `storage` or `ui` in a folder of the user does not hide weaklink's package of that name.
    """
    prefer_own_packages()
    try:
        for name in ("inspector", "storage", "ui"):
            require_own(name)
    except NameCollisionError as error:
        sys.stderr.write(f"weaklink: {error}\n")
        sys.exit(2)
    from weaklink.inspector.version import __version__  # noqa: PLC0415  # the packages are checked before one is imported

    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"weaklink {__version__}\n")
        sys.exit(0)
    gc.disable()  # saves a fifth of the start: it would scan all loaded objects repeatedly and free nothing
    from weaklink.ui.cli.group import run  # noqa: PLC0415  # Click takes longer to load than Python to start

    sys.exit(run())
