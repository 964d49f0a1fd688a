"""The shapes of what commands print as JSON: a type for each object, from which its JSON Schema is derived."""
