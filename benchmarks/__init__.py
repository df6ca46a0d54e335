"""Compare partwise and other programs on the same data and objective, in one run.

Run ``python -m benchmarks`` from the root of the repository. The package is not part of the wheel.

Every contestant minimises ``P(w) = l2/2 |w|^2 + l1 |w|_1 + sum_i loss_i(w)``. Each run has its own
process with one thread, so that CPU time and peak memory can be measured. Reading the data and
turning it into the input of the contestant are not part of the training time, but reported
separately.
"""
