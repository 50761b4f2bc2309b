"""How much tags weigh against words in the graph C = [γ·Y | B] of documents, tags and words (PMM, eq. 10)."""

POLICIES = ("raw", "balanced", "tags", "words")


def scales(tags: float, words: float, policy: str) -> tuple[float, float]:
    """Gives (γ, factor of the words) for the sums of both kinds of edges.

    γ is 1 for "raw" and Σwords / Σtags for "balanced", so that both weigh the same in total; "tags" and "words" leave
    out the edges of the other kind.
    """
    if policy == "balanced":
        # where one side is empty there is nothing to balance
        return (float(words / tags), 1.0) if tags > 0 and words > 0 else (1.0, 1.0)
    factors = {"raw": (1.0, 1.0), "tags": (1.0, 0.0), "words": (0.0, 1.0)}
    if policy not in factors:
        raise ValueError(f"policy must be one of {POLICIES}, got {policy!r}")
    return factors[policy]
