"""The home screen: traces one to a line, filtered, sorted, followed, and what is done with the one under the cursor."""
