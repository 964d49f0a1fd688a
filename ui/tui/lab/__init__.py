"""The re-read lab: a stored stream read again by any format, in pieces of any size."""
