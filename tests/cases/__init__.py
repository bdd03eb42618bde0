"""Real failures of other tools as plain-NumPy cases, by kind; see ``case.py``."""
