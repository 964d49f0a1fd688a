"""Commands on training data: the group `data`."""

from types import MappingProxyType

import click

from weaklink.ui.cli.commands import declaring
from weaklink.ui.cli.group import CommandEntry, LazyGroup

_map_option = click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="NAME=MEMBER,...",
    help="Read the rows' member NAME as MEMBER: --map question=prompt,reply=completion. Can be repeated.",
)

_paths_argument = declaring.all_of(click.argument("paths", metavar="PATH...", nargs=-1, required=True), _map_option)
"""The files of rows, and how their members are called."""

_seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of every random choice."
)

_rejected_option = click.option(
    "--rejected",
    metavar="FILE",
    help="Write rows that cannot be read to FILE, one JSON line each with file, record, line, column and error. Such"
    " rows are always reported on stderr, and the command exits with 1.",
)

_output_option = click.option(
    "--output", metavar="FILE", help="Write rows to FILE, as Parquet if its name ends in .parquet.  [default: stdout]"
)

_making_options = declaring.all_of(_output_option, _rejected_option, declaring.jobs_options, _seed_option)
"""Options of every command that makes new rows."""


@declaring.command("lint")
@_paths_argument
@declaring.judging_options
@click.option(
    "--fail-on",
    type=click.Choice([*declaring.SEVERITIES, "never"]),
    help="Exit with 1 from this severity up.  [default: error]",
)
@click.option("--allow-skipped", is_flag=True, default=None, help="Do not fail for rows that could not be read.")
@click.option("--format", metavar="NAME", help="The format of the set's calls; see `weaklink formats`.")
@click.option(
    "--eval", "eval_paths", multiple=True, metavar="PATH", help="Evaluation data that must not be in the set (D716)."
)
@click.option("--tokenizer", metavar="FILE", help="A tokenizer.json; finds samples that are too long (D717).")
@click.option(
    "--context",
    type=click.IntRange(min=1),
    default=declaring.CONTEXT_WINDOW,
    show_default=True,
    help="The context in tokens.",
)
@declaring.jobs_options
@_rejected_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.data.lint:lint")
def lint() -> None:
    """Find faults in training data, with the rules D7xx and all rules for calls, results and reasoning.

    Each PATH is a file of JSON lines, JSON or Parquet, a folder, a data set that Hugging Face's `save_to_disk` wrote,
    a pattern, or FOLDER#CONFIG/SPLIT, as the README.md of a data set names them. A row that could not be read is an
    error, C511; --allow-skipped or --ignore C511 lets it pass. Exits with 0 when nothing as bad as --fail-on was found,
    with 1 when something was, and with 2 when nothing could be read.

    \b
    Examples:
      weaklink data lint train.jsonl
      weaklink data lint data/ --eval test.parquet --tokenizer tokenizer.json --jobs 0
      weaklink data lint train.jsonl --select D7 --output sarif > train.sarif
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("score")
@_paths_argument
@click.option("--expected", metavar="FILE", help="JSON lines of the calls that each sample should have.")
@click.option(
    "--min", "minimum", type=click.FloatRange(0, 1), metavar="X", help="Keep rows with at least this overall score."
)
@click.option(
    "--by", type=click.Choice(["tool", "model"]), default="tool", show_default=True, help="Group the table by this."
)
@click.option("--format", default=declaring.AUTO, metavar="NAME", help="Read every text in this format.")
@_output_option
@declaring.json_option
@declaring.jobs_options
@_rejected_option
@declaring.implemented_by("weaklink.ui.cli.data.score:score")
def score() -> None:
    """Score each call: completeness, accuracy, type precision, no hallucination, and overall.

    The reference is --expected (lines of {"id", "expected": [{"name", "arguments"}]}, or of the Berkeley leaderboard's
    possible answers), else the row's own `expected` or `ground_truth`. Without a reference, accuracy and type
    precision are not measured. Prints a table, or with --json a line for each sample; --output writes the rows with a
    column `score`.

    \b
    Examples:
      weaklink data score train.jsonl --expected truth.jsonl
      weaklink data score train.jsonl --min 0.9 --output good.parquet
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("report")
@_paths_argument
@click.option("--against", multiple=True, metavar="PATH", help="A second set, shown beside the first.")
@click.option("--html", metavar="FILE", help="Write the report as one HTML page.")
@click.option("--by", metavar="COLUMN", help="Also measure the rows with each value of this member, such as source.")
@click.option(
    "--goals", metavar="FILE", help="JSON with the shares that the set should have.  [default: the recommended]"
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Count what a limit of N tokens a sample cuts, and the packed sequences; needs --tokenizer.",
)
@click.option("--list", "wanted", metavar="KEY=VALUE", help="Write the rows with this feature, such as steps=3+.")
@click.option("--tokenizer", metavar="FILE", help="A tokenizer.json; gives lengths in tokens.")
@click.option(
    "--chat-template",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Count the tokens of each row as this chat template renders it; needs --tokenizer.",
)
@click.option("--format", default=declaring.AUTO, metavar="NAME", help="Read every text in this format.")
@_output_option
@declaring.json_option
@declaring.jobs_options
@_rejected_option
@declaring.implemented_by("weaklink.ui.cli.data.report:report")
def report() -> None:
    """Show how diverse a set is, and where it differs from the recommended distribution.

    It shows shares of tools, calls, samples without a call, argument types, error recovery, languages, formats and
    faults, with lengths and duplicates. A share more than 5 points off is marked, and the command that lists its
    samples is printed. --list writes these rows instead of a report.

    \b
    Examples:
      weaklink data report train.jsonl
      weaklink data report train.jsonl --against before.jsonl --html report.html
      weaklink data report train.jsonl --by source --goals goals.json
      weaklink data report train.jsonl --tokenizer tokenizer.json --max-tokens 4096
      weaklink data report train.jsonl --tokenizer tokenizer.json --chat-template tokenizer_config.json
      weaklink data report train.jsonl --list faults=D709 --output placeholders.jsonl
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("convert")
@click.argument("file", default=declaring.STDIN)
@click.option("--from", "source", default=declaring.AUTO, show_default=True, metavar="NAME", help="The input format.")
@click.option("--to", "target", required=True, metavar="NAME", help="The output format.")
@click.option("--tools", "tool_file", metavar="FILE", help="JSON file with the tools, for lines that name none.")
@_map_option
@declaring.implemented_by("weaklink.ui.cli.data.convert:convert")
def convert() -> None:
    """Rewrite raw model outputs and conversations into another format.

    FILE contains JSON lines or an array, plain or packed, or is Parquet, Arrow or a folder of them; `-`, or nothing, is
    standard input, with JSON lines. A row is one raw output, {"id", "text", "prompt"?, "tools"?}, or a conversation of
    any shape in docs/training-data.md. Each is answered by one line of the same shape, or with `messages`; `dropped`
    lists what the new format cannot express and which calls were malformed.
    An invalid line is answered by {"id", "error"}, and the command then exits with 1.

    \b
    Example:
      weaklink data convert --from hermes --to mistral train.jsonl > train.mistral.jsonl
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("verify")
@_paths_argument
@click.option(
    "--verifier",
    "verifiers",
    multiple=True,
    metavar="NAME",
    help="schema-adherence, tool-use, answer-format, reasoning-cap, multi-step, or one that a package registers; "
    "can be repeated, then all must pass.  [default: tool-use]",
)
@click.option(
    "--kept", metavar="FILE", help="Write the candidates that pass to FILE, as Parquet if it ends in .parquet."
)
@click.option("--rejected", metavar="FILE", help="Write those that fail to FILE, and rows that cannot be read.")
@click.option("--best-of", type=click.IntRange(min=1), metavar="N", help="Keep at most the N best of each prompt.")
@click.option("--score", metavar="COLUMN", help="Rank by this column.  [default: score, reward or quality_score]")
@click.option(
    "--k", "ks", default="1", show_default=True, metavar="K,...", help="Report pass@K and pass^K for these K."
)
@click.option(
    "--groups", "groups_file", metavar="FILE", help="Write all candidates as Atropos's scored groups to FILE."
)
@click.option(
    "--scores", "score_values", default="1,0", show_default=True, metavar="PASS,FAIL", help="Scores in --groups."
)
@click.option("--report", "report_file", metavar="FILE", help="Write the rates and the groups without signal as JSON.")
@click.option(
    "--require-call/--no-require-call",
    default=None,
    help="Fail an answer without a call also where the row has no reference; or pass it also where the reference has a "
    "call.  [default: as the reference says]",
)
@click.option(
    "--select", multiple=True, metavar="RULES", help="Rules that make a candidate fail, instead of the verifier's own."
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Rules that never make a candidate fail.")
@click.option(
    "--format", default=declaring.AUTO, metavar="NAME", help="Read every text in this format; see `weaklink formats`."
)
@declaring.jobs_options
@_seed_option
@declaring.json_option
@declaring.implemented_by("weaklink.ui.cli.data.verify:verify")
def verify() -> None:
    """Judge candidate answers by binary verifiers, and keep those that pass.

    A row's candidate is its `completion`, `answer` or `response`, else its last assistant message; rows of one
    `prompt_id`, or of equal prompts, form a group. docs/training-data-making.md names the columns with the schema and
    the expected calls. Written rows have the new column `verification`.

    Exits with 1 if a candidate failed or a row could not be read, and with 2 if no row could be read.

    \b
    Examples:
      weaklink data verify samples.jsonl --verifier tool-use
      weaklink data verify rollouts.jsonl --kept good.parquet --rejected bad.jsonl --best-of 2 --k 1,4,8
      weaklink data verify answers.jsonl --verifier schema-adherence --json
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("inject")
@_paths_argument
@click.option(
    "--rates",
    metavar="KIND=N,...",
    help="Which kinds of faults, and how often each: wrong-type=3,timeout=1. Kinds: wrong-type, wrong-value, "
    "missing-required, unknown-key, enum-violation, wrong-tool-name, malformed-json, malformed-tags, "
    "truncated-stream, drafted-in-reasoning, wrong-format, timeout, forbidden, empty-result.",
)
@click.option(
    "--share",
    type=click.FloatRange(0.0, 0.95),
    default=0.15,
    show_default=True,
    metavar="SHARE",
    help="Share of injected rows among all that are written.",
)
@click.option(
    "--trainer",
    type=click.Choice(("openai", "axolotl", "llama-factory", "ms-swift", "none")),
    default="openai",
    show_default=True,
    help="Whose mark leaves the message with the fault out of the loss: weight: 0, train: false, loss_weight: 0, "
    "loss: false, or no mark.",
)
@click.option("--only-injected", is_flag=True, help="Omit the copies of the rows: one injected row for each row.")
@_making_options
@declaring.implemented_by("weaklink.ui.cli.data.inject:inject")
def inject() -> None:
    """Make error-recovery samples: a fault in one call, the tool's refusal, and the corrected call.

    Every row is copied, and some are written again with a fault. A faulty row is written only if weaklink's own
    inspection finds exactly that fault, at its position, and calls the chain recovered. It has the new column
    `injected`: the rule and the position of the fault, the seed and the row that it was made from.

    \b
    Examples:
      weaklink data inject train.jsonl --share 0.15 --seed 7 --output train.recovery.jsonl
      weaklink data inject train.parquet --only-injected --rates malformed-json=1 --output broken.parquet
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("negatives")
@_paths_argument
@click.option(
    "--share",
    type=click.FloatRange(0.0, 0.9),
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of rows without a call among all that are written, including existing ones.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(("tool-removed", "irrelevant-tools", "already-given")),
    help="Make only this kind. Can be repeated.",
)
@click.option("--leave-open", is_flag=True, help="Omit the last answer, for a model to write.")
@click.option("--only-negatives", is_flag=True, help="Omit the copies of the rows, and make all possible negatives.")
@_making_options
@declaring.implemented_by("weaklink.ui.cli.data.negatives:negatives")
def negatives() -> None:
    """Make samples in which no tool should be called, up to a share of the set, balanced over the tools.

    Every row is copied. New rows are made from its question: without the tool that it needs (`tool-removed`), with the
    tool's result in the user's words (`already-given`), or with unrelated tools of the set (`irrelevant-tools`). They
    have the new column `negative`. docs/training-data-making.md explains when no offered tool fits.

    \b
    Examples:
      weaklink data negatives train.jsonl --share 0.3 --seed 7 --output train.balanced.jsonl
      weaklink data negatives train.jsonl --only-negatives --leave-open --output questions.jsonl
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("render")
@_paths_argument
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME,...",
    help="The formats to write.  [default: hermes, mistral, llama3, qwen, functionary, openai, claude, gemini, "
    "pythonic, react, json_schema]",
)
@click.option("--from", "source", default=declaring.AUTO, show_default=True, metavar="NAME", help="The input format.")
@click.option(
    "--as",
    "layout",
    type=click.Choice(("messages", "sharegpt", "trl", "axolotl", "llama-factory")),
    default="messages",
    show_default=True,
    help="The shape of the rows. The last three have separate fields for calls, one row per scenario.",
)
@click.option(
    "--on-loss",
    type=click.Choice(["simplify", "skip"]),
    default="simplify",
    show_default=True,
    help="What to do when a format cannot express everything: list the loss in `dropped`, or skip the row.",
)
@click.option(
    "--chat-template",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Write `text` as this chat template renders it: Jinja, tokenizer_config.json or GGUF.",
)
@click.option("--tokenizer", metavar="FILE", help="Count tokens by this tokenizer.json, as the column `tokens`.")
@_output_option
@_rejected_option
@declaring.jobs_options
@declaring.implemented_by("weaklink.ui.cli.data.render:render")
def render() -> None:
    """Write each conversation in all eleven formats, or in those chosen, one row each.

    The rows of one conversation share `scenario`; `format` names the format. `messages` has the conversation with
    tools, calls, results and reasoning in the form of the format, `text` all of it, and `dropped` what the format
    cannot express. The forms are weaklink's own: a model's chat template may present tools in other words, so `text` is
    not the prompt of a model.

    \b
    Examples:
      weaklink data render train.jsonl --output train.eleven.jsonl
      weaklink data render train.jsonl --format hermes,qwen,mistral --on-loss skip
      weaklink data render train.jsonl --as llama-factory --output train.llama-factory.jsonl
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("fix")
@_paths_argument
@click.option("--output", metavar="FILE", help="Write the repaired copy of the one PATH to FILE.")
@click.option("--out-dir", metavar="DIR", help="Write the copies into DIR, under the same names.")
@click.option("--diff", "with_diff", is_flag=True, help="Show each repair even when copies are written.")
@click.option("--unsafe", is_flag=True, help="Also apply unsafe repairs, which may not be what was meant.")
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules: codes, names or prefixes, J1,F301.")
@click.option("--ignore", multiple=True, metavar="RULES", help="All but these rules.")
@click.option(
    "--format", default=declaring.AUTO, metavar="NAME", help="Read every text in this format; see `weaklink formats`."
)
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@declaring.json_option
@declaring.color_option
@declaring.implemented_by("weaklink.ui.cli.data.fix:fix")
def fix() -> None:
    """Repair training data: raw outputs, conversations and raw text, where a fault has a safe repair.

    Without --output or --out-dir nothing is written, and every repair is shown as a diff. With one of them a copy is
    written; the original is never changed. A repair that would introduce new faults is skipped. A record that cannot
    be read is copied as it is. Both are reported. Exits with 1 if a record or one of several named files could not be
    read, and with 2 if nothing could.

    \b
    Examples:
      weaklink data fix train.jsonl
      weaklink data fix train.jsonl --output train.fixed.jsonl
      weaklink data fix data/ --out-dir fixed/ --unsafe --diff
    """  # noqa: D301  # Click needs the backspace itself


@declaring.command("annotate")
@click.argument("words", metavar="[ID... | PATH...]", nargs=-1)
@click.option("--jsonl", "form", flag_value="jsonl", default=True, help="One JSON line per trace.  [default]")
@click.option("--json", "form", flag_value="json", help="One JSON array of all traces.")
@click.option(
    "--filter", "-f", "expression", default="", metavar="EXPR", help="Only traces of the database that match."
)
@click.option("--source", metavar="NAME", help="Treat every file as this source instead of detecting it.")
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@_map_option
@declaring.jobs_options
@declaring.database_option
@declaring.implemented_by("weaklink.ui.cli.data.annotate:annotate")
def annotate() -> None:
    """Write the data flow and the decision points of traces, for training data and for verifiers.

    ID is the number that `weaklink list` prints; PATH a file of any source that `weaklink import` reads, a folder, a
    pattern, or `-`. Without either, all traces of the database are written, or those that --filter chooses. Each is
    one JSON object, which docs/annotations.md explains. Exits with 1 if a record could not be read, and with 2 if
    nothing could.

    \b
    weaklink data annotate 12
    weaklink data annotate train.jsonl > train.annotated.jsonl
    weaklink data annotate --filter status:recovered
    """  # noqa: D301  # Click needs the backspace itself


DATA_COMMANDS = MappingProxyType(
    {
        "lint": CommandEntry("commands.training:lint", "Find faults in training data; for CI."),
        "score": CommandEntry("commands.training:score", "Score each call of a set in four dimensions."),
        "report": CommandEntry("commands.training:report", "Show how diverse a set is, and what it lacks."),
        "convert": CommandEntry(
            "commands.training:convert", "Rewrite raw outputs and conversations into another format."
        ),
        "verify": CommandEntry(
            "commands.training:verify",
            "Judge candidates by binary verifiers, and keep those that pass.",
        ),
        "inject": CommandEntry(
            "commands.training:inject",
            "Make error-recovery samples: a fault, its refusal, and the corrected call.",
        ),
        "negatives": CommandEntry(
            "commands.training:negatives", "Add samples without a call, up to a share of the set."
        ),
        "render": CommandEntry(
            "commands.training:render",
            "Write each scenario in all formats, or in the shape of a trainer.",
        ),
        "fix": CommandEntry("commands.training:fix", "Write a copy with safe repairs, and a diff."),
        "annotate": CommandEntry(
            "commands.training:annotate",
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
