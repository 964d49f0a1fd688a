"""The commands of the screen that compares runs."""

from ui.tui.commands import Command

DIFF_COMMANDS = (
    Command("diff.next", "Next difference", "Goes to the next row in which the runs differ.", ("]",), in_footer=True),
    Command("diff.previous", "Previous difference", "Goes to the row before in which the runs differ.", ("[",)),
    Command("diff.parting", "First difference", "Goes to where the runs first part.", ("e",), in_footer=True),
    Command("diff.next-run", "Next run", "Compares the first run with the next of the others.", ("n",), in_footer=True),
    Command("diff.previous-run", "Run before", "Compares the first run with the one before.", ("N",)),
    Command("diff.open", "Open step", "Opens the compared run on the selected step.", ("o",), in_footer=True),
    Command("diff.open-first", "Open in first run", "Opens the first run on the selected step.", ("O",)),
    Command("diff.whole", "Whole texts", "Shows the texts whole, or only what differs.", ("w",), in_footer=True),
    Command("diff.asked", "How asked", "Shows the verdict and how the runs were asked.", ("a",), in_footer=True),
    Command("diff.next-pane", "Next pane", "Gives the keys to the other list.", ("tab", "shift+tab"), in_footer=True),
    Command("diff.reload", "Reload", "Reads the runs anew.", ("ctrl+r",)),
    Command("diff.back", "Back", "Goes back to where this was opened.", ("escape", "q"), in_footer=True),
)
"""The scope `diff`."""
