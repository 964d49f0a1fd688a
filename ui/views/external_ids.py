"""Which of a trace's external ids tell what it is."""

PLACES = ("line", "entry", "record", "document", "sha256")
"""External ids that say where a trace stands in its file, not what it is."""
