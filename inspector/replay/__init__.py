"""Replays a recording: which recorded exchange answers a live request, and where a request differs from all of them."""
