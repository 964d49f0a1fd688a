"""Imports files into a store, for all user interfaces."""
