"""Reading and adding by index, and putting in order: memory traffic that no compiler can lay out beforehand."""

import math

import numpy

from . import correctness, reference, workload

# Each row of the table is read, or added to, this often: contention, and the roundings of a sum, are those of no size.
REPEATS = 4
# Lengths of the segments, REPEATS on average; their order is drawn.
SEGMENT_LENGTHS = (1, 2, 3, 4, 4, 5, 6, 7)
# Entries of a row that a top-k keeps.
KEPT = 32


class GatherScatter(workload.Workload):
    """Embedding look-up, addition at indices, or sums of segments, each by the framework's own function.

    Memory-bound when large, by rows in random order (those of a segment are neighbours); overhead-bound when small. The
    gradient of a look-up adds at indices and those of the other two look up, so both directions are measured of each.
    Rows that are added to one row contend for it, and may be added in the type that they are stored in. Nobody checks
    the segments: torch.segment_reduce is told that its lengths are right, as jax takes its segments to be.
    """

    sizes = {
        "small": workload.Size("overhead", rows=256, features=64),
        "large": workload.Size("memory", accelerator_only=True, rows=32_768, features=512),
    }
    precisions = ("bf16", "fp32")
    modes = ("eager", "compiled", "graphed")
    extra_params = {"kind": ("embedding", "index-add", "segment-sum")}

    @property
    def differentiate(self):
        return {"embedding": ("table",), "index-add": ("source",), "segment-sum": ("values",)}[self.kind]

    @property
    def rounding_steps(self):
        # Additions to one row, in sequence; those of a look-up are in its gradient.
        return max(SEGMENT_LENGTHS) if self.kind == "segment-sum" else REPEATS

    def inputs(self, rng, rows, features):
        def normal(length):
            return rng.standard_normal((length, features), "float32")

        entries = REPEATS * rows
        if self.kind == "segment-sum":
            lengths = rng.permutation(numpy.resize(SEGMENT_LENGTHS, rows))
            # The same segments twice: torch takes their lengths, jax the segment of each entry.
            return {
                "values": normal(entries),
                "lengths": lengths,
                "segments": numpy.repeat(numpy.arange(rows), lengths),
            }
        indices = rng.permutation(entries) % rows
        if self.kind == "embedding":
            return {"table": normal(rows), "indices": indices}
        return {"x": normal(rows), "indices": indices, "source": normal(entries)}

    def torch(self, torch, **inputs):
        if self.kind == "embedding":
            return torch.nn.functional.embedding(inputs["indices"], inputs["table"])
        if self.kind == "index-add":
            return inputs["x"].index_add(0, inputs["indices"], inputs["source"])
        return torch.segment_reduce(inputs["values"], "sum", lengths=inputs["lengths"], unsafe=True)

    def jax(self, jax, **inputs):
        if self.kind == "embedding":
            return jax.numpy.take(inputs["table"], inputs["indices"], axis=0)
        if self.kind == "index-add":
            return inputs["x"].at[inputs["indices"]].add(inputs["source"])
        count = inputs["lengths"].shape[0]
        return jax.ops.segment_sum(inputs["values"], inputs["segments"], count, indices_are_sorted=True)

    def numpy(self, numpy, **inputs):
        if self.kind == "embedding":
            return inputs["table"][inputs["indices"]]
        if self.kind == "index-add":
            return inputs["x"] + reference.sums_by_index(inputs["source"], inputs["indices"], len(inputs["x"]))
        return reference.sums_by_index(inputs["values"], inputs["segments"], len(inputs["lengths"]))

    def numpy_gradient(self, numpy, pulled, **inputs):
        """Return what the computation, which is linear, makes of a cotangent, in float64 NumPy."""
        if self.kind == "embedding":
            return reference.sums_by_index(pulled, inputs["indices"], len(inputs["table"]))
        return pulled[inputs["indices" if self.kind == "index-add" else "segments"]]

    def check(self, adapter, mode, pass_, precision, size, inputs):
        """Compare a gradient with NumPy's, not with differences: of large sizes those take most of a minute."""
        if pass_ == "forward":
            return super().check(adapter, mode, pass_, precision, size, inputs)
        error, allowed, (_, gradient, pulled) = _checked_value(self, adapter, mode, pass_, precision, size, inputs)
        if error <= allowed:
            wanted = self.numpy_gradient(numpy, pulled, **correctness.fetch_all(adapter, inputs))
            error = correctness.relative_error(gradient, wanted)
        return error, allowed

    def sum_length(self, rows, features):
        # The sums are short, and counted by rounding_steps in every precision.
        return 1

    def flops(self, pass_, rows, features):
        entries = REPEATS * rows
        # One addition for every entry that is not its sum's first.
        additions = {"embedding": 0, "index-add": entries, "segment-sum": entries - rows}[self.kind] * features
        if pass_ == "grad" and self.kind == "embedding":
            additions += (entries - rows) * features
        return additions

    def bytes_moved(self, pass_, itemsize, rows, features):
        entries = REPEATS * rows
        # A 32-bit index for each entry, or where jax has one a length for each segment.
        indices = 4 * (rows if self.kind == "segment-sum" else entries)
        short = rows * features
        # Of index-add, x is read besides.
        forward = (1 + REPEATS + (self.kind == "index-add")) * short
        # The cotangent read and the gradient written: one of them is long.
        return indices + itemsize * (forward if pass_ == "forward" else forward + (1 + REPEATS) * short)


class Order(workload.Workload):
    """Each row sorted, or its largest entries in falling order.

    Compared with reading and writing once a sort takes many passes over memory, which algorithm decides; overhead-bound
    when small. torch's functions return positions too, jax's sort does not. The gradient puts each number that is
    pulled back where its entry came from.
    """

    sizes = {
        "small": workload.Size("overhead", rows=16, columns=512),
        "large": workload.Size("memory", accelerator_only=True, rows=64, columns=131_072),
    }
    precisions = ("bf16", "fp32")
    modes = ("eager", "compiled", "graphed")
    extra_params = {"kind": ("sort", "top-k")}
    differentiate = ("x",)
    # Numbers change places and stay what they are.
    rounding_steps = 0

    def inputs(self, rng, rows, columns):
        return {"x": rng.standard_normal((rows, columns), "float32")}

    def torch(self, torch, x):
        return torch.sort(x).values if self.kind == "sort" else torch.topk(x, KEPT).values

    def jax(self, jax, x):
        return jax.numpy.sort(x) if self.kind == "sort" else jax.lax.top_k(x, KEPT)[0]

    def numpy(self, numpy, x):
        ordered = numpy.sort(x)
        return ordered if self.kind == "sort" else ordered[:, ::-1][:, :KEPT]

    def check(self, adapter, mode, pass_, precision, size, inputs):
        """Compare the gradient with what is pulled back, entry by entry; equal entries may have changed places."""
        if pass_ == "forward":
            return super().check(adapter, mode, pass_, precision, size, inputs)
        error, allowed, compared = _checked_value(self, adapter, mode, pass_, precision, size, inputs)
        if error <= allowed:
            found, wanted = reference.pulled_back_in_order(adapter.fetch(inputs["x"]), *compared)
            error = correctness.relative_error(found, wanted)
        return error, allowed

    def sum_length(self, rows, columns):
        return 1

    def flops(self, pass_, rows, columns):
        if self.kind == "top-k":
            # One comparison for each entry that is not kept, at least.
            return rows * (columns - KEPT)
        # The logarithm of the number of orders that comparisons have to choose from.
        return rows * math.lgamma(columns + 1) / math.log(2)

    def bytes_moved(self, pass_, itemsize, rows, columns):
        result = rows * (columns if self.kind == "sort" else KEPT)
        forward = rows * columns + result
        # The cotangent read and all of the gradient written.
        return itemsize * (forward if pass_ == "forward" else forward + result + rows * columns)


def _checked_value(computation, adapter, mode, pass_, precision, size, inputs):
    """Run a grad step; return its value's (relative error, tolerance) and NumPy's (value, gradient, cotangent)."""
    value, (gradient,) = workload.run_synchronised(adapter, computation.build(adapter, mode, pass_, inputs))
    error, allowed = correctness.check_forward(computation, adapter, precision, size, inputs, value)
    fetched = tuple(adapter.fetch(each) for each in (value, gradient, computation.cotangent(adapter, value)))
    return error, allowed, fetched
