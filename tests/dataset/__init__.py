"""Tests of inspector.dataset."""
