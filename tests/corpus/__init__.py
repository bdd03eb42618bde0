"""The corpus: small programs as scientists write them, each run in every mode by the tests."""

from . import arrays, building, control, learning, science
from .base import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program", "arrays", "building", "control", "learning", "science"]
