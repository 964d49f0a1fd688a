"""The commands of the home screen."""

from ui.tui.commands import Command

CHAIN_COMMANDS = (
    Command("chains.next-break", "Next break", "Opens the next broken chain, on its break.", ("e",), in_footer=True),
    Command("chains.previous-break", "Previous break", "Opens the broken chain before, on its break.", ("E",)),
    Command("chains.filter", "Filter", "Filters the list; keys and values are completed.", ("f",), in_footer=True),
    Command("chains.search", "Search", "Finds words in the texts of all traces.", ("/",), in_footer=True),
    Command("chains.next-match", "Next match", "Goes to the next chain that holds the words.", ("n",)),
    Command("chains.previous-match", "Previous match", "Goes to the chain before that holds the words.", ("N",)),
    Command("chains.broken", "Broken only", "Shows only broken chains, or all again.", ("b",), in_footer=True),
    Command("chains.sort", "Sort", "Sorts by time, duration, tokens or errors.", ("s",), in_footer=True),
    Command("chains.clear", "Clear filter", "Shows all chains again.", ("escape", "backspace")),
    Command("chains.mark", "Mark", "Marks the chain under the cursor, or takes its mark away.", ("m",), in_footer=True),
    Command("chains.note", "Note", "Writes a note on the chain under the cursor.", (";",), in_footer=True),
    Command("chains.follow", "Follow", "Keeps the cursor on the newest chain, or lets it go.", ("F",), in_footer=True),
    Command("chains.pause", "Pause", "Holds the list still while traces come, or goes on.", ("p",), in_footer=True),
    Command("chains.export", "Export", "Writes the chain under the cursor to a file.", ("x",), in_footer=True),
    Command("chains.copy", "Copy", "Copies the chain's id, link or command to the clipboard.", ("y",), in_footer=True),
    Command("chains.diff", "Diff", "Compares the chain under the cursor with the marked ones.", ("d",), in_footer=True),
    Command("chains.reread", "Read again", "Reads the chain's stream with other formats.", ("r",)),
    Command("chains.live", "Live", "Watches a chain while it is being recorded.", ("v",)),
    Command("chains.rules", "Rules", "Lists the rules, and how often each was broken.", ("R",)),
    Command("chains.import", "Import", "Brings files into the database.", ("i",)),
    Command("chains.reload", "Reload", "Reads the database anew, and tries again what failed.", ("ctrl+r",)),
    Command("chains.quit", "Quit", "Ends weaklink.", ("q",), in_footer=True),
)
"""The scope `chains`: they act on the list and on the chain under its cursor."""
