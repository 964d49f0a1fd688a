"""The rules D7xx: what is wrong with samples of training data, one by one and compared with each other."""
