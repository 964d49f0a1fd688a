"""The chat templates of the main families, one to a file."""
