"""The terminal debugger. No other package imports Textual."""
