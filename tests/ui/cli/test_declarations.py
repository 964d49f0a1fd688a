"""The options of commands are the parameters of their functions, and their words those of the core."""

import inspect
from collections.abc import Iterable

import click
import pytest

from tests.ui.cli.test_main import leaf_commands
from weaklink.inspector.apis.anthropic import messages as anthropic
from weaklink.inspector.apis.openai import chat
from weaklink.inspector.capture.proxy.config import DEFAULT_PORT
from weaklink.inspector.capture.replay_server import OnDivergence
from weaklink.inspector.chain.metrics import FEWEST
from weaklink.inspector.checks.context import CONTEXT_WINDOW
from weaklink.inspector.dataset import faults_to_inject, negatives
from weaklink.inspector.dataset.rendering import FORMATS, RowLayout
from weaklink.inspector.rules.rule import Severity
from weaklink.inspector.segmentation import AUTO
from weaklink.storage import IDLE_AFTER_S
from weaklink.storage.access_tokens import TokenRole
from weaklink.ui.cli import check_settings, declaring, files
from weaklink.ui.cli.group import weaklink
from weaklink.ui.cli.log import FORM_CHOICES
from weaklink.ui.importing.engine import BLOCK_BYTES
from weaklink.ui.reports.check_report import BROKEN
from weaklink.ui.views.layers import Layer
from weaklink.ui.views.trace_columns import ORDERS_BY_WORD, TRACE_COLUMNS

COMMANDS = dict(leaf_commands(weaklink))
ENGINE = {"engine", "resume", "block_size", "ray_address"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_a_command_are_the_parameters_of_its_function(name: str) -> None:
    command = COMMANDS[name]
    assert command.callback is not None
    parameters = inspect.signature(command.callback).parameters.values()
    options = {option.name for option in command.params if option.expose_value}
    if any(parameter.name == "jobs" for parameter in parameters) and options >= {"jobs", *ENGINE}:
        options -= ENGINE  # they come as one value
    takes_more = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    names = {
        parameter.name
        for parameter in parameters
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD and parameter.name != "ctx"
    }
    assert names <= options if takes_more else names == options


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("ask", "api", {"openai": chat.API, "anthropic": anthropic.API}),
        ("check", "fail_on", [*Severity, BROKEN, check_settings.NEVER]),
        ("data lint", "fail_on", [*Severity, check_settings.NEVER]),
        ("data negatives", "kinds", negatives.KINDS),
        ("data render", "layout", RowLayout),
        ("db token create", "role", TokenRole),
        ("diff", "layer", Layer),
        ("list", "sort", ORDERS_BY_WORD),
        ("record", "form", FORM_CHOICES),
        ("replay", "on_divergence", OnDivergence),
    ],
)
def test_the_choices_of_an_option_are_those_of_the_core(name: str, option: str, words: Iterable[str]) -> None:
    (declared,) = (one for one in COMMANDS[name].params if one.name == option)
    assert isinstance(declared.type, click.Choice)
    assert list(declared.type.choices) == list(words)


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("data inject", "rates", faults_to_inject.KINDS),
        ("data render", "formats", FORMATS),
        ("list", "columns", [column.heading for column in TRACE_COLUMNS.values()]),
    ],
)
def test_the_words_in_the_help_of_an_option_are_those_of_the_core(name: str, option: str, words: Iterable[str]) -> None:
    (declared,) = (one for one in COMMANDS[name].params if one.name == option)
    assert isinstance(declared, click.Option)
    assert ", ".join(words) in (declared.help or "")


def test_defaults_are_those_of_the_core() -> None:
    assert (declaring.AUTO, declaring.STDIN, declaring.DEFAULT_PORT) == (AUTO, files.STDIN, DEFAULT_PORT)
    assert (declaring.CONTEXT_WINDOW, declaring.FEWEST_TRACES) == (CONTEXT_WINDOW, FEWEST)
    assert (declaring.IDLE_AFTER_S, declaring.BLOCK_MIB << 20) == (IDLE_AFTER_S, BLOCK_BYTES)
