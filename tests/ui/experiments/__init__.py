"""Tests of experiments on recorded traces."""
