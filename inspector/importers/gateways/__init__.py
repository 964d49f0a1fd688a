"""Request logs of LLM gateways: one row for each request."""
