"""The commands as their users see them: names, options and help, apart from what carries them out.

A command's help, a mistyped option and the completion of a shell load nothing else: the module that carries a command
out is imported when it runs.
"""
