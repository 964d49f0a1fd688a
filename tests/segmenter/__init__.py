"""Tests of inspector.segmenter."""
