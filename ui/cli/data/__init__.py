"""`weaklink data`: commands for people who build training data. `group` has the table of commands."""
