"""The dissector: one trace as a tree, as its exact stream and as what is said of it, in panes that move together."""
