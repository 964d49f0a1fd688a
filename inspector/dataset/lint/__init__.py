"""The rules D7xx: faults of training samples, one by one and compared with each other."""
