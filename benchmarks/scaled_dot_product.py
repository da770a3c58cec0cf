"""Causal scaled-dot-product attention, softmax(q·kᵀ/√d)·v, as each framework has it.

Arrays are (batch, length, heads, d), which is what a projection leaves. Implementations:

- `built-in`: the framework's own function with its defaults (`torch.nn.functional.scaled_dot_product_attention` chooses
  among its kernels, `jax.nn.dot_product_attention` leaves it to XLA)
- `written-out`: products and a softmax
- `cudnn`: jax's own function asked for cuDNN's fused kernel, which it does not choose by itself
"""

import math

IMPLEMENTATIONS = ("built-in", "written-out", "cudnn")


def why_not(adapter, implementation, precision):
    """Return why this row or device cannot run an implementation, or None."""
    if adapter.name == "jax" and implementation != "written-out" and not hasattr(adapter.module.nn, _JAX_FUNCTION):
        return f"jax {adapter.module.__version__} has no jax.nn.{_JAX_FUNCTION}"
    if implementation != "cudnn":
        return None
    if adapter.name == "torch":
        return "torch's built-in function chooses its kernel by itself"
    if not adapter.on_gpu:
        return "cuDNN needs an NVIDIA GPU"
    if precision not in ("bf16", "fp16"):
        return "cuDNN's fused attention is for bf16 and fp16"
    return None


_JAX_FUNCTION = "dot_product_attention"


def torch_attention(torch, query, key, value, implementation):
    """The attention in PyTorch, which wants the heads before the length: views, no copies."""
    query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    if implementation == "built-in":
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    else:
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        hidden = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).triu(1)
        mixed = torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ value
    return mixed.transpose(1, 2)


def jax_attention(jax, query, key, value, implementation):
    """The attention in JAX."""
    if implementation == "built-in":
        return jax.nn.dot_product_attention(query, key, value, is_causal=True)
    if implementation == "cudnn":
        return jax.nn.dot_product_attention(query, key, value, is_causal=True, implementation="cudnn")
    scores = jax.numpy.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
    seen = jax.numpy.tril(jax.numpy.ones(scores.shape[2:], bool))
    weights = jax.nn.softmax(jax.numpy.where(seen, scores, -math.inf), -1)
    return jax.numpy.einsum("bhqk,bkhd->bqhd", weights, value)


def flops(batch, length, heads, features):
    """FLOPs of the two products over the pairs that a causal mask leaves."""
    pairs = length * (length + 1) // 2
    return 2 * (2 * batch * heads * pairs * features)
