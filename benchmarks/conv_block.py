"""A block of a convolutional network."""

from . import layers, reference, workload

KERNEL = 3


class ConvBlock(workload.Workload):
    """Convolution, batch normalisation, SiLU: dense, depthwise (a filter a channel) or in three dimensions.

    The dense ones are compute-bound when large, the depthwise one memory-bound; small ones are overhead-bound. The
    layout is that of the input, the kernel and the result in memory: in NHWC torch gets a channels-last view and jax
    the dimension numbers. In three dimensions NCHW and NHWC stand for NCDHW and NDHWC. Statistics are the batch's.
    """

    sizes = {
        "small": workload.Size("overhead", batch=4, channels=32, extent=16, extent_3d=6),
        "large": workload.Size("compute", accelerator_only=True, batch=32, channels=256, extent=64, extent_3d=16),
    }
    precisions = ("bf16", "tf32", "fp32")
    modes = ("eager", "compiled", "graphed", "autotuned")
    extra_params = {"kind": ("dense", "depthwise", "3d"), "layout": ("NCHW", "NHWC")}
    differentiate = ("x", "kernel", "scale", "shift")
    # The convolution, eight of the norm (as Normalise has it), the exponential, sum and quotient of SiLU.
    rounding_steps = 12

    @property
    def work_is_products(self):
        # Compilers write a depthwise convolution as sums, which nobody counts as products.
        return self.kind != "depthwise"

    def inputs(self, rng, batch, channels, extent, extent_3d):
        extents = self._extents(extent, extent_3d)
        window = (KERNEL,) * len(extents)
        read = 1 if self.kind == "depthwise" else channels
        x = rng.standard_normal((batch, *extents, channels), "float32")
        kernel = rng.standard_normal((channels, *window, read), "float32") / (read * KERNEL ** len(extents)) ** 0.5
        return {
            "x": self._laid_out(x),
            "kernel": self._laid_out(kernel),
            "scale": 1 + 0.1 * rng.standard_normal(channels, "float32"),
            "shift": 0.1 * rng.standard_normal(channels, "float32"),
        }

    def _extents(self, extent, extent_3d):
        return (extent_3d,) * 3 if self.kind == "3d" else (extent,) * 2

    def _laid_out(self, channels_last):
        """Return a channels-last NumPy array in the layout: a copy, so that its bytes are in the order of its axes."""
        if self.layout == "NHWC":
            return channels_last
        return channels_last.transpose(0, -1, *range(1, channels_last.ndim - 1)).copy()

    def torch(self, torch, x, kernel, scale, shift):
        functional = torch.nn.functional
        inner = tuple(range(1, x.ndim - 1))
        if self.layout == "NHWC":
            # torch numbers the axes NCHW whatever the order in memory: these are views.
            x, kernel = x.permute(0, -1, *inner), kernel.permute(0, -1, *inner)
        convolve = functional.conv3d if self.kind == "3d" else functional.conv2d
        groups = x.shape[1] if self.kind == "depthwise" else 1
        x = convolve(x, kernel, padding=KERNEL // 2, groups=groups)
        x = functional.batch_norm(x, None, None, scale, shift, training=True)
        x = functional.silu(x)
        return x.permute(0, *(axis + 1 for axis in inner), 1) if self.layout == "NHWC" else x

    def jax(self, jax, x, kernel, scale, shift):
        axis = x.ndim - 1 if self.layout == "NHWC" else 1
        spatial = "DHW"[-(x.ndim - 2) :]
        order = f"N{spatial}C" if self.layout == "NHWC" else f"NC{spatial}"
        x = jax.lax.conv_general_dilated(
            x,
            kernel,
            window_strides=(1,) * len(spatial),
            padding="SAME",
            dimension_numbers=(order, order.replace("N", "O").replace("C", "I"), order),
            feature_group_count=x.shape[axis] if self.kind == "depthwise" else 1,
        )
        wide = [1] * x.ndim
        wide[axis] = -1
        others = tuple(each for each in range(x.ndim) if each != axis)
        return jax.nn.silu(layers.jax_normalised(jax, x, others, scale.reshape(wide), shift.reshape(wide)))

    def numpy(self, numpy, x, kernel, scale, shift):
        if self.layout == "NCHW":
            x, kernel = numpy.moveaxis(x, 1, -1), numpy.moveaxis(kernel, 1, -1)
        # The reference wants (*kernel, channels[, features]).
        kernel = numpy.moveaxis(kernel, 0, -1)
        if self.kind == "depthwise":
            kernel = kernel[..., 0, :]
        x = reference.convolution(x, kernel)
        x = reference.silu(reference.normalised(x, tuple(range(x.ndim - 1))) * scale + shift)
        return numpy.moveaxis(x, -1, 1) if self.layout == "NCHW" else x

    def sum_length(self, batch, channels, extent, extent_3d):
        extents = self._extents(extent, extent_3d)
        # The gradient of the kernel, the scale and the shift are sums over all positions.
        return max(batch * extents[0] ** len(extents), channels * KERNEL ** len(extents))

    def flops(self, pass_, batch, channels, extent, extent_3d):
        extents = self._extents(extent, extent_3d)
        # Taps that fall on the padding need no product.
        taps = (KERNEL * extents[0] - 2 * (KERNEL // 2)) ** len(extents)
        read = 1 if self.kind == "depthwise" else channels
        products = 2 * batch * taps * channels * read
        return products if pass_ == "forward" else 3 * products

    def bytes_moved(self, pass_, itemsize, batch, channels, extent, extent_3d):
        extents = self._extents(extent, extent_3d)
        array = batch * channels * extents[0] ** len(extents)
        read = 1 if self.kind == "depthwise" else channels
        kernel = channels * read * KERNEL ** len(extents) + 2 * channels
        # The convolution's result is read once for the statistics and once more to be normalised.
        forward = 5 * array + kernel
        # The cotangent read; the norm's pull-back reads the convolution's result twice and writes once; the
        # convolution's reads that twice and x once, and writes the gradient.
        return itemsize * (forward if pass_ == "forward" else forward + 9 * array + 2 * kernel)
