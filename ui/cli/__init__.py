"""The command weaklink."""
