"""What every diagnostic code stands for: one table per family, and the catalogue of all."""
