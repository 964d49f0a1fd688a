"""The commands of the screen of rules."""

from ui.tui.commands import Command

RULE_COMMANDS = (
    Command("rules.filter", "Show chains", "Lists the chains in which this rule was broken.", ("f",), in_footer=True),
    Command("rules.sort", "Sort", "Sorts by how often rules were broken, or by code.", ("s",), in_footer=True),
    Command(
        "rules.next-pane",
        "Next pane",
        "Gives the keys to the page, or to the list.",
        ("tab", "shift+tab"),
        in_footer=True,
    ),
    Command("rules.copy", "Copy", "Copies the command that prints this page.", ("y",), in_footer=True),
    Command("rules.reload", "Reload", "Counts anew.", ("ctrl+r",)),
    Command("rules.back", "Back", "Goes back to where this was opened.", ("escape", "q"), in_footer=True),
)
"""The scope `rules`."""
