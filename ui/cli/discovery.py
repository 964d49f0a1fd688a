"""`weaklink import` without a path, or with the names of agents: what the agents on this machine wrote."""

import sys
import time
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from msgspec import structs

from weaklink.inspector.importers.places import FoundLog, found_logs, sources_with_places
from weaklink.inspector.json_text import write_json
from weaklink.ui.cli.console import line_width, print_lines, print_notice
from weaklink.ui.views.styled_text import Line, counted, table_lines, visible_line


def discovered_paths(
    paths: Sequence[str],
    since: str | None,
    project: str | None,
    *,
    lists_only: bool,
    where: str | None,
    as_json: bool,
    color: str,
) -> tuple[str, ...] | None:
    """The logs of agents on this machine: all without paths; None if `paths` are paths.

    A path that names an agent, and no file, means the logs of that agent. What was found is printed; if `lists_only`,
    by agent and project, with how many logs the database `where` does not have. `project` leaves out the logs that
    begin with another project's folder; those that name none stay, since their sessions may be of several projects.
    """
    agents = [path for path in paths if path in sources_with_places() and not Path(path).exists()]
    if paths and len(agents) < len(paths):
        if agents or lists_only or since is not None:
            raise click.UsageError("--discover, --since and the names of agents cannot be combined with a PATH.")
        notice_unknown_agents(paths)
        return None
    first_s = 0.0 if since is None else _moment(since)
    logs = [log for log in found_logs(agents) if log.modified_s >= first_s]
    if project is not None:
        logs = [log for log in logs if log.project in (project, "")]
    if lists_only and as_json:
        sys.stdout.write(write_json([structs.asdict(log) for log in logs]) + "\n")
    elif not logs:
        names = ", ".join(agents or sources_with_places())
        print_notice(f"no logs of agents were found in their usual places ({names}); name a PATH")
    elif lists_only:
        print_lines(_lines(logs, where), color=color)
    else:
        sources = ", ".join(dict.fromkeys(log.source for log in logs))
        print_notice(f"found {counted(len(logs), 'log')} of {sources}")
    return tuple(log.path for log in logs)


def notice_unknown_agents(paths: Sequence[str]) -> None:
    """Print a hint for each path that is no file, no folder and no agent, but resembles an agent's name."""
    missing = [path for path in paths if path not in sources_with_places() and not Path(path).exists()]
    if missing:
        _notice_names(missing)


def _notice_names(paths: Sequence[str]) -> None:
    from weaklink.inspector.importers.registry import source_names  # noqa: PLC0415  # loads every importer: heavy

    for path in paths:
        nearest = get_close_matches(path.lower(), sources_with_places(), n=1)
        if path in source_names():
            print_notice(f"the logs of {path} have no usual place; name a PATH")
        elif nearest:
            print_notice(f"there is no file {visible_line(path)}; did you mean the agent {nearest[0]}?")


def _moment(since: str) -> float:
    from weaklink.storage.filter import FilterError, FilterKey  # noqa: PLC0415  # loads SQLAlchemy
    from weaklink.storage.filter.reading import moment_in  # noqa: PLC0415  # the same

    try:
        term = moment_in(FilterKey.SINCE, since, 0)
    except FilterError as error:
        raise click.BadParameter(str(error), param_hint="--since") from error
    return time.time() - term.at_s if term.is_ago else term.at_s


def _lines(logs: Sequence[FoundLog], where: str | None) -> Iterator[Line]:
    """A row for each agent and project: how many logs, how many of them are new, the age and folder of the newest."""
    from weaklink.ui.importing.discovered_logs import (  # noqa: PLC0415  # loads SQLAlchemy
        LOG_COLUMNS,
        NUMBER_COLUMNS,
        log_groups,
    )

    now_s = time.time()
    yield from table_lines(
        [group.cells(now_s) for group in log_groups(logs, where)],
        width=line_width(),
        heads=LOG_COLUMNS,
        numbers=NUMBER_COLUMNS,
        widest=40,
    )
