"""Anthropic's Messages API: its messages, and the same with places."""
