"""The subcommands by name, with what `--help` says of them, so that only the one that runs is imported."""

from types import MappingProxyType
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """Where a subcommand lies (`module:attribute`), and its line in the list of commands."""

    place: str
    summary: str


COMMANDS = MappingProxyType(
    {
        "demo": CommandEntry(
            "ui.cli.demo:demo", "See it work: import the sample traces and show what broke, and where."
        ),
        "segment": CommandEntry(
            "ui.cli.segment:segment_text", "Cut one raw model output into spans, calls and diagnostics."
        ),
        "import": CommandEntry("ui.cli.import_paths:import_paths", "Put log files into the database."),
        "record": CommandEntry(
            "ui.cli.record:record", "Record what agents and models say: a proxy for any model server."
        ),
        "log": CommandEntry("ui.cli.log:log", "Record a model's output from a pipe or a growing file, live."),
        "tail": CommandEntry(
            "ui.cli.tail:tail", "Follow what is being recorded: spans as they close, faults as they appear."
        ),
        "list": CommandEntry(
            "ui.cli.list_traces:list_traces", "List the traces in the database, with status and break."
        ),
        "show": CommandEntry("ui.cli.show:show", "Show one trace: its turns, its chain, and what is wrong."),
        "search": CommandEntry("ui.cli.search:search", "Find words in the texts of the traces in the database."),
        "tui": CommandEntry(
            "ui.cli.tui:tui", "Browse the traces in the terminal, and land on the link where one broke."
        ),
        "stats": CommandEntry(
            "ui.cli.stats:stats", "Measure traces: how often calls and chains hold, by model, tool, prompt."
        ),
        "check": CommandEntry("ui.cli.check:check", "Inspect log files without a database; for CI."),
        "web": CommandEntry("ui.cli.web:web", "Show the database in a browser: what breaks, how often, and where."),
        "report": CommandEntry(
            "ui.cli.report:report", "Write what breaks and the worst chains as HTML pages for others."
        ),
        "fix": CommandEntry("ui.cli.fix:fix", "Repair training data where a repair is safe, as a copy, with a diff."),
        "export": CommandEntry(
            "ui.cli.export:export", "Write traces as a trace file, JSON, Markdown or one HTML page."
        ),
        "annotate": CommandEntry(
            "ui.cli.annotate:annotate", "Write data flow and decision points, a JSON object a trace."
        ),
        "diff": CommandEntry("ui.cli.diff:diff", "Show where runs of one task part, and what differs there."),
        "reinspect": CommandEntry("ui.cli.reinspect:reinspect", "Inspect the traces in the database again."),
        "db": CommandEntry(
            "ui.cli.database:database", "Look after the database: upgrade, check, backup, stats, prune."
        ),
        "convert": CommandEntry("ui.cli.convert:convert", "Rewrite raw outputs and conversations into another format."),
        "rule": CommandEntry("ui.cli.rules:rule", "Explain one rule."),
        "rules": CommandEntry("ui.cli.rules:rules", "List every rule."),
        "formats": CommandEntry(
            "ui.cli.formats:formats", "List the formats that weaklink reads, or detect that of a text."
        ),
        "completion": CommandEntry(
            "ui.cli.completion:completion", "Print the script that completes commands in your shell."
        ),
    }
)
