"""The dialects: one module each, handing over a Format."""
