"""partwise and its peers on the same data and objective, in one run.

Run ``python -m benchmarks`` from the root of the repository. The package is not part of the wheel.

Every contestant minimises ``P(w) = l2/2 |w|^2 + l1 |w|_1 + sum_i loss_i(w)``. Each run is a process
of its own with one thread, so that its CPU time and its peak memory are its own. Reading the data
and turning it into the contestant's own input stand outside the training clock, and are reported
beside it.
"""
