"""The meaning of every diagnostic code: one table per family, and the catalogue of all."""
