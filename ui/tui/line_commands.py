"""The commands of everything that shows lines: moving, and choosing where one stands."""

from ui.tui.commands import Command

LINE_COMMANDS = (
    Command("lines.down", "Down", "Goes to the next line.", ("j", "down")),
    Command("lines.up", "Up", "Goes to the line before.", ("k", "up")),
    Command("lines.page-down", "Page down", "Goes one screen down.", ("space", "pagedown", "ctrl+f")),
    Command("lines.page-up", "Page up", "Goes one screen up.", ("pageup", "ctrl+b")),
    Command("lines.first", "First line", "Goes to the first line.", ("g", "home")),
    Command("lines.last", "Last line", "Goes to the last line.", ("G", "end")),
    Command("lines.left", "Left", "Shows what lies to the left.", ("left",)),
    Command("lines.right", "Right", "Shows what lies to the right.", ("right",)),
    Command("lines.choose", "Choose", "Opens or unfolds the line under the cursor.", ("enter",)),
)
"""The scope `lines`: they act on the focused `LineView`."""
