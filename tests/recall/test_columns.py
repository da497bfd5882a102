"""Columns and matrices: arrays that grow in place, whatever the sizes are in which they grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.operation.index import column
from memoryos.operation.index.column import Column, Matrix

from .picture import contents

DIM = 3
ROW = 4 * DIM  # bytes


def numbers(rows, start=0):
    """Rows that are all different and exact in float32."""
    return np.arange(start * DIM, (start + rows) * DIM, dtype=np.float32).reshape(rows, DIM)


def matrix(rows_in_block, sizes):
    """A matrix that grew by these sizes, and the same rows in one array."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column, "_BLOCK_BYTES", rows_in_block * ROW)
        grown = Matrix(DIM)
    for size in sizes:
        grown.append(numbers(size, start=len(grown)))
    return grown, numbers(sum(sizes))


sizes = st.lists(st.integers(0, 40), max_size=8)
blocks = st.sampled_from([1, 2, 7, 16, 33, 1000])


@given(blocks, sizes)
def test_a_matrix_holds_what_was_appended_across_blocks(rows_in_block, sizes):
    grown, whole = matrix(rows_in_block, sizes)
    assert len(grown) == len(whole)
    assert np.array_equal(contents(grown), whole)


@given(blocks, sizes)
def test_a_product_is_that_of_one_array(rows_in_block, sizes):
    grown, whole = matrix(rows_in_block, sizes)
    vector = np.array([1, -2, 3], np.float32)
    product = grown.dot(vector)
    assert product.dtype == np.float32
    assert np.allclose(product, whole @ vector, rtol=1e-6)


@given(blocks, sizes, st.integers(0, 80))
def test_a_product_may_begin_at_any_row(rows_in_block, sizes, first):
    grown, whole = matrix(rows_in_block, sizes)
    first = min(first, len(whole))
    vector = np.array([1, -2, 3], np.float32)
    assert np.allclose(grown.dot(vector, first), whole[first:] @ vector, rtol=1e-6)


@given(
    blocks, sizes, st.integers(0, 80), st.integers(0, 3), st.sampled_from([1, 40, 1 << 18]), st.sampled_from([1, 9, 99])
)
def test_what_is_near_is_what_the_products_say_to_the_last_bit(rows_in_block, sizes, first, count, at_once, shared):
    grown, whole = matrix(rows_in_block, sizes)
    first = min(first, len(whole))
    vectors = np.random.default_rng(len(whole)).standard_normal((count, DIM)).astype(np.float32)
    products = grown.dots(vectors, first)
    least = float(np.median(products)) if products.size else 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column, "_ALONE", at_once)
        patch.setattr(column, "_SHARED", shared)
        patch.setattr(column, "_ROUNDING", 1e-2)  # for such long vectors
        rows, columns, found = grown.near(vectors, least, first)
    expected = np.argwhere(products >= least)
    assert np.array_equal(np.column_stack([rows - first, columns]), expected)
    assert np.array_equal(found, products[products >= least])


@given(blocks, sizes, st.data())
def test_cleared_rows_are_zero_and_no_others(rows_in_block, sizes, data):
    grown, whole = matrix(rows_in_block, [*sizes, 5])
    doomed = data.draw(st.lists(st.integers(0, len(whole) - 1)))
    grown.clear(doomed)
    whole[doomed] = 0
    assert np.array_equal(contents(grown), whole)
    grown.append(numbers(3, start=len(whole)))
    assert np.array_equal(contents(grown), np.concatenate([whole, numbers(3, start=len(whole))]))


def test_a_matrix_takes_no_more_than_it_needs():
    grown, whole = matrix(64, [1] * 200)
    assert whole.nbytes <= grown.nbytes <= whole.nbytes + 64 * ROW
    assert matrix(64, [])[0].nbytes == 0
    assert matrix(1_000_000, [5])[0].nbytes < 100 * ROW, "a small one does not pay for a whole block"


def test_an_empty_matrix_gives_empty_products():
    grown, _ = matrix(4, [])
    assert grown.dot(np.ones(DIM, np.float32)).shape == (0,)


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=100), max_size=8))
def test_a_column_holds_what_was_put_in(chunks):
    grown = Column(np.int64)
    for chunk in chunks:
        grown.extend(chunk)
    whole = [number for chunk in chunks for number in chunk]
    assert len(grown) == len(whole)
    assert grown.values.tolist() == whole
    assert grown.values.dtype == np.int64
    assert grown.nbytes >= 8 * len(whole)


def test_a_column_can_be_written_in_place_and_grows_on():
    grown = Column(np.int8)
    grown.extend([1, 2, 3])
    grown.values[1] = 9
    grown.extend(np.full(1000, 4))
    assert grown.values[:4].tolist() == [1, 9, 3, 4]
    assert grown.values.dtype == np.int8
    assert grown.nbytes < 1.5 * 1003
