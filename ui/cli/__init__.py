"""The `weaklink` command line."""
