"""The declarations of the commands: names, options and help, separate from their implementations.

Help, a mistyped option and shell completion load nothing else: the module that implements a command is imported when
the command runs.
"""
