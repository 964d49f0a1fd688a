"""What the two ends of the way to a running `weaklink record` agree on: path, headers, sizes."""

EVENTS_PATH = "/weaklink/events"
"""Where record events are posted, behind the address that the server prints."""

SENDER, BATCH, INSTANCE = "X-Weaklink-Sender", "X-Weaklink-Batch", "X-Weaklink-Instance"
"""Who sends, the number of this body, which counts up with each that was taken, and which server he means."""

CONTENT_TYPE = "application/x-ndjson"

MOST_BYTES = 64 * 1024 * 1024
"""The longest body that is taken."""
