"""Training data: conversations and raw outputs, rewritten for another model."""
