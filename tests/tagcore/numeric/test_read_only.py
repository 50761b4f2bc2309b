"""Read-only views: of the arrays that a model has now, whichever it had before."""

import numpy as np

from tagcore.numeric.read_only import freeze, frozen_arrays_of


class Owner:
    pass


def test_an_owner_may_write_to_what_others_only_read():
    own = np.zeros(2)
    (view,) = freeze((own,))
    own[0] = 1.0
    assert view[0] == 1.0
    assert not view.flags.writeable
    assert freeze(view) is view


def test_views_are_made_once_and_anew_where_any_array_is_another():
    owner, first, second = Owner(), np.zeros(2), np.ones(2)
    views = frozen_arrays_of(owner, first, second)
    assert all(a is b for a, b in zip(frozen_arrays_of(owner, first, second), views, strict=True))
    for arrays in ((np.ones(2), second), (first, np.zeros(2))):
        found = frozen_arrays_of(owner, *arrays)
        assert all(np.shares_memory(a, b) and not a.flags.writeable for a, b in zip(found, arrays, strict=True))
    other = Owner()
    assert frozen_arrays_of(other, second, first)[0][0] == 1.0
    assert frozen_arrays_of(owner, first, second)[0][0] == 0.0
