"""The two rings, read as a table would be."""

import numpy as np

from tagcore.synthetic.ring_corpus import RingCorpus
from tagcore.synthetic.rings import rings


def test_blocks_hold_the_rows_of_the_rings():
    X, y = rings(100, 3)
    source = RingCorpus(100, seed=3)
    blocks = list(source.blocks(40))
    assert [block.documents.num_rows for block in blocks] == [40, 40, 20]
    np.testing.assert_allclose(np.concatenate([block.words.toarray() for block in blocks]), X, rtol=1e-6)
    assert np.concatenate([block.taggings["tag"].to_numpy() for block in blocks]).tolist() == y.tolist()
    assert len(source.words) == 10
    assert list(source.tags) == ["inner ring", "outer ring", "centre"]
    assert len({RingCorpus(n, s).fingerprint() for n, s in ((100, 3), (101, 3), (100, 4))}) == 3
