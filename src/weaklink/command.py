"""The entry point of the command `weaklink`, and of `python -m weaklink`."""

import gc
import os
import sys

from weaklink.inspector.version import __version__

_REPEAT_AFTER_S = 0.01
_INTERRUPTED = 130


def main() -> None:
    """Run the command with the arguments of this process, and exit with its code."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed_streams()
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"weaklink {__version__}\n")
        sys.exit(0)
    sys.unraisablehook = _interrupt_again
    gc.disable()  # saves a fifth of the start: it would scan all loaded objects repeatedly and free nothing
    try:
        from weaklink.ui.cli.group import run  # noqa: PLC0415  # Click takes longer to load than Python to start
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    sys.exit(run())


def _interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Repeat a Ctrl-C that Python dropped, since it came while a finalizer or a weak reference's callback ran."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    from signal import SIGINT, pthread_kill  # noqa: PLC0415  # no other start needs them
    from threading import Timer, main_thread  # noqa: PLC0415

    # At once, it would be dropped here; and `_thread.interrupt_main` ends no wait.
    Timer(_REPEAT_AFTER_S, pthread_kill, (main_thread().ident, SIGINT)).start()


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller closed (`>&-`).

    Its number would otherwise be that of the next file, such as the database, and be written to by other programs.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, so this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115  # to the end
