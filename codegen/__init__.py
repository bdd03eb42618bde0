"""Text in, text out: from graphs to source code."""
