"""The dissector: one trace as a tree, as its exact stream and in side views, in panes that move together."""
