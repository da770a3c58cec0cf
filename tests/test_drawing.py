"""Inputs are the same numbers wherever they are drawn."""

import math

import numpy
import pytest

from benchmarks import drawing, frameworks

MANY = 2 * drawing.CHUNK + 7


def test_few_numbers_are_those_of_numpys_default_generator():
    drawn, wanted = drawing.Generator(7), numpy.random.default_rng(7)
    assert drawn.standard_normal((3, 4), "float32").tolist() == wanted.standard_normal((3, 4), "float32").tolist()
    assert drawn.integers(0, 100, 5).tolist() == wanted.integers(0, 100, 5).tolist()
    assert drawn.standard_normal() == wanted.standard_normal()


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_many_numbers_do_not_depend_on_the_number_of_threads(monkeypatch, threads):
    monkeypatch.setattr(frameworks, "available_cpus", lambda: threads)
    drawn = drawing.Generator(7).standard_normal(MANY, "float32")
    # Each chunk is what the seed's own child gives.
    children = numpy.random.SeedSequence(7).spawn(3)
    lengths = (drawing.CHUNK, drawing.CHUNK, 7)
    for child, length, start in zip(children, lengths, numpy.cumsum((0, *lengths)), strict=False):
        wanted = numpy.random.default_rng(child).standard_normal(length, "float32")
        assert (drawn[start : start + length] == wanted).all()


def test_many_numbers_are_normal_and_no_chunk_repeats_another():
    generator = drawing.Generator(7)
    first = generator.standard_normal((2, MANY), numpy.float64)
    second = generator.standard_normal((2, MANY))
    assert first.shape == second.shape == (2, MANY)
    assert first.dtype == numpy.float64
    # Five standard errors of a mean, a variance and a correlation.
    bound = 5 / math.sqrt(first.size)
    assert abs(first.mean()) < bound
    assert abs(first.var() - 1) < bound * math.sqrt(2)
    assert abs((first * second).mean()) < bound
    chunks = first.ravel()[: 4 * drawing.CHUNK].reshape(4, -1)
    assert numpy.abs(numpy.corrcoef(chunks) - numpy.eye(4)).max() < 5 / math.sqrt(drawing.CHUNK)


def test_an_error_in_a_thread_is_an_error():
    with pytest.raises(TypeError):
        drawing.Generator(7).standard_normal(MANY, "float16")
