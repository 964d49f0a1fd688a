"""The commands of the dissector: of its screen, its tree, its stream and the views beside them."""

from ui.tui.commands import LINE_COMMANDS, Command

_OF_LINES = {command.id: command for command in LINE_COMMANDS}

DISSECTOR_COMMANDS = (
    Command("dissector.next-fault", "Next fault", "Goes to the next fault.", ("e",), in_footer=True, short="Fault"),
    Command("dissector.previous-fault", "Previous fault", "Goes to the fault before.", ("ctrl+e",)),
    Command("dissector.jump", "Jump", "Gives each fault in sight a letter, which goes there.", ("f",), in_footer=True),
    Command("dissector.next-step", "Next step", "Goes to the next call.", ("]",), in_footer=True, short="Step"),
    Command("dissector.previous-step", "Previous step", "Goes to the call before.", ("[",)),
    Command(
        "dissector.next-trace", "Next chain", "Opens the next chain of the list.", ("}",), in_footer=True, short="Chain"
    ),
    Command("dissector.previous-trace", "Previous chain", "Opens the chain before in the list.", ("{",)),
    Command(
        "dissector.search", "Search", "Finds words in the texts of this trace.", ("/",), in_footer=True, short="Find"
    ),
    Command("dissector.next-match", "Next match", "Goes to the next match.", ("n",)),
    Command("dissector.previous-match", "Previous match", "Goes to the previous match.", ("N",)),
    Command(
        "dissector.origin",
        "Origin",
        "Goes to where the value first appeared, or to a result's call.",
        ("o",),
        in_footer=True,
    ),
    Command(
        "dissector.next-layer",
        "Next layer",
        "Goes to the same call, or result, in the next layer.",
        ("x",),
        in_footer=True,
        short="Layer",
    ),
    Command("dissector.context", "Context", "Shows what the model read in this turn.", ("c",), in_footer=True),
    Command("dissector.return", "Return", "Goes back to where the last jump began.", ("ctrl+o",)),
    Command("dissector.next-pane", "Next pane", "Gives the keys to the next pane.", ("tab",)),
    Command("dissector.previous-pane", "Previous pane", "Gives the keys to the pane before.", ("shift+tab",)),
    Command("dissector.tree", "Tree", "Gives the keys to the tree.", ("1",)),
    Command("dissector.stream", "Stream", "Gives the keys to the stream.", ("2",)),
    Command("dissector.side", "Verdict", "Gives the keys to the views beside the stream.", ("3",)),
    Command("dissector.next-side", "Next view", "Shows the next of the views: diagnostics, schema, timing.", ("4",)),
    Command("dissector.layout", "Layout", "Places the panes in another way.", ("-",)),
    Command("dissector.zoom", "Zoom", "Shows the focused pane alone, or all again.", ("z",)),
    Command("dissector.wrap", "Wrap", "Cuts long lines into rows, or leaves them whole.", ("w",)),
    Command("dissector.white-space", "White space", "Shows blanks, tabs and line feeds as glyphs.", ("v",)),
    Command("dissector.chunks", "Chunks", "Shows where the chunks begin and which came late.", ("C",)),
    Command("dissector.ids", "Token ids", "Shows the token ids below the text.", ("i",)),
    Command("dissector.logprobs", "Log probabilities", "Shows log probabilities below the text.", ("l",)),
    Command("dissector.copy", "Copy", "Copies the selected text, value, path or link.", ("y",), in_footer=True),
    Command("dissector.mark", "Mark", "Marks this trace, or takes its mark away.", ("m",), in_footer=True),
    Command("dissector.note", "Note", "Writes a note on this trace.", (";",), in_footer=True),
    Command("dissector.diff", "Diff", "Compares this trace with the marked one.", ("d",), in_footer=True),
    Command(
        "dissector.ask", "Ask again", "Asks this turn again, or serves the trace.", ("a",), in_footer=True, short="Ask"
    ),
    Command(
        "dissector.reread",
        "Read again",
        "Reads the stream with another format.",
        ("r",),
        in_footer=True,
        short="Reread",
    ),
    Command("dissector.rule", "Rule", "Explains the rule of the selected fault.", ("K",), in_footer=True),
    Command("dissector.export", "Export", "Writes this trace to a file.", ("S",), in_footer=True, short="Save"),
    Command(
        "dissector.editor",
        "Editor",
        "Opens the raw text at the cursor in $EDITOR.",
        ("E",),
        in_footer=True,
        short="Edit",
    ),
    Command("dissector.follow", "Follow", "Watches a running trace at its end, as it grows.", ("F",)),
    Command("dissector.reload", "Reload", "Reads the trace again.", ("ctrl+r",)),
    Command(
        "dissector.back", "Back", "Shows all panes again, or goes back to the list.", ("escape", "q"), in_footer=True
    ),
)
"""The scope `dissector`: they act whatever pane has the keys."""

TREE_COMMANDS = (
    *(_OF_LINES[f"lines.{name}"] for name in ("down", "up", "page-up", "first", "last")),
    Command("tree.page-down", "Page down", "Goes one screen down.", ("pagedown", "ctrl+f")),
    Command(
        "tree.turn-over",
        "Unfold",
        "Unfolds the row, or folds it.",
        ("enter", "space"),
        in_footer=True,
        short="Open",
    ),
    Command("tree.unfold", "Unfold", "Unfolds the row; where it is unfolded, goes to its first child.", ("right",)),
    Command("tree.fold", "Fold", "Folds the row; where it is folded, goes to its parent.", ("left", "h")),
)
"""The scope `tree`."""

STREAM_COMMANDS = (
    *(_OF_LINES[f"lines.{name}"] for name in ("down", "up", "page-down", "page-up", "first", "last")),
    Command("stream.left", "Left", "Goes to the character before.", ("left", "h")),
    Command("stream.right", "Right", "Goes to the next character.", ("right",)),
    Command("stream.line-start", "Row's start", "Goes to the first character of the row.", ("0",)),
    Command("stream.line-end", "Row's end", "Goes to the last character of the row.", ("$",)),
)
"""The scope `stream`."""

SIDE_COMMANDS = (
    *(_OF_LINES[f"lines.{name}"] for name in ("down", "up", "page-down", "page-up", "first", "last", "choose")),
    Command("side.next", "Next view", "Shows the next view.", ("right",), in_footer=True, short="View"),
    Command("side.previous", "View before", "Shows the view before.", ("left", "h")),
)
"""The scope `side`."""
