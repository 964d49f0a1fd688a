"""The options of commands are the parameters of their functions."""

import inspect

import pytest

from tests.ui.cli.test_main import leaf_commands
from weaklink.ui.cli.group import weaklink

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
