"""The faces of weaklink."""
