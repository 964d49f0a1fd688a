"""Reads one JSON value tolerantly: a machine over a stack of open brackets, which reports every fault and reads on.

Theory of operation. The innermost `Frame` waits for a key, a colon, a value or a comma (`Next`); the character at the
cursor decides what it gets. What does not fit is a fault with the repair that is most likely meant, and the machine
goes on as if that repair had been made, so the values it builds and the text that the repairs make are the same.
Every step moves the cursor or closes a bracket, nothing is held back, and nesting is bounded by `MAX_DEPTH`.
"""

import re
from dataclasses import replace

from inspector.diagnostics import Edit, Fault, Fix
from inspector.json_scanner import bracket_wording as say
from inspector.json_scanner import brackets, cut, strings, words
from inspector.json_scanner.comments import skip_comment
from inspector.json_scanner.cursor import Cursor, Frame, Next, Place
from inspector.json_scanner.keys import read_bare_key
from inspector.json_scanner.values import MAX_DEPTH, JsonKind, JsonNode, Member
from inspector.text import Range
