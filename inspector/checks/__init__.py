"""What can be wrong, one family of rules to a file."""
