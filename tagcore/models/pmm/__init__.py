"""PMM: spectral topics, tag ranks and a two-way Poisson mixture (SIGIR 2008)."""
