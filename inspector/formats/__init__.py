"""The dialects of tool calling: their detection, tables, readers, writers and chat templates."""
