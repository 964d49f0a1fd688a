"""The subcommands by name, with what `--help` says of them, so that only the one that runs is imported."""

from types import MappingProxyType
from typing import NamedTuple


class Entry(NamedTuple):
    """Where a subcommand lies (`module:attribute`), and its line in the list of commands."""

    place: str
    summary: str


COMMANDS = MappingProxyType(
    {
        "demo": Entry("ui.cli.demo:demo", "See it work: import the sample traces and show what broke, and where."),
        "segment": Entry("ui.cli.segment:segment_text", "Cut one raw model output into spans, calls and diagnostics."),
        "import": Entry("ui.cli.import_paths:import_paths", "Put log files into the database."),
        "record": Entry("ui.cli.record:record", "Record what agents and models say: a proxy for any model server."),
        "log": Entry("ui.cli.log:log", "Record a model's output from a pipe or a growing file, live."),
        "tail": Entry("ui.cli.tail:tail", "Follow what is being recorded: spans as they close, faults as they appear."),
        "list": Entry("ui.cli.list_traces:list_traces", "List the traces in the database, with status and break."),
        "show": Entry("ui.cli.show:show", "Show one trace: its turns, its chain, and what is wrong."),
        "search": Entry("ui.cli.search:search", "Find words in the texts of the traces in the database."),
        "tui": Entry("ui.cli.tui:tui", "Browse the traces in the terminal, and land on the link where one broke."),
        "stats": Entry(
            "ui.cli.stats:stats", "Measure traces: how often calls and chains hold, by model, tool, prompt."
        ),
        "check": Entry("ui.cli.check:check", "Inspect log files without a database; for CI."),
        "web": Entry("ui.cli.web:web", "Show the database in a browser: what breaks, how often, and where."),
        "report": Entry("ui.cli.report:report", "Write what breaks and the worst chains as HTML pages for others."),
        "fix": Entry("ui.cli.fix:fix", "Repair training data where a repair is safe, as a copy, with a diff."),
        "export": Entry("ui.cli.export:export", "Write traces as a trace file, JSON, Markdown or one HTML page."),
        "annotate": Entry("ui.cli.annotate:annotate", "Write data flow and decision points, a JSON object a trace."),
        "diff": Entry("ui.cli.diff:diff", "Show where runs of one task part, and what differs there."),
        "reinspect": Entry("ui.cli.reinspect:reinspect", "Inspect the traces in the database again."),
        "db": Entry("ui.cli.database:database", "Look after the database: upgrade, check, backup, stats, prune."),
        "convert": Entry("ui.cli.convert:convert", "Rewrite raw outputs and conversations into another format."),
        "rule": Entry("ui.cli.rules:rule", "Explain one rule."),
        "rules": Entry("ui.cli.rules:rules", "List every rule."),
        "formats": Entry("ui.cli.formats:formats", "List the formats that weaklink reads, or detect that of a text."),
        "completion": Entry("ui.cli.completion:completion", "Print the script that completes commands in your shell."),
    }
)
