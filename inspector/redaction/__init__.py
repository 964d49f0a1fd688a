"""Removes secrets from recordings before they reach a disk; every text keeps its length."""
