"""Model provider APIs: the shapes of their messages, the readers of their answers and of their requests."""
