"""Tests of the views of the dissector."""
