"""AdamW for jax as torch.optim.AdamW has it, and the numbers that both are given.

Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019), algorithm 2, with the weight decay scaled by the
learning rate.
"""

import math

# torch.optim.AdamW's defaults, but for the learning rate: thousands of steps on one batch stay finite.
LEARNING_RATE = 1e-4
BETA1 = 0.9
BETA2 = 0.999
EPSILON = 1e-8
WEIGHT_DECAY = 0.01


def update(jax, state, gradients):
    """Return the state after one AdamW update, in the types of the state that it is given."""
    count = state["count"] + 1
    # 1 − β^t without the cancellation that float32 suffers at β₂ = 0.999.
    correction1 = -jax.numpy.expm1(count * math.log(BETA1))
    correction2 = -jax.numpy.expm1(count * math.log(BETA2))

    def first_moment(moment, gradient):
        return BETA1 * moment + (1 - BETA1) * gradient

    def second_moment(moment, gradient):
        return BETA2 * moment + (1 - BETA2) * gradient * gradient

    def updated(parameter, first, second):
        mean = first / correction1.astype(first.dtype)
        deviation = jax.numpy.sqrt(second / correction2.astype(second.dtype))
        return parameter * (1 - LEARNING_RATE * WEIGHT_DECAY) - LEARNING_RATE * mean / (deviation + EPSILON)

    first = jax.tree_util.tree_map(first_moment, state["first"], gradients)
    second = jax.tree_util.tree_map(second_moment, state["second"], gradients)
    parameters = jax.tree_util.tree_map(updated, state["parameters"], first, second)
    return {"parameters": parameters, "first": first, "second": second, "count": count}
