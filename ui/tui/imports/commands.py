"""The commands of the import dialog."""

from ui.tui.commands import Command

IMPORT_COMMANDS = (
    Command("import.start", "Import", "Reads the files at the path.", ("enter",), in_footer=True),
    Command("import.complete", "Complete", "Completes the path; again, takes the next one.", ("tab",), in_footer=True),
    Command("import.leave", "Leave", "Stops behind the file in hand; then closes.", ("escape",), in_footer=True),
)
"""The scope `import`."""
