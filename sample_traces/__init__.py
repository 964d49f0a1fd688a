"""Small traces, each showing one thing."""
