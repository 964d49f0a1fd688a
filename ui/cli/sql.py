"""`weaklink sql`: run one SQL statement on results that `weaklink import --to DIR` wrote."""

import csv
import sys

import click

from weaklink.inspector.errors import StoreError
from weaklink.inspector.json_text import write_json
from weaklink.storage.console import QueryResult
from weaklink.storage.console.sql_executor import ask_tables
from weaklink.ui.cli import declaring
from weaklink.ui.cli.console import print_notice, screen_width
from weaklink.ui.importing.result_tables import TABLES, ResultsFolder
from weaklink.ui.views.styled_text import visible_line

_MAX_WIDTH = 60


@declaring.command("sql")
@click.argument("statement", metavar="SELECT")
@click.option("--on", "where", required=True, metavar="DIR", help="The folder or URL that `import --to` wrote.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Maximum rows.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@declaring.json_option
def sql(statement: str, *, where: str, limit: int, as_csv: bool, as_json: bool) -> None:
    """Run one SELECT over results in Parquet, with DuckDB (the extra `duckdb`).

    The tables are traces, turns, calls, steps and diagnostics; docs/scaling.md lists their columns. The statement can
    read nothing else, and runs for at most 10 seconds in 1 GB. --json prints one object per row.

    \b
    Examples:
      weaklink sql 'SELECT status, count(*) FROM traces GROUP BY 1' --on results/
      weaklink sql 'SELECT code, count(*) AS n FROM diagnostics GROUP BY 1 ORDER BY n DESC' --on s3://bucket/results
    """
    folder = ResultsFolder(where)
    try:
        result = ask_tables({name: folder.dataset(name) for name in TABLES}, statement, limit=limit)
    except ImportError as error:
        raise StoreError("`weaklink sql` needs `duckdb` and `pyarrow`: pip install 'weaklink[duckdb]'") from error
    _print(result, as_csv=as_csv, as_json=as_json)
    for note in result.notes:
        print_notice(note)


def _print(result: QueryResult, *, as_csv: bool, as_json: bool) -> None:
    if as_json:
        for row in result.rows:
            sys.stdout.write(write_json(dict(zip(result.columns, row, strict=True))) + "\n")
    elif as_csv:
        csv.writer(sys.stdout).writerows([result.columns, *result.rows])
    else:
        sys.stdout.writelines(f"{line}\n" for line in _table(result))


def _table(result: QueryResult) -> list[str]:
    cells = [[visible_line("" if value is None else str(value))[:_MAX_WIDTH] for value in row] for row in result.rows]
    heads = [visible_line(name)[:_MAX_WIDTH] for name in result.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (heads, *cells)]
    return [line.rstrip()[: max(screen_width(), 40)] for line in lines]
