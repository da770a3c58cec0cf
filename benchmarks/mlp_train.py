"""Training a multilayer perceptron: dense layers, their gradients, and an optimizer that touches every parameter."""

from . import reference, training, workload

LAYERS = 4


class MLPTrain(training.Training):
    """One AdamW step of a four-layer classifier with GELU: products when large, launches when small.

    Three products a layer (the first layer needs no gradient of its input), then an update that reads and writes
    parameters, gradients and both moments: memory-bound by itself, and a dozen small operations a parameter where the
    framework does not fuse them.
    """

    sizes = {
        "small": workload.Size("overhead", rows=64, width=256, classes=16),
        "large": workload.Size("compute", accelerator_only=True, rows=8192, width=4096, classes=1024),
    }
    precisions = ("bf16", "tf32", "fp32")
    modes = ("eager", "compiled", "graphed")
    differentiate = tuple(f"{kind}{layer}" for layer in range(LAYERS) for kind in "wb")
    work_is_products = True
    # A product, its bias and a GELU in each layer, then the logarithm of a sum of exponentials and a mean.
    rounding_steps = 3 * LAYERS + 4

    def inputs(self, rng, rows, width, classes):
        drawn = {
            "x": rng.standard_normal((rows, width), "float32"),
            "target": rng.integers(classes, size=rows),
        }
        for layer in range(LAYERS):
            features = classes if layer == LAYERS - 1 else width
            # Makes up for the variance that GELU takes away.
            scale = (2 / width) ** 0.5
            drawn[f"w{layer}"] = rng.standard_normal((width, features), "float32") * scale
            drawn[f"b{layer}"] = rng.standard_normal(features, "float32") * 0.1
        return drawn

    def torch(self, torch, x, **parameters):
        for layer in range(LAYERS):
            if layer:
                x = torch.nn.functional.gelu(x, approximate="tanh")
            x = x @ parameters[f"w{layer}"] + parameters[f"b{layer}"]
        return x

    def jax(self, jax, x, **parameters):
        for layer in range(LAYERS):
            if layer:
                x = jax.nn.gelu(x, approximate=True)
            x = x @ parameters[f"w{layer}"] + parameters[f"b{layer}"]
        return x

    def numpy(self, numpy, x, **parameters):
        for layer in range(LAYERS):
            if layer:
                x = reference.gelu(x)
            x = x @ parameters[f"w{layer}"] + parameters[f"b{layer}"]
        return x

    def torch_loss(self, torch, output, target):
        return torch.nn.functional.cross_entropy(output, target)

    def jax_loss(self, jax, output, target):
        chosen = jax.numpy.take_along_axis(jax.nn.log_softmax(output), target[:, None], axis=-1)
        return -jax.numpy.mean(chosen)

    def numpy_loss(self, numpy, output, target):
        return reference.cross_entropy(output, target)

    def numpy_gradient(self, numpy, target, x, **parameters):
        before_gelu, layer_inputs = [], []
        for layer in range(LAYERS):
            if layer:
                before_gelu.append(x)
                x = reference.gelu(x)
            layer_inputs.append(x)
            x = x @ parameters[f"w{layer}"] + parameters[f"b{layer}"]
        pulled, gradient = reference.cross_entropy_backward(x, target), {}
        for layer in reversed(range(LAYERS)):
            gradient[f"w{layer}"] = layer_inputs[layer].T @ pulled
            gradient[f"b{layer}"] = pulled.sum(0)
            if layer:
                pulled = reference.gelu_backward(pulled @ parameters[f"w{layer}"].T, before_gelu[layer - 1])
        return gradient

    def sum_length(self, rows, width, classes):
        return max(rows, width)

    def flops(self, pass_, rows, width, classes):
        hidden = 2 * rows * width * width
        last = 2 * rows * width * classes
        # Forward, gradient of the weights, gradient of the input, which the first layer does without.
        return 3 * ((LAYERS - 1) * hidden + last) - hidden

    def bytes_moved(self, pass_, itemsize, rows, width, classes):
        parameters = (LAYERS - 1) * (width + 1) * width + (width + 1) * classes
        # Parameters and two moments read and written, gradients written and read.
        update = (3 * 2 + 2) * parameters
        activations = rows * (width + 2 * (LAYERS - 1) * width + classes)
        # The backward pass reads back what the forward pass keeps.
        return itemsize * (update + 2 * activations)
