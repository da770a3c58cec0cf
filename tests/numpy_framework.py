"""NumPy in a framework's place: what workloads and checks say of a step without any framework installed."""

import math

import numpy

from benchmarks import adamw

DTYPES = {"fp32": numpy.float32, "fp64": numpy.float64}


class NumpyAdapter:
    """The part of an adapter that an eager forward pass and its check need."""

    name = "numpy"
    module = numpy
    on_gpu = False

    def why_not(self, mode, precision):
        return None

    def put(self, array, precision):
        return array.astype(DTYPES[precision]) if numpy.issubdtype(array.dtype, numpy.floating) else array

    def fetch(self, value):
        value = numpy.asarray(value)
        return value.astype(numpy.float64) if numpy.issubdtype(value.dtype, numpy.floating) else value

    def leaves(self, result):
        return list(result.values())

    def forward(self, function, mode, inputs):
        return lambda: function(**inputs)

    def wait(self, result):
        return result

    def is_ready(self, result):
        return True


class NumpyStep:
    """A training step in float32 after `benchmarks.training_check`, with one of FAULTS planted, or None."""

    def __init__(self, computation, inputs, fault=None):
        self._computation, self._fault = computation, fault
        self._batch = {name: value for name, value in inputs.items() if name not in computation.differentiate}
        parameters = {name: inputs[name] for name in computation.differentiate}
        zeros = {name: numpy.zeros_like(value) for name, value in parameters.items()}
        self._state = {"parameters": parameters, "first": zeros, "second": zeros}
        self._count = 0

    def state(self):
        return self._state

    def __call__(self):
        fault, computation = self._fault, self._computation
        parameters, first, second = (self._state[part] for part in ("parameters", "first", "second"))
        seen = {name: value for name, value in self._batch.items() if name != "target"}
        if fault == "input scaled":
            seen = {**seen, "x": 2 * seen["x"]}
        output = computation.numpy(numpy, **seen, **parameters)
        loss = numpy.float32(computation.numpy_loss(numpy, output, self._batch["target"]))
        gradient = computation.numpy_gradient(numpy, self._batch["target"], **seen, **parameters)
        gradient = {name: value.astype(numpy.float32) for name, value in gradient.items()}
        if fault == "one gradient missing":
            name = computation.differentiate[0]
            gradient[name] = numpy.zeros_like(gradient[name])
        if fault == "gradients accumulate":
            gradient = {name: value * (self._count + 1) for name, value in gradient.items()}
        if fault == "decay in the gradient":
            gradient = {name: value + adamw.WEIGHT_DECAY * parameters[name] for name, value in gradient.items()}
        beta2 = 0.99 if fault == "another beta" else adamw.BETA2
        first = {name: adamw.BETA1 * first[name] + (1 - adamw.BETA1) * gradient[name] for name in gradient}
        second = {name: beta2 * second[name] + (1 - beta2) * gradient[name] ** 2 for name in gradient}
        if fault != "count stands still" or not self._count:
            self._count += 1
        moved = {name: self._moved(parameters[name], first[name], second[name]) for name in parameters}
        self._state = {"parameters": moved, "first": first, "second": second}
        return (2 * loss if fault == "loss summed" else loss), moved

    def _moved(self, parameter, first, second):
        fault = self._fault
        corrections = (1 - adamw.BETA1**self._count, 1 - adamw.BETA2**self._count)
        if fault == "no bias correction":
            corrections = (1.0, 1.0)
        decay = 0.0 if fault == "no decay" else adamw.WEIGHT_DECAY
        if fault == "no update":
            return parameter
        change = first / corrections[0] / (numpy.sqrt(second) / math.sqrt(corrections[1]) + adamw.EPSILON)
        sign = -1 if fault == "uphill" else 1
        return parameter * numpy.float32(1 - adamw.LEARNING_RATE * decay) - sign * adamw.LEARNING_RATE * change


FAULTS = (
    "input scaled",
    "one gradient missing",
    "gradients accumulate",
    "decay in the gradient",
    "another beta",
    "count stands still",
    "loss summed",
    "no bias correction",
    "no decay",
    "no update",
    "uphill",
)
