"""Log files of other tools: one source per file, recognised by its content."""
