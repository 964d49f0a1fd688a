"""Files on their way into a store, for every face that imports."""
