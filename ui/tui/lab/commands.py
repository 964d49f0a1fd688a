"""The commands of the re-read lab."""

from ui.tui.commands import Command

LAB_COMMANDS = (
    Command("lab.next-cut", "Next way", "Goes to the next way of cutting the stream.", ("]", "l"), in_footer=True),
    Command("lab.previous-cut", "Way before", "Goes to the way of cutting before.", ("[", "h")),
    Command("lab.next-unlike", "Next unlike", "Goes to the next reading that differs.", ("n",), in_footer=True),
    Command("lab.seed", "Another seed", "Cuts the stream at other random places.", ("s",), in_footer=True),
    Command("lab.whole", "All lines", "Shows all that was read, or only what differs.", ("w",), in_footer=True),
    Command("lab.write", "Write JSON", "Writes the selected reading to a file.", ("x",), in_footer=True),
    Command("lab.next-pane", "Next pane", "Gives the keys to the other list.", ("tab", "shift+tab"), in_footer=True),
    Command("lab.reload", "Reload", "Reads the trace anew.", ("ctrl+r",)),
    Command("lab.back", "Back", "Leaves the lab; what it was reading is left too.", ("escape", "q"), in_footer=True),
)
"""The scope `lab`."""
