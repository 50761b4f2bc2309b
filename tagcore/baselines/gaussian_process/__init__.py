"""Classifiers that sparse Gaussian processes are compared with: full Laplace, IVM, variational probit, kernel SVM."""
