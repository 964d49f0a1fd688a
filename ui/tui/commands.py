"""Named commands: what a user can do, in one table a scope, from which come keys, palette, help and footer alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import REPLACED_KEYS, key_to_character
from textual.screen import Screen


@dataclass(frozen=True, slots=True)
class Command:
    """Something a user can do where it belongs.

    `id` is stable, for keymap files: `chains.open` is `action_open` of the widget, screen or application whose
    `ACTIONS` hold it; blanks in its name are `-`. `keys` are Textual's names, the first is what help and footer show.
    `in_footer` says that the footer has a place for it, under the short `title`; `help` is a sentence.
    """

    id: str
    title: str
    help: str
    keys: tuple[str, ...]
    in_footer: bool = False

    @property
    def scope(self) -> str:
        """Where it belongs: the part of the id before the point."""
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        """The action's name, as Textual runs it."""
        return self.id.partition(".")[2].replace("-", "_")


@dataclass(frozen=True, slots=True)
class Offered:
    """A command, and the node it would act on at this moment."""

    command: Command
    node: DOMNode


def bindings(commands: Sequence[Command]) -> list[Binding]:
    """The commands as the `BINDINGS` of their class; a keymap finds them by id."""
    return [
        Binding(",".join(one.keys), one.action, one.title, show=one.in_footer, tooltip=one.help, id=one.id)
        for one in commands
    ]


def commands_of(node: DOMNode | type[DOMNode]) -> tuple[Command, ...]:
    """The commands that a node's class declares in `ACTIONS`, or has from its base."""
    found: tuple[Command, ...] = getattr(node, "ACTIONS", ())
    return found


def offered(screen: Screen[Any]) -> Iterator[Offered]:
    """What can be done on a screen now: with what has the focus, with what holds it, the screen, the application."""
    nodes: list[DOMNode] = list(screen.focused.ancestors_with_self) if screen.focused else [screen, screen.app]
    if screen.is_modal:
        nodes = [node for node in nodes if node is not screen.app]
    seen: set[str] = set()
    for node in nodes:
        for command in commands_of(node):
            if command.id not in seen and node.check_action(command.action, ()) is not False:
                seen.add(command.id)
                yield Offered(command, node)


def key_names(screen: Screen[Any]) -> dict[str, tuple[str, ...]]:
    """The keys that reach each command of a screen now, by its id, as people read them; keymaps are heeded.

    What is typed into a line that has the focus reaches nothing else.
    """
    found: dict[str, tuple[str, ...]] = {}
    focused = screen.focused
    for key, active in screen.active_bindings.items():
        typed = focused is not None and focused.check_consume_key(key, key_to_character(REPLACED_KEYS.get(key, key)))
        if active.binding.id and not typed:
            shown = screen.app.get_key_display(active.binding)
            found[active.binding.id] = (*found.get(active.binding.id, ()), shown)
    return found
