"""`python -m weaklink` is the command `weaklink`."""

from weaklink.command import main

main()
