"""One part's text, cut into spans and events, without I/O."""
