"""Linear algebra on many tiny matrices: batched solvers, as filters, robots and quantum chemistry use them."""

import numpy

from . import workload

# Singular values lie evenly from 1 to this, so it is the condition number too.
LARGEST = 2.0


class SmallLinalg(workload.Workload):
    """Solutions, Cholesky factors or exponentials of a batch of small matrices; the exponential by eigh.

    Bound by launches and loops over the batch where a library has no batched kernel of that width, by latency where it
    has one; never by the machine's FLOPs. The exponential of a symmetric matrix is V·exp(λ)·Vᵀ, which does not depend
    on the signs of eigenvectors, so that it has a gradient. jax symmetrises what it is given, torch is told to. On a
    GPU torch's functions wait to see whether they succeeded; jax returns NaN where they did not.
    """

    sizes = {
        "small": workload.Size("overhead", count=256, width=8, columns=4),
        "large": workload.Size("compute", accelerator_only=True, count=16_384, width=32, columns=8),
    }
    precisions = ("fp32", "fp64")
    extra_params = {"kind": ("solve", "cholesky", "eigh")}

    @property
    def differentiate(self):
        return ("matrix", "right") if self.kind == "solve" else ("matrix",)

    @property
    def rounding_steps(self):
        # Factor and two triangular solves; factor; eigenvalues, vectors, exponential, product. What a rounding of the
        # matrix does to a solution or a factor is at most the condition number times as large.
        return {"solve": 3 * LARGEST**2, "cholesky": LARGEST**2, "eigh": 4}[self.kind]

    def inputs(self, rng, count, width, columns):
        def rotations():
            return numpy.linalg.qr(rng.standard_normal((count, width, width)))[0]

        left = rotations()
        right = rotations() if self.kind == "solve" else left
        matrix = ((left * numpy.linspace(1, LARGEST, width)) @ right.swapaxes(1, 2)).astype("float32")
        if self.kind == "solve":
            return {"matrix": matrix, "right": rng.standard_normal((count, width, columns), "float32")}
        return {"matrix": (matrix + matrix.swapaxes(1, 2)) / 2}

    def torch(self, torch, matrix, **right):
        if self.kind == "solve":
            return torch.linalg.solve(matrix, right["right"])
        matrix = (matrix + matrix.mT) / 2
        if self.kind == "cholesky":
            return torch.linalg.cholesky(matrix)
        values, vectors = torch.linalg.eigh(matrix)
        return (vectors * torch.exp(values).unsqueeze(-2)) @ vectors.mT

    def jax(self, jax, matrix, **right):
        if self.kind == "solve":
            return jax.numpy.linalg.solve(matrix, right["right"])
        if self.kind == "cholesky":
            return jax.numpy.linalg.cholesky(matrix)
        values, vectors = jax.numpy.linalg.eigh(matrix)
        return (vectors * jax.numpy.exp(values)[..., None, :]) @ vectors.swapaxes(1, 2)

    def numpy(self, numpy, matrix, **right):
        if self.kind == "solve":
            return numpy.linalg.solve(matrix, right["right"])
        matrix = (matrix + matrix.swapaxes(1, 2)) / 2
        if self.kind == "cholesky":
            return numpy.linalg.cholesky(matrix)
        values, vectors = numpy.linalg.eigh(matrix)
        return (vectors * numpy.exp(values)[..., None, :]) @ vectors.swapaxes(1, 2)

    def sum_length(self, count, width, columns):
        # The gradient of eigenvectors divides by the distance of eigenvalues, 1/(width − 1), before it cancels.
        return width * (width - 1) ** 2 if self.kind == "eigh" else width

    def flops(self, pass_, count, width, columns):
        # Golub and Van Loan, Matrix Computations, 4th ed.: LU 3.2.1, Cholesky 4.2.5, symmetric QR with vectors 8.3.3.
        cube, solves = width**3, 2 * width**2 * columns
        forward = {"solve": 2 * cube / 3 + solves, "cholesky": cube / 3, "eigh": 9 * cube + 2 * cube}[self.kind]
        # The factors solve once more, and an outer product; the factor's gradient costs twice the factor; two products
        # of the exponential, three of the eigenvectors.
        backward = {"solve": 2 * solves, "cholesky": 2 * cube / 3, "eigh": 5 * 2 * cube}[self.kind]
        return count * (forward if pass_ == "forward" else forward + backward)

    def bytes_moved(self, pass_, itemsize, count, width, columns):
        square, right = width**2, width * columns
        forward = square + 2 * right if self.kind == "solve" else 2 * square
        # The cotangent has the shape of the result, the gradients those of the inputs.
        return itemsize * count * (forward if pass_ == "forward" else 2 * forward)
