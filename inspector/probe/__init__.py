"""Sends a suite of requests to an endpoint, and finds what its answers break, how often, and whose fault it is."""
