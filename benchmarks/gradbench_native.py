"""GradBench's problems by compiled C: ``FUNCTIONS`` as in ``gradbench_impl``."""

import gradbench_impl

FUNCTIONS = gradbench_impl.functions("native")
