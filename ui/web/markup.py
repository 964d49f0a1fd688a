"""Styled lines of the views as HTML, and hostile text in Streamlit's markdown labels: every text is escaped."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import chain, groupby, starmap
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from weaklink.ui.reports.html import runs_html
from weaklink.ui.views.colours import DARK, LIGHT, Colours, contrast
from weaklink.ui.views.styled_text import Line, Style, plain, visible_line

_BESIDE, _PHONE = 54, 42  # characters on a line
UNWRAPPED = 100_000
"""A width in which a view wraps no sentence: the page wraps it."""

ROW_PX = 33
"""The height of a row of a table on one line: its text (24), the space around it (8) and the border below (1)."""
MAX_ROOM_ROWS = 19
"""Tables of up to so many rows have room from their first moment, in a container `weaklink_rows_NUMBER_KEY`."""

# Font sizes: 12 px on charts, 13 in the stream, 14 for text, 16 for the first sentence of a page, 20 and 26 for
# headings. Spacing: multiples of 4 px.
RULES = """
.wl-prose { font-size: 14px; line-height: 1.5; overflow-wrap: anywhere; unicode-bidi: isolate; }
.wl-prose p { margin: 0 0 4px; font-size: 14px; }
.wl-prose .code, .wl-prose pre { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.wl-prose pre { margin: 0 0 4px; overflow-x: auto; }
.wl { font: 14px/1.6 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; overflow-x: auto; }
.stMainBlockContainer { max-width: none;
  padding: 3.5rem var(--wl-side) 2rem calc(var(--wl-menu) + var(--wl-side)); }
:root h1 { line-height: 1.25; padding: 0; overflow-wrap: anywhere; }
:root h3 { line-height: 1.25; padding: 0.75rem 0 1rem; }
:root button[kind="tertiary"] { text-align: start; }
[role="radio"][aria-checked="true"], [role="radio"][aria-checked="true"] * { color: inherit !important; }
.st-key-weaklink_facet, .st-key-weaklink_head, [class*="st-key-weaklink_rules_found_"] { min-height: 40px; }
.st-key-weaklink_ending_1 { min-height: 22px; }
.st-key-weaklink_sql_example { min-height: 60px; }
.st-key-weaklink_sql_room { min-height: 186px; }
.st-key-weaklink_ending_2 { min-height: 46px; }
.st-key-weaklink_preview_bar { min-height: 88px; }
@media (max-width: 45rem), (min-width: 80rem) { .st-key-weaklink_preview_bar { min-height: 40px; } }
.st-key-weaklink_preview_hides_details { position: relative; }
.st-key-weaklink_preview_hides_details p { position: absolute; clip-path: inset(50%); }
.st-key-weaklink_rail { min-height: 42px; }
.st-key-weaklink_trace_bar > :first-child { flex: 1 1 14rem; min-width: 0; }
[class*="st-key-weaklink_dissector_"] { min-height: max(60vh, 24rem); }
:root h1.wl-title { margin: 0; font-size: 20px;
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
:root textarea { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 14px; }
.wl .strong, .wl-prose .strong { font-weight: 700; }
.wl-said { margin: 0; font-size: 14px; overflow-wrap: anywhere; }
.st-key-weaklink_summary * { font-weight: 700; white-space: pre-wrap; overflow-wrap: anywhere; }
[class*="st-key-weaklink_tall_"] { min-height: 512px; }
[class*="st-key-weaklink_high_"] { min-height: 412px; }
[class*="st-key-weaklink_low_"] { min-height: 348px; }
.st-key-weaklink_summary .wl-aside { font-weight: 400; font-size: 14px; }
.wl-room, .wl-aside { color: var(--dim); }
:is(button, a, summary, [role="tab"]):focus-visible, label:has(input:focus-visible) {
  outline: 2px solid var(--info) !important; outline-offset: 2px; }
.wl-room { display: flex; align-items: center; justify-content: center; border-radius: 0.5rem;
  border: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
[class*="st-key-weaklink_watch_"] { display: none; }
.st-key-weaklink_header { position: fixed; inset-block-start: 0.75rem; inset-inline-end: 1rem; z-index: 999992;
  width: min(22rem, 30vw); }
:root { --wl-side: clamp(1rem, 1.5vw, 3rem); --wl-menu: 13rem; }
:root[data-menu="icons"] { --wl-menu: 3.25rem; }
@media (max-width: 1599px) { :root:not([data-menu]) { --wl-menu: 3.25rem; } }
@media (max-width: 768px) { :root:root { --wl-menu: 0rem; } }  /* a button opens the menu over the page */
[role="tab"][aria-selected="true"], [role="tab"][aria-selected="true"] * { color: inherit !important; }
@media (max-width: 66rem) {  /* the actions of a trace are one row below its title, which scrolls */
  .st-key-weaklink_trace_bar { min-height: 73px; }
  .st-key-weaklink_trace_bar > :first-child { flex-basis: 100%; }
  .st-key-weaklink_trace_actions { width: 100% !important; padding: 4px; margin: -4px;
    flex-wrap: nowrap; overflow-x: auto; scrollbar-width: none; }
  .st-key-weaklink_trace_actions > * { flex: none; }
}
@media (max-width: 30rem) {
  .st-key-weaklink_statuses { min-height: 136px; }
  .st-key-weaklink_facet { min-height: 68px; }
  .st-key-weaklink_sql_example { min-height: 132px; }
  .st-key-weaklink_ending_2 { min-height: 112px; }  /* two lines of facts, three of what broke */
}
[class*="st-key-weaklink_details_"] { display: grid; grid-template-columns: minmax(0, 1fr);
  --wl-shares: minmax(0, 3fr) minmax(0, 2fr); --wl-shut: minmax(0, 1fr); }
[class*="st-key-weaklink_details_"][class*="_traces"] { --wl-shares: minmax(0, 2fr) minmax(0, 1fr); }
[class*="st-key-weaklink_details_"][class*="_stream"] { --wl-shares: minmax(0, 5fr) minmax(0, 4fr); }
[class*="st-key-weaklink_details_"][class*="_verdict"] { --wl-shut: minmax(0, 5fr) minmax(0, 2fr); }
@media (min-width: 641px) {  /* from the click on, and not when the server has answered */
  [class*="st-key-weaklink_details_shut_"] { grid-template-columns: var(--wl-shut); }
  [class*="st-key-weaklink_details_open_"], :root[data-details="open"] [class*="st-key-weaklink_details_shut_"] {
    grid-template-columns: var(--wl-shares); }
  :root[data-details="shut"] [class*="st-key-weaklink_details_open_"] { grid-template-columns: var(--wl-shut); }
}
:root[data-details="shut"] [class*="st-key-weaklink_details_open_"] > :nth-child(2),
[class*="st-key-weaklink_details_shut_stream"] > :nth-child(2) { display: none; }  /* not below it until it has gone */
:root label:has(input[type="checkbox"]) { min-height: 24px; align-items: center; }
button[aria-label^="Help for"] { min-height: 24px; min-width: 24px; }
[data-testid="stSkeleton"] { opacity: 0; animation: wl-late 0s 1.5s forwards; }
@keyframes wl-late { to { opacity: 1; } }
[data-testid="stApp"][data-test-script-state="running"]::after { content: "Working …";
  position: fixed; inset-block-end: 0.5rem; inset-inline-end: 1rem; z-index: 999992; padding: 2px 10px;
  border: 1px solid var(--edge); border-radius: 0.5rem; background: Canvas; color: CanvasText; font-size: 14px;
  opacity: 0; pointer-events: none; animation: wl-late 0s 3s forwards; }
.wl.narrow { display: none; }
@media (max-width: 45rem) {
  .wl .folds { white-space: pre-wrap; overflow-wrap: anywhere; }
  .wl.narrow { display: block; }
  .wl.wide { display: none; }
  .st-key-weaklink_tall_worse { min-height: 0; }
  .st-key-weaklink_tall_worse .wl-room { height: 96px !important; }
}
""" + "\n".join(
    f'[class*="st-key-weaklink_rows_{rows}_"] {{ min-height: {ROW_PX * rows}px; }}'
    for rows in range(1, MAX_ROOM_ROWS + 1)
)
"""The CSS of every page, apart from its colours; in the page from its start, so that nothing moves later."""

_MARKS = re.compile(r"([!-/:-@\[-`{-~])")
_REREAD = re.compile(r"(?<=[^\s])(?=[:@])|(?<=www)(?=\.)|(?<=[-<>=~])(?=[->=])", re.IGNORECASE)
_JOINER = "\u2060"
_CODE = re.compile(r"[\w./=<>*+-](?:[\w .,:/=<>*+-]*[\w./=<>*+-])?")  # in Markdown's code, nothing else is special

_IN_COLUMNS = re.compile(
    r"\S  +\S"  # words set apart by more than one space
    r"|^ *\d* *[|│]"  # the gutter of quoted text
    r"|^[\s·.-]*$"  # horizontal rules and blank lines
)

_COLUMN_MARKS = re.compile(r" *[\^~][\s^~·.-]*")  # they mark characters of the line above

COLOUR_NAMES = {
    Style.ERROR: "red",
    Style.WARNING: "orange",
    Style.OK: "green",
    Style.INFO: "blue",
    Style.REASONING: "violet",
}
"""Streamlit's names for the colours of statuses, in its options and its Markdown."""
_BUTTON = "#1769aa"  # with Streamlit's white text, in both themes: a contrast of 5.6:1
MENUS = ("names", "icons")
"""What the menu of pages may show."""

MENU_COOKIE = "weaklink_menu"
"""The cookie with the visitor's choice of a menu of names or of icons."""

_INK = "#0b0d10"  # on light pages; captions have 60 % of it, a contrast of 4.9:1
_HEADING_SIZES = ["26px", "20px", "20px", "16px", "14px", "14px"]
_BLACK, _WHITE = "#000000", "#ffffff"


def page_head(title: str) -> DeltaGenerator:
    """Draw a page's heading; return the row with it, where a note beside the heading moves nothing below."""
    head = st.container(horizontal=True, vertical_alignment="center", key="weaklink_head")
    head.title(title, width="content", anchor=False)
    return head


def put_title(text: str) -> None:
    """Draw the page's heading from text of a trace, word for word, on one line."""
    shown = escape(visible_line(text))
    st.html(f'<h1 class="wl-title" title="{shown}">{shown}</h1>')


def put_grey_tabs(key: str, numbers: Iterable[int]) -> None:
    """Grey the tabs with these numbers, from 1, in the container with this key."""
    tabs = ", ".join(f".st-key-{key} [role=tab]:nth-of-type({number}) p" for number in numbers)
    if tabs:
        st.html(f"<style>{tabs} {{ color: var(--dim); font-style: italic; }}</style>")


def put_summary(text: str, *, aside: str = "") -> None:
    """Draw the sentence that sums up a page, at most one a page; `aside` follows it in a fainter style.

    It is the first that a reader looks for, so it is drawn by a part of Streamlit's first script: HTML waits for one of
    its own, behind all else that the page loads.
    """
    with st.container(horizontal=True, gap="xsmall", key="weaklink_summary"):
        st.text(visible_line(text))
        if aside:
            put_sentence(aside=aside)


def put_sentence(text: str = "", *, aside: str = "") -> None:
    """Draw text in the page's own font, wrapped to the page; `aside` follows it in a fainter style."""
    quiet = f' <span class="wl-aside">{escape(visible_line(aside))}</span>' if aside else ""
    st.html(f'<p class="wl-said">{escape(visible_line(text))}{quiet}</p>')


def put_lines(lines: Iterable[Line], *, hint: str = "") -> None:
    """Draw lines below each other, in the styles of the palette; the hint is shown while the pointer is over them."""
    st.html(_lines_html(lines, hint=hint))


def put_prose(lines: Iterable[Line], *, hint: str = "") -> None:
    """Draw sentences in the page's own font, wrapped to the page; quotes, and lines in columns, keep a monospaced one.

    The hint is shown while the pointer is over them.
    """
    shown = list(lines)
    groups = groupby(zip(shown, folds(shown), strict=True), key=lambda pair: pair[1] or not plain(pair[0]).strip())
    drawn = "".join(_prose_html([line for line, _ in group], is_folded) for is_folded, group in groups)
    title = f' title="{escape(hint)}"' if hint else ""
    st.html(f'<div class="wl-prose"{title}>{drawn}</div>')


def _prose_html(lines: Sequence[Line], is_folded: bool) -> str:  # noqa: FBT001  # the key of a group
    """Sentences, or lines in columns, which scroll together."""
    if not is_folded:
        columns = "\n".join(map(runs_html, lines))
        return f'<pre tabindex="0">{columns}</pre>'
    return "".join(map(_sentence_html, lines))


def _sentence_html(line: Line) -> str:
    words = "".join(f'<span class="{style}">{escape(text)}</span>' for style, text in prose_runs(line))
    return f"<p>{words}</p>"


def prose_runs(line: Line) -> list[tuple[str, str]]:
    """A sentence's runs, each with its CSS classes; quotes are marked by their font and lose their backticks."""
    runs = [(run.style.value, run.text) for run in line]
    runs[:1] = [(style, text.lstrip(" ")) for style, text in runs[:1]]
    return [
        (f"{style} code", text[1:-1]) if len(text) > 2 and text[0] == text[-1] == "`" else (style, text)
        for style, text in runs
    ]


def put_laid_out(lines: Callable[[int], Iterable[Line]], width: int = _BESIDE) -> None:
    """Draw lines laid out for a width in characters, once for a table's side, once for a phone; CSS shows one."""
    st.html(_lines_html(lines(width), "wide") + _lines_html(lines(_PHONE), "narrow"))


def _lines_html(lines: Iterable[Line], shown_where: str = "", hint: str = "") -> str:
    shown = list(lines)
    drawn = "\n".join(starmap(_line_html, zip(shown, folds(shown), strict=True)))
    title = f' title="{escape(hint)}"' if hint else ""
    scrolls = 'tabindex="0"'  # so that keys scroll it sideways
    return f'<div class="wl {shown_where}"{title} {scrolls}>{drawn}</div>'


def _line_html(line: Line, is_folded: bool) -> str:  # noqa: FBT001  # called by `starmap`
    return f'<span class="folds">{runs_html(line)}</span>' if is_folded else runs_html(line)


def label(text: str, most: int = 80) -> str:
    """Text as one line of Markdown, of at most `most` characters, with markup escaped and invisible characters shown.

    A backslash alone is not enough: after parsing the Markdown, Streamlit searches its text again for addresses, icons
    (`:material/x:`) and arrows; an invisible joiner breaks them up.
    """
    shown = visible_line(text[:most]) + ("…" if len(text) > most else "")
    escaped = _MARKS.sub(r"\\\1", _REREAD.sub(_JOINER, f" {shown}")[1:])
    return escaped.replace(" ", "\u00a0", 1) if escaped.startswith(" ") else escaped


def message(text: str, most: int = 1_000) -> str:
    """A sentence of ours as Markdown: a label whose names between backquotes have a monospaced font."""
    parts = text[:most].split("`")
    if len(parts) % 2 == 0:
        return label(text, most)
    quoted = (f"`{part}`" if _CODE.fullmatch(part) else label(f"`{part}`", most) for part in parts[1::2])
    said = (label(f"x{part}", most)[1:] for part in parts[2::2])  # where a blank at the start is one between words
    later = "".join(chain.from_iterable(zip(quoted, said, strict=True)))
    return label(parts[0], most) + later + ("…" if len(text) > most else "")


def folds(lines: Sequence[Line]) -> list[bool]:
    """For each of these consecutive lines, whether it can be wrapped without a change of meaning."""
    texts = ["".join(run.text for run in line) for line in lines]
    are_marks = [_COLUMN_MARKS.fullmatch(text) is not None for text in texts]
    are_marked = (*are_marks[1:], False)
    return [
        not marks and not marked and _IN_COLUMNS.search(text) is None
        for text, marks, marked in zip(texts, are_marks, are_marked, strict=False)  # `are_marked` is never empty
    ]


def theme_options() -> dict[str, Any]:
    """Theme options of `streamlit.App.run`, by their dotted names; the browser chooses light or dark."""
    options: dict[str, Any] = {"theme.baseRadius": "small", "theme.headingFontSizes": _HEADING_SIZES}
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        options |= {f"theme.{name}.{key}": value for key, value in _theme(colours)}
    return options


def colour_rules() -> str:
    """The CSS: a class for each style, and a variable for each colour; Streamlit sets whether it is light or dark."""
    pairs = {"lit": (LIGHT.lit, DARK.lit), "cursor": (LIGHT.cursor, DARK.cursor), "edge": (LIGHT.edge, DARK.edge)}
    pairs |= {style.value: (LIGHT.of[style], DARK.of[style]) for style in _STYLES}
    variables = " ".join(f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in pairs.items())
    classes = (f".{style} {{ color: var(--{style}); }}" for style in _STYLES)
    return "\n".join((f":root, :host {{ {variables} }}", *classes))


_STYLES = tuple(style for style in Style if style not in (Style.PLAIN, Style.STRONG))


def _theme(colours: Colours) -> Iterator[tuple[str, str]]:
    of = colours.of
    yield "primaryColor", _BUTTON
    yield "backgroundColor", colours.background
    yield "secondaryBackgroundColor", colours.surface
    yield "textColor", of[Style.PLAIN] if colours.dark else _INK
    yield "borderColor", colours.edge
    yield "linkColor", of[Style.INFO]
    for style, name in COLOUR_NAMES.items():
        yield f"{name}Color", of[style]


def mixed(color: str, other: str, share: float) -> str:
    """The mixture of two colours (`#rrggbb`): a share of 0 gives `color`, 1 gives `other`."""
    far = min(max(share, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * far):02x}" for a, b in zip(_parts(color), _parts(other), strict=True))


def ink_on(ground: str) -> str:
    """Black or white, whichever contrasts more with this background: by at least 4.5:1 on any background."""
    return max((_BLACK, _WHITE), key=lambda ink: contrast(ink, ground))


def _parts(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue
