"""The terminal debugger: Textual lives here and nowhere else."""
