"""`weaklink import` without a path, or with the names of agents: what the agents on this machine wrote."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from weaklink.inspector.importers.places import FoundLog, found_logs, sources_with_places
from weaklink.inspector.json_text import write_json
from weaklink.inspector.model import Json
from weaklink.storage import FilterError
from weaklink.storage.filter import FilterKey
from weaklink.storage.filter.reading import moment_in
from weaklink.ui.cli.console import line_width, print_lines, print_notice
from weaklink.ui.views.styled_text import Line, Run, Style, counted, short_age, table_lines, visible_line

_OTHER = "-"


def discovered_paths(
    paths: Sequence[str], since: str | None, project: str | None, *, lists_only: bool, as_json: bool, color: str
) -> tuple[str, ...] | None:
    """The logs of agents on this machine: all without paths; None if `paths` are paths.

    A path that names an agent, and no file, means the logs of that agent. What was found is printed, by agent and
    project if `lists_only`. `project` leaves out the logs that begin with another project's folder; those that name
    none at their beginning stay, since their sessions may be of several projects.
    """
    agents = [path for path in paths if path in sources_with_places() and not Path(path).exists()]
    if paths and len(agents) < len(paths):
        if agents or lists_only or since is not None:
            raise click.UsageError("--discover, --since and the names of agents cannot be combined with a PATH.")
        return None
    first_s = 0.0 if since is None else _moment(since)
    logs = [log for log in found_logs(agents) if log.modified_s >= first_s]
    if project is not None:
        logs = [log for log in logs if log.project in (project, "")]
    if lists_only and as_json:
        sys.stdout.write(write_json([_object(log) for log in logs]) + "\n")
    elif not logs:
        names = ", ".join(agents or sources_with_places())
        print_notice(f"no logs of agents were found in their usual places ({names}); name a PATH")
    elif lists_only:
        print_lines(_lines(logs), color=color)
    else:
        found = ", ".join(dict.fromkeys(log.source for log in logs))
        print_notice(f"found {counted(len(logs), 'log')} of {found}")
    return tuple(log.path for log in logs)


def _moment(since: str) -> float:
    try:
        term = moment_in(FilterKey.SINCE, since, 0)
    except FilterError as error:
        raise click.BadParameter(str(error), param_hint="--since") from error
    return time.time() - term.at_s if term.is_ago else term.at_s


def _object(log: FoundLog) -> dict[str, Json]:
    return {
        "source": log.source,
        "path": log.path,
        "project": log.project,
        "size_bytes": log.size_bytes,
        "modified_s": log.modified_s,
    }


def _lines(logs: Sequence[FoundLog]) -> Iterator[Line]:
    """A row for each agent and project: how many logs, the age of the newest, and the folder of the newest."""
    groups: dict[tuple[str, str], list[FoundLog]] = {}
    for log in logs:
        groups.setdefault((log.source, log.project), []).append(log)
    now_s = time.time()
    rows: list[list[Line]] = []
    for (source, project), listed in groups.items():
        newest = max(listed, key=lambda log: log.modified_s)
        rows.append(
            [
                (Run(source, Style.STRONG),),
                (Run(visible_line(project) or _OTHER),),
                (Run(str(len(listed))),),
                (Run(f"{short_age(max(now_s - newest.modified_s, 0))} ago"),),
                (Run(visible_line(str(Path(newest.path).parent)), Style.DIM),),
            ]
        )
    yield from table_lines(
        rows, width=line_width(), heads=("agent", "project", "logs", "newest", "where"), numbers=(2, 3), widest=40
    )
