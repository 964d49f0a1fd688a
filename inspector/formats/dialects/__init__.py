"""The dialects: each module defines the Formats of one family."""
