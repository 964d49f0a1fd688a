"""The rules: what each says, and how often it was broken."""
