"""Layers that jax has no function for, written as its libraries write them: statistics in float32 at least."""

# What torch.nn.functional.layer_norm and batch_norm add to the variance.
NORM_EPSILON = 1e-5


def jax_normalised(jax, x, axes, scale, shift):
    """(x − mean)/√(variance + 1e-5)·scale + shift over the axes, in the type of x."""
    wide = x.astype(jax.numpy.promote_types(x.dtype, "float32"))
    mean = jax.numpy.mean(wide, axes, keepdims=True)
    variance = jax.numpy.var(wide, axes, keepdims=True)
    unit = (wide - mean) * jax.lax.rsqrt(variance + NORM_EPSILON)
    return (unit * scale + shift).astype(x.dtype)
