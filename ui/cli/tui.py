"""`weaklink tui`: the terminal debugger."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice, progress_bar, require_extra
from weaklink.ui.cli.declaring import COULD_NOT_RUN
from weaklink.ui.views.styled_text import counted


@declaring.command("tui")
@click.argument("trace", metavar="[ID|LINK|FILE]", required=False)
@click.option("--against", metavar="ID", help="Compare the trace with this one; `r` then shows both requests.")
@click.option("--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces that match.")
@click.option(
    "--theme",
    type=click.Choice(["auto", "dark", "light", "ansi"]),
    default="auto",
    show_default=True,
    help="Colours; `ansi` leaves them to the terminal. `auto` follows NO_COLOR and what the terminal reports.",
)
@declaring.database_option
@click.pass_context
def tui(
    ctx: click.Context, trace: str | None, *, against: str | None, expression: str, theme: str, where: str | None
) -> None:
    """Browse traces in the terminal; a trace opens at the step where it broke.

    ID opens a trace at once. A link opens the place that it points to: `weaklink://trace/12?step=4`, which `y` copies,
    or the address of a trace in the web page. FILE opens a file of training data, with the faults that `data lint`
    finds in each row, or any log that `import` reads; nothing of it is stored. `?` shows all keys; change them in
    keymap.toml in your config folder, or in the file that WEAKLINK_KEYMAP names.
    """
    if against is not None and trace is None:
        raise click.UsageError("--against compares two traces; name both: `weaklink tui 15 --against 12`.")
    require_extra("tui", module="textual", use="`weaklink tui`")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_notice("`tui` requires a terminal; `weaklink list` and `weaklink show` do not")
        ctx.exit(COULD_NOT_RUN)
    from weaklink.ui.tui.app import WeaklinkApp  # noqa: PLC0415  # Textual takes 170 ms to load; not needed above
    from weaklink.ui.tui.app import tune_memory as settle  # noqa: PLC0415  # the same

    with _opened(trace) as opened:
        settle()
        database, notice = opened or (None, "")
        WeaklinkApp(
            database or where,
            trace=trace if database is None else None,
            against=against,
            filter_text=expression,
            theme=theme,
            is_temporary=database is not None,
            notice=notice,
        ).run()


@contextmanager
def _opened(trace: str | None) -> Iterator[tuple[str, str] | None]:
    """A temporary database of the file that `trace` names, and what it lacks; None if `trace` does not name a file."""
    if trace is None or trace.isdecimal() or not Path(trace).is_file():
        yield None
        return
    from weaklink.ui.importing.opened_file import store_file  # noqa: PLC0415  # loads the importers, which an id does not need

    with tempfile.TemporaryDirectory(prefix="weaklink-") as folder:
        database = Path(folder, Path(trace).name)  # as the screen names it
        with progress_bar("Reading") as advance:
            unreadable = store_file(trace, database, advance)
        lacks = (
            f"{counted(unreadable, 'record')} could not be read; `weaklink check` shows where." if unreadable else ""
        )
        yield str(database), lacks
