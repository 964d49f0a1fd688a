"""The checks, one module for each family of rules."""
