"""`weaklink help`, `schema` and `completion`: help pages, JSON Schemas of command output, completion scripts."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec
from click.shell_completion import get_completion_class

from weaklink.ui.cli.declaring import WEAKLINK_TOML, command
from weaklink.ui.cli.group import LISTS_ALL
from weaklink.ui.json_types.data import DataFixJson, DataReportJson, ScoredRowJson, VerdictJson
from weaklink.ui.json_types.database import (
    AccessTokensJson,
    DatabaseCheckJson,
    DatabaseCopyJson,
    DatabaseStatsJson,
    FoundLogJson,
    ImportJson,
    StatisticsJson,
)
from weaklink.ui.json_types.faults import (
    BadRequestJson,
    CheckOutputJson,
    DataLintJson,
    DetectionJson,
    FormatJson,
    RuleJson,
    SegmentationJson,
)
from weaklink.ui.json_types.runs import (
    AskJson,
    DoctorJson,
    InjectionJson,
    InjectionRowJson,
    ProbeJson,
    ReplayJson,
    RunDiffJson,
    TaskDiffJson,
)
from weaklink.ui.json_types.traces import (
    FaultFoundJson,
    ListedTraceJson,
    SearchHitJson,
    ShownTraceJson,
    SpanClosedJson,
    TraceBeganJson,
    TraceEndedJson,
    TurnEndedJson,
)
from weaklink.ui.views.styled_text import visible_line

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_EXIT_CODES_PAGE = "exit-codes"
OUTPUTS: Mapping[str, Any] = {
    "ask": AskJson,
    "check": CheckOutputJson,
    "data fix": DataFixJson,
    "data lint": DataLintJson,
    "data report": DataReportJson,
    "data score": ScoredRowJson,
    "data verify": VerdictJson,
    "db check": DatabaseCheckJson,
    "db copy": DatabaseCopyJson,
    "db stats": DatabaseStatsJson,
    "db token list": AccessTokensJson,
    "diff": RunDiffJson,
    "diff task": TaskDiffJson,
    "doctor": DoctorJson,
    "formats": list[FormatJson],
    "formats detect": DetectionJson,
    "import": ImportJson,
    "import discover": list[FoundLogJson],
    "list": ListedTraceJson,
    "probe": ProbeJson,
    "replay": ReplayJson,
    "replay inject": InjectionJson,
    "replay inject all": list[InjectionRowJson],
    "rule": RuleJson,
    "rules": list[RuleJson],
    "search": SearchHitJson,
    "segment": (SegmentationJson, BadRequestJson),
    "serve": ReplayJson,
    "show": ShownTraceJson,
    "stats": StatisticsJson,
    "tail": (TraceBeganJson, SpanClosedJson, FaultFoundJson, TurnEndedJson, TraceEndedJson),
}
"""What a command prints as JSON, by its words: one document, or that of each line; a tuple if it is one of several."""

SCHEMAS = (*OUTPUTS, WEAKLINK_TOML)
"""The names that `weaklink schema` takes."""
EXIT_CODES = (
    ("0", "The command ran, whatever it found."),
    (
        "1",
        (
            "Something to fail on: a fault or a broken chain for `check`; a fault, a row that fails or one that cannot "
            "be read for `data`; a broken or aborted trace for `run --check`; a difference for "
            "`doctor --fail-on-findings`; damage for `db check`, damage that is left for `db repair`, a secret that is "
            "left for `db scan`, a copy that differs for `db copy`, a damaged record for `db reinspect`."
        ),
    ),
    ("2", "The command could not run: a wrong option, nothing that can be read, no answer from a server."),
    ("3", "`replay`: a request is not in the recording, or a recorded one was never made."),
    ("125", "`run`, `replay` and `doctor`: weaklink itself failed."),
    ("126", "`run`, `replay` and `doctor`: COMMAND exists but could not be started."),
    ("127", "`run`, `replay` and `doctor`: COMMAND was not found."),
    ("128+N", "`run` and `replay`: signal N ended COMMAND."),
    ("130", "Ctrl-C ended weaklink; commands that run until Ctrl-C end with 0."),
)


@command("help")
@click.argument("words", metavar=f"[COMMAND... | {_EXIT_CODES_PAGE}]", nargs=-1)
@click.option("--all", "lists_all", is_flag=True, help="List every command.")
@click.pass_context
def help_pages(ctx: click.Context, words: tuple[str, ...], lists_all: bool) -> None:  # noqa: FBT001  # Click's option
    """Print the help of a command, or what the exit codes mean; `help --all` lists every command."""
    root = ctx.find_root()
    if words == (_EXIT_CODES_PAGE,):
        formatter = ctx.make_formatter()
        with formatter.section("Exit codes"):
            formatter.write_dl(EXIT_CODES)
        text = formatter.getvalue()
        text += "\nOtherwise `run` and `replay` end with the exit code of COMMAND.\n"
        sys.stdout.write(text)
        return
    if words:
        root.command.main([*words, "--help"], "weaklink", standalone_mode=False)
        return
    root.meta[LISTS_ALL] = lists_all
    click.echo(root.get_help())


@command("schema")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
def schema(words: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND prints with --json; without COMMAND, list the commands that have one.

    `weaklink schema weaklink.toml` prints the schema of the configuration file.

    A schema describes one JSON document; commands that print JSON lines print one such document per line. Later
    versions may add keys; they rename and remove none.

    \b
    weaklink schema list
    weaklink schema db stats
    """
    if not words:
        sys.stdout.writelines(f"{name}\n" for name in SCHEMAS)
        return
    name = " ".join(words)
    if name not in SCHEMAS:
        raise click.UsageError(f"there is no schema for `{visible_line(name)}`; the schemas are: {', '.join(SCHEMAS)}.")
    sys.stdout.write(json.dumps(schema_of(name), indent=1) + "\n")


def schema_of(name: str) -> dict[str, Any]:
    """The schema of what a command prints, or of the configuration file. Raises KeyError for another name."""
    if name == WEAKLINK_TOML:
        return _configuration_schema()
    printed = OUTPUTS[name]
    types = printed if isinstance(printed, tuple) else (printed,)
    schemas, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    (schema,) = schemas if len(schemas) == 1 else ({"anyOf": list(schemas)},)
    return {"$schema": _DIALECT, "title": f"weaklink {name}", **schema, "$defs": components}


def _configuration_schema() -> dict[str, Any]:
    """The schema of weaklink.toml: the settings of `check`, formats and prices.

    The same holds for the table `tool.weaklink` of pyproject.toml, but for formats and prices.
    """
    from weaklink.ui.cli.check_settings import settings_schema  # noqa: PLC0415  # reads every format
    from weaklink.ui.web.prices import ModelPrice  # noqa: PLC0415  # what only this schema needs

    settings = settings_schema()
    price = msgspec.json.schema(ModelPrice)["$defs"]["ModelPrice"]
    tables = {
        "check": settings,
        "formats": {"type": "object", "additionalProperties": {"type": "string", "pattern": r"\.toml$"}},
        "prices": {"type": "object", "additionalProperties": price},
    }
    return {
        "$schema": _DIALECT,
        "title": "weaklink.toml",
        **settings,
        "properties": {**settings["properties"], **tables},
    }


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash   weaklink completion bash >> ~/.bashrc
    zsh    weaklink completion zsh >> ~/.zshrc
    fish   weaklink completion fish > ~/.config/fish/completions/weaklink.fish
    """
    script_class = get_completion_class(shell)
    assert script_class is not None
    click.echo(script_class(ctx.find_root().command, {}, "weaklink", "_WEAKLINK_COMPLETE").source())
