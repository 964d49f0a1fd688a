"""Formats whose raw text is an API's JSON: messages, whole answers, and streams of events."""
