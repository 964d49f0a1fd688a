"""Decides which requests belong to one session: requests and answers in, the turns of traces out."""
