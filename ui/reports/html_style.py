"""The colours and measures of an HTML page, light and dark: every style of the palette has one of each."""

from collections.abc import Iterator
from types import MappingProxyType

from ui.views.palette import Style

_COLOURS = MappingProxyType(
    {
        Style.DIM: ("#5c6370", "#9aa1ad"),
        Style.KEY: ("#0b6374", "#6fc3d6"),
        Style.GUTTER: ("#5c6370", "#9aa1ad"),
        Style.CONTROL: ("#8a3ffc", "#c8a2ff"),
        Style.ERROR: ("#b3261e", "#ff8a80"),
        Style.WARNING: ("#855000", "#f2b75c"),
        Style.INFO: ("#0b5cad", "#82b8f5"),
        Style.HINT: ("#1b6e3c", "#7ed29b"),
        Style.OK: ("#1b6e3c", "#7ed29b"),
        Style.ADDED: ("#1b6e3c", "#7ed29b"),
        Style.REMOVED: ("#b3261e", "#ff8a80"),
        Style.TEXT: ("#4b5563", "#aab2bf"),
        Style.REASONING: ("#7b3fa0", "#d2a6ee"),
        Style.TOOL_CALL: ("#0b6374", "#6fc3d6"),
        Style.TOOL_RESULT: ("#2f54b5", "#9db8ff"),
        Style.TOOL_DEFINITIONS: ("#5a5f1e", "#c9cf86"),
        Style.MARKUP: ("#6b7280", "#8f98a6"),
    }
)

_RULES = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1b1f24; --line: #d5d9e0; --soft: #f5f6f8; }
@media (prefers-color-scheme: dark) { :root { --page: #15181d; --ink: #e3e6eb; --line: #363c46; --soft: #1d2127; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 1rem 0; } h1 span { font-weight: 400; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; border-top: 1px solid var(--line); padding-top: .5rem; }
h3 span, h4 { font-weight: 400; font-size: .85rem; margin: .5rem 0 .25rem; }
section + section { border-top: 3px double var(--line); margin-top: 3rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; } p { margin: .2rem 0; }
code, pre { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { margin: 0; white-space: pre-wrap; tab-size: 4; }
.map { white-space: pre-wrap; font-size: 15px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 400; } th, td.brief { white-space: nowrap; }
.break { border: 1px solid var(--error); border-left-width: 5px; padding: .5rem .75rem; margin: 1rem 0; }
.span { display: grid; grid-template-columns: 8.5rem minmax(0, 1fr); border-left: 4px solid currentColor;
  background: var(--soft); margin: 0 0 2px; }
.span > .label { padding: .35rem .5rem; font-size: .8rem; } .span > .label small { display: block; }
.span > .body { padding: .35rem .75rem .35rem 0; color: var(--ink); }
summary { cursor: pointer; color: var(--dim); }
mark { background: color-mix(in srgb, currentColor 18%, transparent); font-weight: 700;
  text-decoration: underline wavy 2px; }
.faults { list-style: none; margin: .4rem 0; padding: 0; }
.faults li { border-left: 3px solid currentColor; padding: .1rem 0 .1rem .6rem; margin: .3rem 0; }
.call { margin: .3rem 0; }
.child { border-bottom: 1px dotted currentColor; }
.strong { font-weight: 700; } .key { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; }
nav ol, nav ul { padding-left: 1.25rem; } a { color: var(--info); } footer { margin-top: 3rem; color: var(--dim); }
@media (max-width: 40rem) { .span { grid-template-columns: minmax(0, 1fr); } .span > .body { padding-left: .5rem; } }
"""


def style_sheet() -> str:
    """The whole style sheet; it needs nothing from elsewhere."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    light = " ".join(f"--{style}: {colours[0]};" for style, colours in _COLOURS.items())
    dark = " ".join(f"--{style}: {colours[1]};" for style, colours in _COLOURS.items())
    yield f":root {{ {light} }}"
    yield f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    yield _RULES.strip()
    yield from (f".{style} {{ color: var(--{style}); }}" for style in _COLOURS)
    for severity in (Style.ERROR, Style.WARNING, Style.INFO):
        yield f"mark.{severity} {{ color: var(--{severity}); text-decoration-color: var(--{severity}); }}"
        yield f".faults li.{severity} {{ border-left-color: var(--{severity}); color: var(--ink); }}"
