"""Named commands: a table per scope, from which keys, palette, help and footer are made; and the user's keymap.

A keymap is a TOML file that maps stable command ids to keys:

[chains]
open = "o"
export = ["S", "ctrl+s"]
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import platformdirs
from msgspec import Struct, field
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_ALIASES, KEY_NAME_REPLACEMENTS, REPLACED_KEYS, Keys, key_to_character
from textual.screen import Screen

VARIABLE = "WEAKLINK_KEYMAP"
"""The environment variable with the path of the keymap file; default: `keymap.toml` in the config folder."""

_MODIFIERS = ("ctrl", "shift", "alt", "super")
_MAX_BYTES = 1 << 20


class Command(Struct, frozen=True):
    """An action that the user can run in its scope.

    `id` is stable, for keymap files: `chains.open` is `action_open` of the widget, screen or application whose
    `ACTIONS` contain it; a `-` in the id is `_` in the action. `keys` are Textual's names; help and footer show the
    first. `footer` is empty, or the word by which the footer shows the command if not all titles fit; `help` is a
    sentence.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...]
    footer: str = ""

    @property
    def scope(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        """The action's name, as Textual runs it."""
        return self.id.partition(".")[2].replace("-", "_")


class AvailableCommand(Struct, frozen=True):
    """A command, and the node that it acts on now."""

    command: Command
    node: DOMNode


def bindings(commands: Sequence[Command]) -> list[Binding]:
    """The commands as the `BINDINGS` of their class; a keymap finds them by id."""
    return [
        Binding(
            ",".join(command.keys),
            command.action,
            command.title,
            show=bool(command.footer),
            tooltip=command.help,
            id=command.id,
        )
        for command in commands
    ]


def commands_of(node: DOMNode | type[DOMNode]) -> tuple[Command, ...]:
    """The commands that a node's class declares in `ACTIONS` or inherits."""
    commands: tuple[Command, ...] = getattr(node, "ACTIONS", ())
    return commands


def available_commands(screen: Screen[Any]) -> Iterator[AvailableCommand]:
    """The commands of a screen now: those of the focused widget, of its ancestors, the screen and the application."""
    nodes: list[DOMNode] = list(screen.focused.ancestors_with_self) if screen.focused else [screen, screen.app]
    if screen.is_modal:
        nodes = [node for node in nodes if node is not screen.app]
    seen: set[str] = set()
    for node in nodes:
        for command in commands_of(node):
            if command.id not in seen and node.check_action(command.action, ()) is not False:
                seen.add(command.id)
                yield AvailableCommand(command, node)


def key_names(screen: Screen[Any]) -> dict[str, tuple[str, ...]]:
    """The keys of each command that a screen accepts now, by its id, as shown to users; respects keymaps.

    Omits keys that a focused input takes as text.
    """
    names: dict[str, tuple[str, ...]] = {}
    focused = screen.focused
    for key, active in screen.active_bindings.items():
        typed = focused is not None and focused.check_consume_key(key, key_to_character(REPLACED_KEYS.get(key, key)))
        if active.binding.id and not typed:
            shown = screen.app.get_key_display(active.binding)
            names[active.binding.id] = (*names.get(active.binding.id, ()), shown)
    return names


LINE_COMMANDS = (
    Command("lines.down", "Down", "Go to the next line.", ("j", "down")),
    Command("lines.up", "Up", "Go to the previous line.", ("k", "up")),
    Command("lines.page-down", "Page down", "Scroll one page down.", ("space", "pagedown", "ctrl+f")),
    Command("lines.page-up", "Page up", "Scroll one page up.", ("pageup", "ctrl+b")),
    Command("lines.first", "First line", "Go to the first line.", ("g", "home")),
    Command("lines.last", "Last line", "Go to the last line.", ("G", "end")),
    Command("lines.left", "Left", "Scroll left.", ("left",)),
    Command("lines.right", "Right", "Scroll right.", ("right",)),
    Command("lines.choose", "Choose", "Open or unfold the line under the cursor.", ("enter",)),
)
"""The scope `lines`: commands on the focused `LineView`."""

_NAMED = frozenset(key.value for key in Keys) | KEY_ALIASES.keys() | frozenset(KEY_NAME_REPLACEMENTS.values())


class Keymap(Struct, frozen=True):
    """Keys by command id, several joined by commas as Textual expects; `problems` are sentences on invalid entries."""

    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def keymap_path() -> Path:
    """The path of the keymap file, whether or not it exists."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else platformdirs.user_config_path("weaklink") / "keymap.toml"


def read_keymap(path: Path, commands: Sequence[Command]) -> Keymap:
    """The keymap of a file. It is empty if the file does not exist, with a problem if the user named the file."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode()
        return keymap_of(tomllib.loads(text), commands)
    except FileNotFoundError:
        named = VARIABLE in os.environ
        return Keymap(problems=(f"There is no keymap file at `{path}`.",) if named else ())
    except OSError as error:
        return Keymap(problems=(f"The keymap file `{path}` cannot be read: {error.strerror}.",))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return Keymap(problems=(f"The keymap file `{path}` is not TOML: {error}.",))


def keymap_of(table: Mapping[str, object], commands: Sequence[Command]) -> Keymap:
    """The keymap of a TOML table; invalid entries are left out and reported as problems."""
    known = {command.id: command for command in commands}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for id_, value in _flat(table):
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        names = [key for key in listed if isinstance(key, str) and is_key(key)]
        if id_ not in known:
            problems.append(f"There is no command `{id_}`{_nearest(id_, known)}")
        elif not listed or len(names) < len(listed):
            wrong = next((key for key in listed if key not in names), value)
            problems.append(f"`{wrong}` is not a key for `{id_}`{_nearest(str(wrong), _NAMED)}")
        else:
            keys[id_] = ",".join("comma" if name == "," else name for name in names)
    return Keymap(keys, (*problems, *_taken(keys, known)))


def is_key(name: str) -> bool:
    """Whether Textual knows a key by this name: a character, a name like `f5`, or one after `ctrl+` or the like."""
    *modifiers, last = name.split("+") if len(name) > 1 else [name]
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return False
    return (len(last) == 1 and last.isprintable()) or last in _NAMED or key_to_character(last) is not None


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        id_ = f"{above}.{name}" if above else name
        if isinstance(value, dict):
            yield from _flat(value, id_)
        else:
            yield id_, value


def _nearest(word: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean `{nearest[0]}`?" if nearest else "."


def _taken(keys: Mapping[str, str], known: Mapping[str, Command]) -> Iterator[str]:
    """A sentence on each key that the user assigned to one command of a scope while another one has it."""
    for id_, assigned in keys.items():
        for other in known.values():
            has = _spelled(keys.get(other.id, ",".join(other.keys)))
            both = [key for key in _spelled(assigned) if key in has]
            if other.id != id_ and other.scope == known[id_].scope and both:
                yield f"`{both[0]}` is the key of `{id_}` and of `{other.id}`; only one of them receives it."


def _spelled(keys: str) -> list[str]:
    """Keys in Textual's canonical spelling."""
    return [binding.key for binding in Binding.make_bindings([Binding(keys, "")])]
