"""The group `weaklink data`: a table of its commands."""

from types import MappingProxyType

import click

from weaklink.ui.cli.group import CommandEntry, LazyGroup

DATA_COMMANDS = MappingProxyType(
    {
        "lint": CommandEntry("data.lint:lint", "Find faults in training data; for CI."),
        "score": CommandEntry("data.score:score", "Score each call of a set in four dimensions."),
        "report": CommandEntry("data.report:report", "Show how diverse a set is, and what it lacks."),
        "convert": CommandEntry("data.convert:convert", "Rewrite raw outputs and conversations into another format."),
        "verify": CommandEntry(
            "data.verify:verify",
            "Judge candidates by binary verifiers, and keep those that pass.",
        ),
        "inject": CommandEntry(
            "data.inject:inject",
            "Make error-recovery samples: a fault, its refusal, and the corrected call.",
        ),
        "negatives": CommandEntry("data.negatives:negatives", "Add samples without a call, up to a share of the set."),
        "render": CommandEntry(
            "data.render:render",
            "Write each scenario in all formats, or in the shape of a trainer.",
        ),
        "fix": CommandEntry("data.fix:fix", "Write a copy with safe repairs, and a diff."),
        "annotate": CommandEntry(
            "data.annotate:annotate",
            "Write data flow and decision points, one JSON object per trace.",
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
