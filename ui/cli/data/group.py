"""The command group `weaklink data`: each command is one module of this package and one entry of the table."""

from types import MappingProxyType

import click

from ui.cli.group import CommandEntry, LazyGroup

DATA_COMMANDS = MappingProxyType(
    {
        "lint": CommandEntry("ui.cli.commands.training:lint", "Find faults in training data; for CI."),
        "score": CommandEntry("ui.cli.commands.training:score", "Score each call of a set in four dimensions."),
        "report": CommandEntry("ui.cli.commands.training:report", "Show how diverse a set is, and what it lacks."),
        "convert": CommandEntry(
            "ui.cli.commands.training:convert", "Rewrite raw outputs and conversations into another format."
        ),
        "verify": CommandEntry(
            "ui.cli.commands.training:verify", "Judge candidates by binary verifiers, and keep those that pass."
        ),
        "inject": CommandEntry(
            "ui.cli.commands.training:inject",
            "Make error-recovery samples: a fault, its refusal, and the corrected call.",
        ),
        "negatives": CommandEntry(
            "ui.cli.commands.training:negatives", "Add samples without a call, up to a share of the set."
        ),
        "render": CommandEntry(
            "ui.cli.commands.training:render", "Write each scenario in all formats, or in the shape of a trainer."
        ),
        "fix": CommandEntry("ui.cli.commands.training:fix", "Write a copy with safe repairs, and a diff."),
        "annotate": CommandEntry(
            "ui.cli.commands.training:annotate", "Write data flow and decision points, one JSON object per trace."
        ),
    }
)


@click.group(
    cls=LazyGroup, table=DATA_COMMANDS, epilog="`weaklink data COMMAND --help` has details. See docs/training-data.md."
)
def data() -> None:
    """Work on training data: JSON lines, Parquet, and folders of Hugging Face `datasets`.

    No command changes the files that it reads.
    """
