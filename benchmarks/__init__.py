"""Measures weaklink against limits and peers; prints ratios."""
