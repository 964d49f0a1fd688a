"""`weaklink data`: commands for people who build training data; `ui.cli.group` has their table."""
