"""Files brought into the database from the screen."""
