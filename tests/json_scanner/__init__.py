"""Tests of the JSON scanner."""
