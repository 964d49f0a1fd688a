"""Traces and their inspections, stored in SQLite or PostgreSQL; `weaklink.storage.store` opens a database."""
