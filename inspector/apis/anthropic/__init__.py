"""Anthropic's Messages API: its messages, and how to read them with their positions."""
