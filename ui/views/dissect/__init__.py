"""The dissector's views: a trace as a tree and as its exact stream, with side views; shared by all user interfaces."""
