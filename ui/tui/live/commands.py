"""The commands of the live view."""

from ui.tui.commands import Command

LIVE_COMMANDS = (
    Command("live.pause", "Pause", "Holds the stream still while more comes, or goes on.", ("p",), in_footer=True),
    Command("live.follow", "Follow", "Stays at the end of the stream, or lets it go.", ("F",), in_footer=True),
    Command("live.next-pane", "Next pane", "Gives the keys to the other list.", ("tab", "shift+tab"), in_footer=True),
    Command("live.open", "Dissect", "Opens the trace as far as it came.", ("o",), in_footer=True),
    Command("live.reload", "Reload", "Begins anew.", ("ctrl+r",)),
    Command("live.back", "Back", "Goes back to where this was opened.", ("escape", "q"), in_footer=True),
)
"""The scope `live`."""
