"""Calls under headings, as ReAct prompts write them."""
