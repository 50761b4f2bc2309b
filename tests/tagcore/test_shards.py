"""Work in parts: the result depends on the shards alone, and no step can write to what it is given."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from threadpoolctl import threadpool_info

from tagcore.numeric.read_only import freeze
from tagcore.shards import InProcess, Shards, row_shards


def numbers(count, threads=1, n=1000):
    """`count` shards of rows whose sums depend on the order of addition."""
    values = np.random.default_rng(0).standard_normal((n, 50))
    parts = row_shards(n, count)
    return Shards(parts, lambda rows: values[rows], InProcess(threads), [p.start for p in parts])


def total(shard, state):
    return {"sum": shard.data.sum(axis=0), "rows": np.array([len(shard.data)])}


def remember(shard, state, scale):
    """state: how often, and the running total; partial: the total."""
    now = state.get("total", np.zeros(1)) + scale * shard.data.sum()
    return {"rounds": state.get("rounds", np.zeros((), int)) + 1, "total": now}, {"total": now}


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_sum_is_the_fixed_tree_for_any_number_of_threads(count):
    def tree(parts):
        while len(parts) > 1:
            parts = [sum(parts[i + 1 : i + 2], parts[i]) for i in range(0, len(parts), 2)]
        return parts[0]

    shards = numbers(count)
    expected = tree([s["sum"] for s in shards.collect(total)])
    for threads in (1, 2, 4):
        sums = numbers(count, threads).sum(total)
        assert sums["sum"].tobytes() == expected.tobytes()
        assert sums["rows"] == 1000


def test_the_tree_is_not_a_running_sum():
    """else the test above could not fail."""
    partial = [s["sum"] for s in numbers(13).collect(total)]
    assert sum(partial[1:], partial[0]).tobytes() != numbers(13).sum(total)["sum"].tobytes()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_update_moves_states_on(threads):
    shards, scale = numbers(5, threads), np.array(2.0)
    first = shards.update(remember, scale=scale)
    second = shards.update(remember, scale=scale)
    np.testing.assert_allclose(second["total"], 2 * first["total"])
    assert shards.collect(lambda shard, state: int(state["rounds"])) == [2] * 5


def test_sum_leaves_states_alone():
    shards = numbers(3)
    shards.update(remember, scale=1.0)
    shards.sum(lambda shard, state: {"x": np.ones(1)})
    assert shards.collect(lambda shard, state: int(state["rounds"])) == [1] * 3


def test_collect_is_in_shard_order_with_global_rows():
    shards = numbers(4, threads=4, n=10)
    collected = shards.collect(lambda shard, state: (shard.number, shard.first, len(shard.data)))
    assert collected == [(0, 0, 2), (1, 2, 3), (2, 5, 2), (3, 7, 3)]
    assert len(shards) == 4


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_kept_is_given_to_every_later_step(threads):
    shards = numbers(3, threads)
    shards.keep(scale=np.array(2.0))
    doubled = shards.sum(lambda shard, state, scale: {"x": scale * shard.data.sum()})
    shards.keep(scale=np.array(6.0))
    tripled = shards.sum(lambda shard, state, scale, by: {"x": scale * shard.data.sum() / by}, by=np.array(2.0))
    assert doubled["x"] / 2 == pytest.approx(tripled["x"] / 3)


def test_save_and_restore_go_on_with_the_same_bits(tmp_path):
    straight, cut = numbers(5, 2), numbers(5, 2)
    for shards in (straight, cut):
        shards.update(remember, scale=0.1)
    cut.save(tmp_path / "round-1")
    fresh = numbers(5)
    fresh.restore(tmp_path / "round-1")
    expected = straight.update(remember, scale=0.1)["total"].tobytes()
    assert cut.update(remember, scale=0.1)["total"].tobytes() == expected
    assert fresh.update(remember, scale=0.1)["total"].tobytes() == expected
    assert sorted(p.name for p in (tmp_path / "round-1").iterdir()) == [f"shard-{i:05d}.safetensors" for i in range(5)]


def test_states_keep_shape_type_and_order(tmp_path):
    def states(shard, state):
        made = {
            "none": np.zeros((0, 3), np.float32),
            "scalar": np.array(7),
            "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            "every_other": np.arange(6)[::2],
            "flags": np.array([True, False]),
        }
        return made, {"x": np.zeros(1)}

    shards = numbers(2)
    shards.update(states)
    before = shards.collect(lambda shard, state: state)
    shards.save(tmp_path / "kept")
    shards.restore(tmp_path / "kept")
    for old, new in zip(before, shards.collect(lambda shard, state: state), strict=True):
        assert old.keys() == new.keys()
        for name, array in old.items():
            np.testing.assert_array_equal(new[name], array, strict=True)
            assert not new[name].flags.writeable


@pytest.mark.parametrize("threads", [1, 2])
def test_save_needs_a_new_folder_and_restore_an_old_one(tmp_path, threads):
    shards = numbers(2, threads)
    with pytest.raises(FileExistsError):
        shards.save(tmp_path)
    with pytest.raises((OSError, SafetensorError)):
        restored_states(shards, tmp_path / "nowhere")


def restored_states(shards, folder):
    shards.restore(folder)
    return shards.collect(lambda shard, state: state)


@pytest.mark.parametrize("which", ["data", "state", "shared"])
def test_a_step_that_writes_raises(which):
    def naughty(shard, state, shared):
        {"data": shard.data, "state": state["total"], "shared": shared}[which][0] = 1.0

    shards = numbers(3)
    shards.update(remember, scale=1.0)
    mine = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        shards.collect(naughty, shared=mine)
    mine[0] = 1.0  # the owner still may


def test_partial_sums_come_back_read_only():
    assert not numbers(1).sum(total)["sum"].flags.writeable
    assert not numbers(4).sum(total)["sum"].flags.writeable


def test_freeze_reaches_inside():
    matrix, array = sp.random(4, 3, 0.5, "csr", random_state=0), np.zeros(2)
    frozen = freeze({"pair": (matrix, array), "name": "x", "columns": matrix.tocsc()})
    rows, still = frozen["pair"]
    for part in (rows.data, rows.indices, rows.indptr, still, frozen["columns"].data):
        assert not part.flags.writeable
    assert (rows != matrix).nnz == 0
    assert frozen["name"] == "x"
    array[0] = matrix.data[0] = 5.0
    assert still[0] == rows.data[0] == 5.0  # views, not copies


def test_rows_of_sparse_data_are_read_only():
    matrix = sp.random(20, 5, 0.5, "csr", random_state=0)
    shards = Shards(row_shards(20, 4), lambda rows: (matrix[rows], np.arange(20)[rows]))

    def naughty(shard, state):
        shard.data[0].data *= 2

    with pytest.raises(ValueError, match="read-only"):
        shards.collect(naughty)
    total = shards.sum(lambda shard, state: {"columns": np.asarray(shard.data[0].sum(axis=0)).ravel()})
    np.testing.assert_allclose(total["columns"], np.asarray(matrix.sum(axis=0)).ravel())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("method", ["update", "sum", "collect"])
def test_an_exception_in_a_step_surfaces(method, threads):
    def breaks(shard, state):
        if shard.number == 3:
            raise ArithmeticError(f"shard {shard.number}")
        return {}, {}

    with pytest.raises(ArithmeticError, match="shard 3"):
        getattr(numbers(5, threads), method)(breaks if method == "update" else lambda *a: breaks(*a)[1])


def test_an_exception_in_load_surfaces():
    def load(part):
        raise OSError(f"row group {part} is gone")

    with pytest.raises(OSError, match="row group 7 is gone"):
        Shards([7], load).collect(lambda shard, state: None)


def test_one_thread_is_the_one_that_asks():
    def where(shard, state):
        return threading.get_ident()

    assert set(numbers(4).collect(where)) == {threading.get_ident()}
    assert threading.get_ident() not in numbers(4, threads=2).collect(where)


def test_no_rows_no_shards():
    with pytest.raises(ValueError, match="no shards: the data set has no rows"):
        Shards([], lambda part: part)


def test_blas_has_one_thread_in_every_step_and_its_own_number_after():
    """also in a step that is still at work when another one ends."""
    first_ended = threading.Event()

    def step(shard, state):
        if shard.number == 1:
            first_ended.wait(timeout=10)
        return blas_threads()

    executor = InProcess(2)
    before = blas_threads()
    shards = Shards([0, 1], lambda part: part, executor)
    references = shards._map(step, {})
    references[0].add_done_callback(lambda _: first_ended.set())
    assert {n for threads in executor.get(references) for n in threads} == {1}
    assert blas_threads() == before


@given(n=st.integers(0, 200), count=st.integers(1, 50))
def test_row_shards_cover_all_rows_evenly(n, count):
    parts = row_shards(n, count)
    assert [i for p in parts for i in range(p.start, p.stop)] == list(range(n))
    sizes = [p.stop - p.start for p in parts]
    assert len(parts) == min(count, max(n, 1))
    assert max(sizes) - min(sizes) <= 1


def test_regrouped_shards_hold_the_pieces_of_all_shards_in_order():
    shards = Shards([[1, 2, 3], [4, 5], [6]], np.array, InProcess(2), [0, 3, 5])
    shards.update(lambda shard, state: ({"shift": np.array(10)}, {}))

    def remainder(shard, state, key, by):
        return shard.data[shard.data % by == key] + state["shift"]

    regrouped = shards.regroup(remainder, [0, 1], lambda *pieces: np.concatenate(pieces), by=2)
    found = regrouped.collect(lambda shard, state: (shard.number, shard.data.tolist(), shard.data.flags.writeable))
    assert found == [(0, [12, 14, 16], False), (1, [11, 13, 15], False)]
