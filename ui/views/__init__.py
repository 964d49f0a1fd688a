"""Values turned into rows and styled runs, for every face alike."""
