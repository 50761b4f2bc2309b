"""MATLAB files that hold words and tags as sparse matrices."""
