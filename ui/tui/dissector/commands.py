"""The commands of the dissector: of its screen, its tree, its stream and the views beside them."""

from weaklink.ui.tui.commands import LINE_COMMANDS, Command

_OF_LINES = {command.id: command for command in LINE_COMMANDS}

DISSECTOR_COMMANDS = (
    Command("dissector.next-fault", "Next fault", "Go to the next fault.", ("e",), footer="Fault"),
    Command("dissector.previous-fault", "Previous fault", "Go to the previous fault.", ("ctrl+e",)),
    Command(
        "dissector.jump", "Jump", "Label each visible fault with a letter that jumps to it.", ("f",), footer="Jump"
    ),
    Command("dissector.next-step", "Next step", "Go to the next call.", ("]",), footer="Step"),
    Command("dissector.previous-step", "Previous step", "Go to the previous call.", ("[",)),
    Command("dissector.next-trace", "Next trace", "Open the next trace of the list.", ("}",), footer="Trace"),
    Command("dissector.previous-trace", "Previous trace", "Open the previous trace of the list.", ("{",)),
    Command("dissector.search", "Search", "Find words in the texts of this trace.", ("/",), footer="Find"),
    Command("dissector.next-match", "Next match", "Go to the next match.", ("n",)),
    Command("dissector.previous-match", "Previous match", "Go to the previous match.", ("N",)),
    Command(
        "dissector.origin",
        "Origin",
        "Go to the origin of the value, or to the call of a result.",
        ("o",),
        footer="Origin",
    ),
    Command(
        "dissector.next-layer",
        "Next layer",
        "Go to the same call, or result, in the next layer.",
        ("x",),
        footer="Layer",
    ),
    Command("dissector.context", "Context", "Show what the model read in this turn.", ("c",), footer="Context"),
    Command("dissector.return", "Return", "Go back to where the last jump started.", ("ctrl+o",)),
    Command("dissector.next-pane", "Next pane", "Focus the next pane.", ("tab",)),
    Command("dissector.previous-pane", "Previous pane", "Focus the previous pane.", ("shift+tab",)),
    Command("dissector.tree", "Tree", "Focus the tree.", ("1",)),
    Command("dissector.stream", "Stream", "Focus the stream.", ("2",)),
    Command("dissector.side", "Verdict", "Focus the side views.", ("3",)),
    Command(
        "dissector.next-side",
        "Next view",
        "Show the next of the views: verdict, diagnostics, steps, schema and others.",
        ("4",),
    ),
    Command("dissector.layout", "Layout", "Cycle the layouts of the panes.", ("-",)),
    Command("dissector.zoom", "Zoom", "Show only the focused pane, or all panes again.", ("z",)),
    Command("dissector.wrap", "Wrap", "Wrap long lines, or show them on one row.", ("w",)),
    Command("dissector.white-space", "White space", "Show blanks, tabs and line feeds as glyphs.", ("v",)),
    Command("dissector.chunks", "Chunks", "Show where the chunks begin and which came late.", ("C",)),
    Command("dissector.ids", "Token ids", "Show the token ids below the text.", ("i",)),
    Command("dissector.logprobs", "Log probabilities", "Show log probabilities below the text.", ("l",)),
    Command("dissector.copy", "Copy", "Copy the selected text, value, path or link.", ("y",), footer="Copy"),
    Command(
        "dissector.mark",
        "Mark",
        "Mark the selected step, or the trace if none is selected; or remove that mark.",
        ("m",),
        footer="Mark",
    ),
    Command(
        "dissector.note",
        "Note",
        "Write a note on the selected step, or on the trace if none is selected.",
        (";",),
        footer="Note",
    ),
    Command("dissector.diff", "Diff", "Compare this trace with the marked one.", ("d",), footer="Diff"),
    Command(
        "dissector.ask", "Ask again", "Send the request of this turn again, or serve the trace.", ("a",), footer="Ask"
    ),
    Command("dissector.reread", "Read again", "Read the stream with another format.", ("r",), footer="Reread"),
    Command("dissector.rule", "Rule", "Explain the rule of the selected fault.", ("K",), footer="Rule"),
    Command("dissector.export", "Export", "Write this trace to a file.", ("S",), footer="Save"),
    Command("dissector.editor", "Editor", "Open the raw text at the cursor in $EDITOR.", ("E",), footer="Edit"),
    Command("dissector.follow", "Follow", "Follow a running trace as it grows.", ("F",)),
    Command("dissector.reload", "Reload", "Reload the trace.", ("ctrl+r",)),
    Command("dissector.back", "Back", "Show all panes again, or go back to the list.", ("escape", "q"), footer="Back"),
)
"""The scope `dissector`: commands that work in every pane."""

TREE_COMMANDS = (
    *(_OF_LINES[f"lines.{name}"] for name in ("down", "up", "page-up", "first", "last")),
    Command("tree.page-down", "Page down", "Scroll one page down.", ("pagedown", "ctrl+f")),
    Command("tree.turn-over", "Unfold", "Unfold or fold the row.", ("enter", "space"), footer="Open"),
    Command("tree.unfold", "Unfold", "Unfold the row; enter it when it is unfolded.", ("right",)),
    Command("tree.fold", "Fold", "Fold the row; leave it when it is folded.", ("left", "h")),
)
"""The scope `tree`."""

STREAM_COMMANDS = (
    *(_OF_LINES[f"lines.{name}"] for name in ("down", "up", "page-down", "page-up", "first", "last")),
    Command("stream.left", "Left", "Go to the previous character.", ("left", "h")),
    Command("stream.right", "Right", "Go to the next character.", ("right",)),
    Command("stream.line-start", "Row's start", "Go to the first character of the row.", ("0",)),
    Command("stream.line-end", "Row's end", "Go to the last character of the row.", ("$",)),
)
"""The scope `stream`."""

SIDE_COMMANDS = (
    *(_OF_LINES[f"lines.{name}"] for name in ("down", "up", "page-down", "page-up", "first", "last", "choose")),
    Command("side.next", "Next view", "Show the next view.", ("right",), footer="View"),
    Command("side.previous", "Previous view", "Show the previous view.", ("left", "h")),
)
"""The scope `side`."""
