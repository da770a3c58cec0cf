"""Random inputs: the same numbers on every machine, drawn with all of its CPUs."""

import concurrent.futures
import math

import numpy

from . import frameworks

# Normals that one thread draws in some five milliseconds.
CHUNK = 2**20


class Generator(numpy.random.Generator):
    """NumPy's default generator; of an array of many normals every chunk has a generator of its own.

    What is drawn depends on the seed and the calls before, never on the number of threads.
    """

    def __init__(self, seed):
        self._seeds = numpy.random.SeedSequence(seed)
        super().__init__(numpy.random.PCG64(self._seeds))

    def standard_normal(self, size=None, dtype=numpy.float64, out=None):
        shape = numpy.broadcast_shapes(() if size is None else size)
        if out is not None or math.prod(shape) <= CHUNK:
            return super().standard_normal(size, dtype, out)
        drawn = numpy.empty(math.prod(shape), dtype)
        chunks = [drawn[start : start + CHUNK] for start in range(0, len(drawn), CHUNK)]
        with concurrent.futures.ThreadPoolExecutor(frameworks.available_cpus()) as pool:
            # Consumed, so that an error in a thread is one here.
            list(pool.map(_fill, chunks, self._seeds.spawn(len(chunks))))
        return drawn.reshape(shape)


def _fill(chunk, seed):
    numpy.random.Generator(numpy.random.PCG64(seed)).standard_normal(dtype=chunk.dtype, out=chunk)
