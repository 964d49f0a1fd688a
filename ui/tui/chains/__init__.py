"""The home screen: the list of traces, filtered, sorted and followed, and actions on the trace under the cursor."""
