"""Tests of the screen that asks again."""
