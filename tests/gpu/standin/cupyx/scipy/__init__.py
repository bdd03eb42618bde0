"""SciPy's functions on the stand-in's arrays."""

import cupy
import scipy.linalg
import scipy.special

special = cupy._Sub("scipy.special", scipy.special)
linalg = cupy._Sub("scipy.linalg", scipy.linalg)
