"""The chat templates of the main families."""
