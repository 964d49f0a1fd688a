"""Log files of other tools, one source to a file, recognised by their content."""
