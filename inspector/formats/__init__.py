"""The dialects of tool calling, one to a file."""
