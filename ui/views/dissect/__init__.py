"""The views of the dissector: a trace as a tree, as its exact stream, and what is said of both; for every face."""
