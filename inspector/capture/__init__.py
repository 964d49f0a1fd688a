"""Records live sessions: turns bytes and deltas into record events, and sends these to a sink."""
