"""Tests of inspector.formats."""
