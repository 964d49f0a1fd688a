"""Secrets out of what was recorded, before it reaches a disk; every text keeps its length."""
