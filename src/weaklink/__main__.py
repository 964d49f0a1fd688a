"""Runs the command `weaklink` for `python -m weaklink`."""

from weaklink.command import main

main()
