"""Options that several commands share."""

import click

color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours; `auto` heeds NO_COLOR and the terminal.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, whose form is stable.")
database_option = click.option(
    "--db",
    "where",
    envvar="WEAKLINK_DB",
    metavar="PATH_OR_URL",
    help="The database: a file, or a PostgreSQL URL.  [env: WEAKLINK_DB; default: weaklink.db in your data folder]",
)
