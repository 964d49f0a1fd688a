"""Pictures as values: what is drawn, where, and what a click on it stands for. Lengths are pixels."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.model import Json
from ui.views.palette import Style

Tag: TypeAlias = Literal["rect", "line", "text", "path"]


@dataclass(frozen=True, slots=True)
class SvgElement:
    """One SVG element; `at` are its attributes, which are numbers but for a path's `d`, `style` its classes."""

    tag: Tag
    at: dict[str, float | str]
    style: str = Style.PLAIN.value
    text: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that belong together; `title` says what they are, `key` is told when they are clicked, if there is one."""

    shapes: tuple[SvgElement, ...]
    title: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A whole picture; `label` says in a sentence what it shows."""

    width: float
    height: float
    groups: tuple[Group, ...]
    label: str

    def data(self, selected: str | None) -> dict[str, Json]:
        """The picture as the browser takes it, with the group of that key lit."""
        return {
            "width": self.width,
            "height": self.height,
            "label": self.label,
            "selected": selected,
            "groups": [
                {"title": group.title, "key": group.key, "shapes": [_shape(one) for one in group.shapes]}
                for group in self.groups
            ],
        }


def _shape(one: SvgElement) -> Json:
    return {"tag": one.tag, "style": one.style, "text": one.text, "anchor": one.anchor, **one.at}
