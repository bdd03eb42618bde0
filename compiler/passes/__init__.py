"""Passes: pure functions from Graph to Graph; ``pipeline`` lists them in order."""
