"""Session files and outputs of coding agents and command-line clients."""
