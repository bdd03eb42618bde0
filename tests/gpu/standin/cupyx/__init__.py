"""Stand-in for the part of CuPy that is like SciPy."""
