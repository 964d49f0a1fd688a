"""Bytes and deltas of live sessions on their way into a store."""
