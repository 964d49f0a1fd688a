"""The user's own keys: a TOML file that gives commands other keys, by their stable ids, and what is wrong with it.

[chains]
open = "o"
export = ["x", "ctrl+x"]
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import platformdirs
from textual.binding import Binding
from textual.keys import KEY_ALIASES, KEY_NAME_REPLACEMENTS, Keys, key_to_character

from ui.tui.commands import Command

VARIABLE = "WEAKLINK_KEYMAP"
"""The environment variable that names the keymap file where it is not `keymap.toml` in the config folder."""

_MODIFIERS = ("ctrl", "shift", "alt", "super")
_NAMED = frozenset(key.value for key in Keys) | KEY_ALIASES.keys() | frozenset(KEY_NAME_REPLACEMENTS.values())
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Keymap:
    """Keys by the id of their command, several joined by commas as Textual wants them; what is wrong, in sentences."""

    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def keymap_path() -> Path:
    """Where the keymap file lies, whether or not there is one."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else platformdirs.user_config_path("weaklink") / "keymap.toml"


def read_keymap(path: Path, commands: Sequence[Command]) -> Keymap:
    """The keymap of a file; an empty one where there is none, unless the user named it."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode()
        return keymap_of(tomllib.loads(text), commands)
    except FileNotFoundError:
        named = VARIABLE in os.environ
        return Keymap(problems=(f"There is no keymap file at `{path}`.",) if named else ())
    except OSError as error:
        return Keymap(problems=(f"The keymap file `{path}` cannot be read: {error.strerror}.",))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return Keymap(problems=(f"The keymap file `{path}` is not TOML: {error}.",))


def keymap_of(table: Mapping[str, object], commands: Sequence[Command]) -> Keymap:
    """The keymap that a TOML table says; what cannot be used is left out and told."""
    known = {command.id: command for command in commands}
    keys: dict[str, str] = {}
    problems: list[str] = []
    for id_, said in _flat(table):
        wanted = [said] if isinstance(said, str) else said if isinstance(said, list) else []
        names = [one for one in wanted if isinstance(one, str) and is_key(one)]
        if id_ not in known:
            problems.append(f"There is no command `{id_}`{_nearest(id_, known)}")
        elif not wanted or len(names) < len(wanted):
            wrong = next((one for one in wanted if one not in names), said)
            problems.append(f"`{wrong}` is no key for `{id_}`{_nearest(str(wrong), _NAMED)}")
        else:
            keys[id_] = ",".join("comma" if name == "," else name for name in names)
    return Keymap(keys, (*problems, *_taken(keys, known)))


def is_key(name: str) -> bool:
    """Whether Textual knows a key by this name: a character, a name like `f5`, or one behind `ctrl+` or the like."""
    *modifiers, last = name.split("+") if len(name) > 1 else [name]
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return False
    return (len(last) == 1 and last.isprintable()) or last in _NAMED or key_to_character(last) is not None


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for name, said in table.items():
        id_ = f"{above}.{name}" if above else name
        if isinstance(said, dict):
            yield from _flat(said, id_)
        else:
            yield id_, said


def _nearest(word: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean `{nearest[0]}`?" if nearest else "."


def _taken(keys: Mapping[str, str], known: Mapping[str, Command]) -> Iterator[str]:
    """What is said of each key that the user gave to one command of a scope and that another one has."""
    for id_, said in keys.items():
        for other in known.values():
            has = _spelled(keys.get(other.id, ",".join(other.keys)))
            both = [key for key in _spelled(said) if key in has]
            if other.id != id_ and other.scope == known[id_].scope and both:
                yield f"`{both[0]}` is the key of `{id_}` and of `{other.id}`; one of them will not get it."


def _spelled(keys: str) -> list[str]:
    """Keys in the one spelling that Textual gives to each."""
    return [binding.key for binding in Binding.make_bindings([Binding(keys, "")])]
