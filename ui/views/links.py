"""Links to a trace and to a place in it, and saved views, which store the state of a page's address under a name.

`weaklink://trace/ID?step=4`, `?turn=7`, or `?turn=7&part=text&start=120&end=131` for characters (half-open, in code
points of the part; without `part` its name is `text`). The address of a trace in the web page has the same parameters
after `?trace=ID`, and is parsed too, with any host: nothing is ever fetched. ID is any name of a trace in the database.
Of several places, the smallest counts; other keys are ignored.

The file of saved views is next to the default database and not in one, because a view belongs to the user and works
with every database. The terminal's list shows the views of the page `traces`.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from weaklink.inspector.atomic_write import UnwritableFileError, whole_file
from weaklink.inspector.chain.steps import Step
from weaklink.inspector.diagnostics import Location
from weaklink.inspector.errors import WeaklinkError
from weaklink.inspector.text import Range
from weaklink.inspector.user_folder import user_folder
from weaklink.storage.engine import location_of
from weaklink.ui.views.dissect.dissection import Dissection

SCHEME = "weaklink"
_HOST = "trace"
_MAX_LINK_CHARS = 2_000
_MAX_KEYS = 20
_MAX_DIGITS = 12
_OUR_KEYS = ("trace", "step", "turn", "part", "start", "end")
MAX_VIEWS = 200
"""The maximum number of saved views."""
VIEWS_PAGE = "traces"
"""The path of the dashboard's page that shows the same list as the terminal."""
_MAX_NAME_CHARS = 80


class LinkError(WeaklinkError):
    """An invalid link; the message has the reason."""


class Link(Struct, frozen=True):
    """A trace by any of its names, and a place in it: a step or a turn, both from 1, or characters."""

    trace: str
    step: int | None = None
    turn: int | None = None
    location: Location | None = None

    def __str__(self) -> str:
        """The link as text."""
        parameters: list[tuple[str, object]] = []
        if self.step is not None:
            parameters.append(("step", self.step))
        if self.turn is not None:
            parameters.append(("turn", self.turn))
        if self.location is not None:
            location = self.location
            parameters += [
                ("turn", location.turn),
                ("part", location.part),
                ("start", location.range.start),
                ("end", location.range.end),
            ]
        query = urlencode(parameters, errors="surrogatepass")
        return f"{SCHEME}://{_HOST}/{quote(self.trace, safe='', errors='surrogatepass')}" + (
            f"?{query}" if query else ""
        )

    @property
    def leads(self) -> str:
        """The target in words; empty for the whole trace."""
        if self.location is not None:
            location = self.location
            return f"turn {location.turn}, {location.part} {location.range.start}-{location.range.end}"
        return f"step {self.step}" if self.step is not None else f"turn {self.turn}" if self.turn is not None else ""

    def find(self, dissection: Dissection) -> Location | None:
        """The place in the trace, clipped to its text; None if the link names none, or the trace does not have it."""
        steps = dissection.inspection.chain.steps
        if self.location is not None:
            return _clipped(dissection, self.location)
        if self.step is not None:
            return steps[self.step - 1].location if self.step <= len(steps) else None
        if self.turn is not None:
            parts = dissection.parts_of(self.turn)
            return parts[0].location(Range(0, 0)) if parts else None
        return None

    def turns(self, steps: tuple[Step, ...], turns: int) -> frozenset[int]:
        """The turns that it refers to, in a trace with `turns` turns; empty if it names no place, or a missing one."""
        if self.location is not None:
            numbers = {self.location.turn}
        elif self.step is not None:
            step = steps[self.step - 1] if self.step <= len(steps) else None
            answer = step.result_location if step is not None else None
            numbers = {location.turn for location in (step.location if step else None, answer) if location is not None}
        else:
            numbers = {self.turn} if self.turn is not None else set()
        return frozenset(number for number in numbers if 1 <= number <= turns)


def read_link(words: str) -> Link:
    """Parse a link, or else take the words as the id of a trace. Raises LinkError for an invalid link."""
    scheme = words.partition("://")[0].lower()
    if "://" not in words or scheme not in (SCHEME, "http", "https"):
        return Link(words)
    if len(words) > _MAX_LINK_CHARS:
        raise LinkError(f"the link is longer than {_MAX_LINK_CHARS:,} characters")
    try:
        address = urlsplit(words)
        parameters = parse_qsl(address.query, keep_blank_values=True, errors="surrogatepass", max_num_fields=_MAX_KEYS)
        id_ = unquote(address.path[1:], errors="surrogatepass") if address.netloc == _HOST else ""
    except ValueError as error:
        raise LinkError(f"`{words[:80]}` is not a valid link: {error}") from error
    values = _unique_parameters(parameters)
    if scheme == SCHEME:
        values["trace"] = id_
    if not values.get("trace"):
        expected = f"`{SCHEME}://{_HOST}/ID`" if scheme == SCHEME else "an address of the web page with `trace=ID`"
        raise LinkError(f"`{words[:80]}` names no trace; expected {expected}")
    return _linked(values)


def _unique_parameters(parameters: list[tuple[str, str]]) -> dict[str, str]:
    unique: dict[str, str] = {}
    for key, value in parameters:
        if key in _OUR_KEYS and unique.setdefault(key, value) != value:
            raise LinkError(f"the link has two values for `{key}`")
    return unique


def _linked(parameters: dict[str, str]) -> Link:
    step, turn = _number(parameters, "step", least=1), _number(parameters, "turn", least=1)
    start, end = _number(parameters, "start", least=0), _number(parameters, "end", least=0)
    if turn is not None and start is not None and end is not None:
        if start > end:
            raise LinkError(f"the link's `start` of {start} is after its `end` of {end}")
        return Link(parameters["trace"], location=Location(turn, parameters.get("part") or "text", Range(start, end)))
    return Link(parameters["trace"], step=step, turn=None if step is not None else turn)


def _number(parameters: dict[str, str], key: str, *, least: int) -> int | None:
    word = parameters.get(key)
    if word is None:
        return None
    if not (word.isascii() and word.isdecimal() and len(word) <= _MAX_DIGITS and int(word) >= least):
        raise LinkError(f"the link's `{key}` is `{word[:20]}`; expected an integer of at least {least}")
    return int(word)


def _clipped(dissection: Dissection, location: Location) -> Location | None:
    part = dissection.part(location.turn, location.part)
    if part is None or location.range.start > len(part.text):
        return None
    return part.location(Range(location.range.start, min(location.range.end, len(part.text))))


def database_option(where: str | None) -> tuple[str, ...]:
    """The option by which a copied command names the database `where`: from any folder, and without a password.

    Nothing for None, which is the user's own database.
    """
    if where is None:
        return ()
    location = location_of(where)
    return ("--db", str(location if location.path is None else location.path.absolute()))


class SavedView(Struct, frozen=True):
    """A page by its path, and the state in its address."""

    name: str
    page: str
    state: dict[str, str]


def views_file() -> Path:
    """The path of the file of saved views."""
    return user_folder() / "views.json"


_decode_views = msgspec.json.Decoder(list[SavedView]).decode


def saved_views() -> list[SavedView]:
    """The saved views, sorted by name. Raises WeaklinkError if the file cannot be read."""
    file = views_file()
    try:
        return _decode_views(file.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise WeaklinkError(f"cannot read the saved views in {file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise WeaklinkError(f"the saved views in {file} are damaged; move that file away to start again") from error


def save_view(view: SavedView) -> str:
    """Save a view, replacing one of the same name. Returns what to say of it; raises WeaklinkError if that fails."""
    name = view.name.strip()[:_MAX_NAME_CHARS]
    if not name:
        raise WeaklinkError("a saved view needs a name")
    with _only_writer():
        before = saved_views()
        others = [view for view in before if view.name != name]
        if len(others) >= MAX_VIEWS:
            raise WeaklinkError(f"{MAX_VIEWS} views are already saved; delete one first")
        _write([*others, SavedView(name, view.page, view.state)])
    return f"The view `{name}` is saved{'' if len(others) == len(before) else ', in place of the one before'}."


def forget_view(name: str) -> None:
    """Delete the view of this name, if there is one."""
    with _only_writer():
        _write([view for view in saved_views() if view.name != name])


@contextmanager
def _only_writer() -> Iterator[None]:
    """Wait until no other page or command changes the views: each writes the file again with what it has read of it.

    The lock is on the folder, so that it leaves no file. A network's folder may refuse it: then there is none.
    """
    folder = views_file().parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise WeaklinkError(f"cannot save the views in {views_file()}: {error.strerror}") from error
    try:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _write(views: list[SavedView]) -> None:
    """Replace the file atomically, so that readers see either the old or the new one."""
    file = views_file()
    try:
        with whole_file(file) as opened:
            opened.write(msgspec.json.encode(sorted(views, key=lambda view: view.name.casefold())).decode())
    except OSError as error:
        raise WeaklinkError(f"cannot save the views in {file}: {error.strerror}") from error
    except UnwritableFileError as error:
        raise WeaklinkError(f"cannot save the views: {error}") from error
