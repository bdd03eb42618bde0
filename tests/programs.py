"""The programs that the tests run in every mode; see the folder ``corpus``."""

from corpus import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program"]
