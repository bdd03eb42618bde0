"""From a plain Python function to a graph."""
