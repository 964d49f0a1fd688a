"""Training data: checks, repairs, conversions, rendering and verification of samples."""
