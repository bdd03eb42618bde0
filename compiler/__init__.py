"""The pure part: from plain functions to graphs, and from graphs to graphs."""
