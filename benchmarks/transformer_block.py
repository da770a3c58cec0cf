"""One block of a transformer: what a language model repeats."""

from . import layers, reference, scaled_dot_product, training, workload

HEAD_FEATURES = 64


class TransformerBlock(training.Training):
    """Pre-norm attention and MLP, x + attention(norm(x)), then x + mlp(norm(x)): its output, and a training step.

    Compute-bound when large (six products of width by a multiple of width, and the attention), overhead-bound when
    small: some thirty operations in the forward pass alone. The loss is the mean squared distance from a target.
    """

    sizes = {
        "small": workload.Size("overhead", batch=2, length=64, width=128),
        "large": workload.Size("compute", accelerator_only=True, batch=8, length=1024, width=2048),
    }
    precisions = ("bf16", "tf32", "fp32")
    modes = ("eager", "compiled", "graphed", "autotuned")
    passes = ("forward", "train")
    extra_params = {"implementation": scaled_dot_product.IMPLEMENTATIONS}
    differentiate = (
        "norm1_scale",
        "norm1_shift",
        "w_qkv",
        "w_out",
        "norm2_scale",
        "norm2_shift",
        "w_up",
        "b_up",
        "w_down",
        "b_down",
    )
    # Two norms (3 each), the attention (8), four products, two biases, a GELU, two residual sums, the loss (3).
    rounding_steps = 26

    @property
    def work_is_products(self):
        # Nobody counts the products within a fused kernel.
        return self.implementation == "written-out"

    def why_not(self, adapter, mode, pass_, precision, size):
        reason = super().why_not(adapter, mode, pass_, precision, size)
        return reason or scaled_dot_product.why_not(adapter, self.implementation, precision)

    def inputs(self, rng, batch, length, width):
        def normal(*shape):
            return rng.standard_normal(shape, "float32")

        def weight(rows, columns):
            return normal(rows, columns) / rows**0.5

        return {
            "x": normal(batch, length, width),
            "target": normal(batch, length, width),
            "norm1_scale": 1 + 0.1 * normal(width),
            "norm1_shift": 0.1 * normal(width),
            "w_qkv": weight(width, 3 * width),
            "w_out": weight(width, width),
            "norm2_scale": 1 + 0.1 * normal(width),
            "norm2_shift": 0.1 * normal(width),
            "w_up": weight(width, 4 * width),
            "b_up": 0.1 * normal(4 * width),
            "w_down": weight(4 * width, width),
            "b_down": 0.1 * normal(width),
        }

    def torch(
        self, torch, x, norm1_scale, norm1_shift, w_qkv, w_out, norm2_scale, norm2_shift, w_up, b_up, w_down, b_down
    ):
        layer_norm, gelu = torch.nn.functional.layer_norm, torch.nn.functional.gelu
        width = x.shape[-1]
        seen = layer_norm(x, (width,), norm1_scale, norm1_shift)
        query, key, value = (seen @ w_qkv).view(*x.shape[:2], 3, width // HEAD_FEATURES, HEAD_FEATURES).unbind(2)
        mixed = scaled_dot_product.torch_attention(torch, query, key, value, self.implementation)
        x = x + mixed.reshape(x.shape) @ w_out
        seen = layer_norm(x, (width,), norm2_scale, norm2_shift)
        return x + gelu(seen @ w_up + b_up, approximate="tanh") @ w_down + b_down

    def jax(self, jax, x, norm1_scale, norm1_shift, w_qkv, w_out, norm2_scale, norm2_shift, w_up, b_up, w_down, b_down):
        width = x.shape[-1]
        seen = layers.jax_normalised(jax, x, -1, norm1_scale, norm1_shift)
        projected = (seen @ w_qkv).reshape(*x.shape[:2], 3, width // HEAD_FEATURES, HEAD_FEATURES)
        query, key, value = (projected[:, :, part] for part in range(3))
        mixed = scaled_dot_product.jax_attention(jax, query, key, value, self.implementation)
        x = x + mixed.reshape(x.shape) @ w_out
        seen = layers.jax_normalised(jax, x, -1, norm2_scale, norm2_shift)
        return x + jax.nn.gelu(seen @ w_up + b_up, approximate=True) @ w_down + b_down

    def numpy(self, numpy, x, **parameters):
        return _forward(x, **parameters)["output"]

    def torch_loss(self, torch, output, target):
        # Not mse_loss: torch 2.2 has none in bf16 on a CPU.
        return torch.mean((output - target) ** 2)

    def jax_loss(self, jax, output, target):
        return jax.numpy.mean((output - target) ** 2)

    def numpy_loss(self, numpy, output, target):
        return numpy.mean((output - target) ** 2)

    def numpy_gradient(self, numpy, target, x, **parameters):
        kept = _forward(x, **parameters)
        gradient = {}

        def through_product(name, pulled, factor):
            gradient[name] = numpy.tensordot(factor, pulled, ((0, 1), (0, 1)))
            return pulled @ parameters[name].T

        def through_norm(number, pulled, factor):
            scale = parameters[f"norm{number}_scale"]
            to_x, *rest = reference.layer_norm_backward(pulled, factor, scale)
            gradient[f"norm{number}_scale"], gradient[f"norm{number}_shift"] = rest
            return to_x

        pulled = 2 * (kept["output"] - target) / target.size
        gradient["b_down"] = pulled.sum((0, 1))
        to_up = reference.gelu_backward(through_product("w_down", pulled, reference.gelu(kept["up"])), kept["up"])
        gradient["b_up"] = to_up.sum((0, 1))
        pulled = pulled + through_norm(2, through_product("w_up", to_up, kept["seen2"]), kept["between"])
        to_mixed = through_product("w_out", pulled, kept["mixed"]).reshape(kept["query"].shape)
        parts = reference.causal_attention_backward(to_mixed, kept["query"], kept["key"], kept["value"])
        to_qkv = numpy.stack(parts, 2).reshape(*x.shape[:2], -1)
        through_norm(1, through_product("w_qkv", to_qkv, kept["seen1"]), x)
        return gradient

    def sum_length(self, batch, length, width):
        return max(4 * width, batch * length)

    def flops(self, pass_, batch, length, width):
        # Projections 3 + 1, MLP 4 + 4, in units of width × width.
        dense = 2 * batch * length * 12 * width * width
        heads = width // HEAD_FEATURES
        products = dense + scaled_dot_product.flops(batch, length, heads, HEAD_FEATURES)
        return products if pass_ == "forward" else 3 * products

    def bytes_moved(self, pass_, itemsize, batch, length, width):
        parameters = 12 * width * width + 9 * width
        tokens = batch * length * width
        scores = batch * (width // HEAD_FEATURES) * length * length if self.implementation == "written-out" else 0
        if pass_ == "forward":
            return itemsize * (parameters + 2 * tokens + 2 * scores)
        # Parameters and two moments read and written, gradients written and read; x and the target read; two norms, the
        # projections (3 + 1), the residual and the MLP (4 + 4) kept for the backward pass and read back.
        return itemsize * (8 * parameters + 2 * tokens + 2 * 15 * tokens + 4 * scores)


def _forward(x, norm1_scale, norm1_shift, w_qkv, w_out, norm2_scale, norm2_shift, w_up, b_up, w_down, b_down):
    """Return what the block computes in float64 NumPy on the way to its output, by name."""
    seen1 = reference.layer_norm(x, norm1_scale, norm1_shift)
    projected = (seen1 @ w_qkv).reshape(*x.shape[:2], 3, -1, HEAD_FEATURES)
    query, key, value = (projected[:, :, part] for part in range(3))
    mixed = reference.causal_attention(query, key, value).reshape(x.shape)
    between = x + mixed @ w_out
    seen2 = reference.layer_norm(between, norm2_scale, norm2_shift)
    up = seen2 @ w_up + b_up
    return {
        "seen1": seen1,
        "query": query,
        "key": key,
        "value": value,
        "mixed": mixed,
        "between": between,
        "seen2": seen2,
        "up": up,
        "output": between + reference.gelu(up) @ w_down + b_down,
    }
