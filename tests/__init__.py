"""The tests of weaklink."""
