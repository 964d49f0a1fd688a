"""The screen of all rules, with how often each was broken, and the page on the rule under the cursor."""

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from weaklink.inspector.chain.metrics_groups import GroupKey
from weaklink.inspector.rules.catalogue import RULES
from weaklink.inspector.rules.rule import Rule
from weaklink.storage.store import Store
from weaklink.ui.tui.commands import Command, bindings
from weaklink.ui.tui.dialogs import UpperScreen
from weaklink.ui.tui.line_bar import KeyFooter, LineBar, StatusLine
from weaklink.ui.tui.line_view import LineList, LineView
from weaklink.ui.tui.store_access import StoreAccess, start_work
from weaklink.ui.views.rule import read_example, rule_lines
from weaklink.ui.views.status import GLYPHS
from weaklink.ui.views.styled_text import Line, Run, Style, clipped, counted, quoted, style_of

RULE_COMMANDS = (
    Command(
        "rules.filter", "Show traces", "List the traces in which this rule was broken.", ("f",), footer="Show traces"
    ),
    Command("rules.sort", "Sort", "Sort by how often rules were broken, or by code.", ("s",), footer="Sort"),
    Command("rules.next-pane", "Next pane", "Focus the page or the list.", ("tab", "shift+tab"), footer="Next pane"),
    Command("rules.copy", "Copy", "Copy the command that prints this page.", ("y",), footer="Copy"),
    Command("rules.reload", "Reload", "Count again.", ("ctrl+r",)),
    Command("rules.back", "Back", "Go back to the previous screen.", ("escape", "q"), footer="Back"),
)
"""The scope `rules`."""

_DEBOUNCE_S = 0.04
_BROAD_CELLS = 150
_NAME_CELLS = max(len(rule.name) for rule in RULES) + 1


class RulesScreen(UpperScreen):
    """The rules, with the cursor on `code`; `show_chains` shows the list of chains with a filter."""

    ACTIONS: ClassVar[tuple[Command, ...]] = RULE_COMMANDS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(RULE_COMMANDS)]
    DEFAULT_CSS = """
    RulesScreen { background: $background; }
    RulesScreen Container { height: 1fr; layout: vertical; }
    RulesScreen Container.broad { layout: horizontal; }
    RulesScreen #rules { height: 2fr; }
    RulesScreen #page { height: 3fr; border-top: solid $edge; padding: 0 1; }
    RulesScreen Container.broad #rules { height: 1fr; width: 1fr; }
    RulesScreen Container.broad #page {
        height: 1fr; width: 55%; max-width: 108; border-top: none; border-left: solid $edge;
    }
    """

    def __init__(self, access: StoreAccess, show_chains: Callable[[str], None], code: str = "") -> None:
        super().__init__(access, "rules")
        self._show_chains = show_chains
        self._code = code
        self._by_code = bool(code)
        self._traces: Mapping[str, int] | None = None
        self._rules: list[Rule] = list(RULES)

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield StatusLine()
        yield LineBar(id="head")
        with Container():
            yield LineView(id="rules")
            yield LineView(id="page")
        yield KeyFooter()

    @property
    def rules(self) -> LineView:
        """The list."""
        return self.query_one("#rules", LineView)

    @property
    def page(self) -> LineView:
        """The page on the rule under the cursor."""
        return self.query_one("#page", LineView)

    @property
    def rule(self) -> Rule:
        """The rule under the cursor."""
        return self._rules[self.rules.cursor]

    def on_mount(self) -> None:
        """Show the rules, then count."""
        self.rules.focus()
        self._show(self._code)
        start_work(self, self._count, "count")

    def on_resize(self) -> None:
        """Put the page beside the list if there is room."""
        self.query_one(Container).set_class(self.size.width >= _BROAD_CELLS, "broad")
        self.call_after_refresh(self._refresh_preview)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        """Show the page on the rule that is selected now."""
        if event.view is self.rules:
            self._refresh_preview()

    def on_line_view_chosen(self, event: LineView.Chosen) -> None:
        """List the chains in which the rule was broken."""
        if event.view is self.rules:
            self.action_filter()

    def action_filter(self) -> None:
        """List the chains in which the rule was broken."""
        traces = self._traces.get(self.rule.code, 0) if self._traces is not None else None
        if traces == 0:
            self.toast(f"{self.rule.code} was broken in no trace of this database.")
        else:
            self.stop_work()
            self._show_chains(f"code:{self.rule.code}")

    def action_sort(self) -> None:
        """Sort by how often rules were broken, or by code."""
        self._by_code = not self._by_code
        self._show(self.rule.code)

    def action_copy(self) -> None:
        """Copy the command that prints the page."""
        command = f"weaklink rules {self.rule.code}"
        self.app.copy_to_clipboard(command)
        self.toast(f"Copied: {command}")

    def action_next_pane(self) -> None:
        """Focus the page, or the list."""
        (self.rules if self.focused is self.page else self.page).focus()

    def action_reload(self) -> None:
        """Count again."""
        self.access.forget()
        start_work(self, self._count, "count")

    async def _count(self) -> None:
        async with self.working("counting"):
            traces = await self.fetch(_broken_counts)
        if traces is not None:
            self._traces = traces
            self._show(self._code or (self.rule.code if self.rules.cursor else ""))

    def _show(self, code: str) -> None:
        traces = self._traces or {}
        self._rules = sorted(RULES, key=lambda rule: 0 if self._by_code else -traces.get(rule.code, 0))
        cursor = next((index for index, rule in enumerate(self._rules) if rule.code == code), 0)
        self.rules.show(_RuleLines(self._rules, self._traces), cursor=cursor)
        self._refresh_status()
        self._refresh_preview()

    def _refresh_status(self) -> None:
        order = "by code" if self._by_code else "the most broken first"
        self.query_one("#head", LineBar).show_lines([(Run("   code   traces  rule", Style.DIM),)])
        broken = sum(1 for count in (self._traces or {}).values() if count)
        counts = f"{counted(len(RULES), 'rule')}, {broken:,} broken, {order}" if self._traces is not None else ""
        self.update_status((), (Run(counts),))

    def _refresh_preview(self) -> None:
        start_work(self, self._explain, "page")

    async def _explain(self) -> None:
        await asyncio.sleep(_DEBOUNCE_S)
        width = max(self.page.scrollable_content_region.width - 1, 40)
        lines = await asyncio.to_thread(_page, self.rule, width)
        self.page.show(LineList(lines))


class _RuleLines:
    """Rules as a source of lines; `traces` is in how many traces each was broken, None if not counted yet."""

    def __init__(self, rules: list[Rule], traces: Mapping[str, int] | None) -> None:
        self._rules, self._traces = rules, traces

    @property
    def count(self) -> int:
        """The number of rules."""
        return len(self._rules)

    def line(self, index: int, width: int) -> Line:
        """A rule."""
        rule = self._rules[index]
        style = style_of(rule.severity)
        traces = self._traces.get(rule.code, 0) if self._traces is not None else None
        count = "…" if traces is None else f"{traces:,}" if traces else "-"
        return clipped(
            (
                Run(f" {GLYPHS[rule.severity]} {rule.code}", style),
                Run(f"{count:>9}", Style.STRONG if traces else Style.DIM),
                Run(f"  {rule.name:<{_NAME_CELLS}}", Style.STRONG),
                *quoted(rule.summary),
            ),
            width,
        )


def _broken_counts(store: Store) -> dict[str, int]:
    """The number of traces in which each rule was broken."""
    return {group.keys[0]: group.traces for group in store.statistics.figures(by=(GroupKey.CODE,))}


def _page(rule: Rule, width: int) -> list[Line]:
    bad, good = (read_example(text, rule.format) if text else None for text in (rule.bad, rule.good))
    return list(rule_lines(rule, bad, good, width=width))
