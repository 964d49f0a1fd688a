"""`weaklink tui`: the terminal debugger."""

import sys

import click

_COULD_NOT_RUN = 2


@click.pass_context
def tui(
    ctx: click.Context, trace: str | None, *, against: str | None, expression: str, theme: str, where: str | None
) -> None:
    """`weaklink tui`; see its help."""
    if against is not None and trace is None:
        raise click.UsageError("--against compares two traces; name both: `weaklink tui 15 --against 12`.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("weaklink: `tui` requires a terminal; `weaklink list` and `weaklink show` do not\n")
        ctx.exit(_COULD_NOT_RUN)
    from ui.tui.app import WeaklinkApp  # noqa: PLC0415  # Textual takes 170 ms to load, which a refusal need not pay
    from ui.tui.app import tune_memory as settle  # noqa: PLC0415  # of the same package

    settle()
    WeaklinkApp(where, trace=trace, against=against, filter_text=expression, theme=theme).run()
