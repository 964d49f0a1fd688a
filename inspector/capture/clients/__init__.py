"""Clients of httpx-based SDKs, recorded in the process that uses them."""
