"""Chat templates of models: reading them from files, rendering them in a sandbox, and deriving formats from them."""
