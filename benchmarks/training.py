"""The base of workloads that train: forward, loss, backward and AdamW, with state carried from step to step."""

import abc

from . import adamw, training_check, workload


class Training(workload.Workload):
    """A training step on one batch: loss, its gradient with respect to the parameters, and their AdamW update.

    The computation (`torch`, `jax`, `numpy`) is the model. Subclasses add

    - `differentiate`: names of the inputs that are parameters; they and their moments are stored in the precision
    - an input called `target`, which the loss alone is given
    - `torch_loss(torch, output, target)`, `jax_loss(jax, output, target)` and `numpy_loss(numpy, output, target)`, a
      scalar
    - `numpy_gradient(numpy, target, **inputs)`: name -> gradient of that loss for every parameter, in float64

    torch trains a module with torch.optim.AdamW as the release has it by default: the module is compiled, the optimizer
    runs as it is. jax runs one function of state and batch, compiled whole, whose state is donated. Both keep their
    state from step to step.
    """

    passes = ("train",)

    @abc.abstractmethod
    def torch_loss(self, torch, output, target):
        """The loss in PyTorch."""

    @abc.abstractmethod
    def jax_loss(self, jax, output, target):
        """The loss in JAX."""

    @abc.abstractmethod
    def numpy_loss(self, numpy, output, target):
        """The loss in float64 NumPy."""

    @abc.abstractmethod
    def numpy_gradient(self, numpy, target, **inputs):
        """Return name -> gradient of the loss for every parameter, in float64 NumPy."""

    def loss(self, adapter):
        """Return the framework's loss as a function of the inputs alone."""
        forward, module = getattr(type(self), adapter.name), adapter.module
        loss = type(self).torch_loss if adapter.name == "torch" else type(self).jax_loss

        def function(target, **inputs):
            return loss(self, module, forward(self, module, **inputs), target)

        return function

    def build(self, adapter, mode, pass_, inputs):
        """Return the step; a training step starts from copies of the parameters and changes them at every call."""
        if pass_ == "forward":
            seen = {name: value for name, value in inputs.items() if name != "target"}
            return adapter.forward(self.computation(adapter), mode, seen)
        parameters = {name: inputs[name] for name in self.differentiate}
        batch = {name: value for name, value in inputs.items() if name not in parameters}
        make_step = TorchStep if adapter.name == "torch" else JaxStep
        return make_step(adapter, mode, self.loss(adapter), parameters, batch)

    def check(self, adapter, mode, pass_, precision, size, inputs):
        """Run one step, or three training steps, and return (error, tolerance) against the float64 reference."""
        if pass_ == "train":
            step = self.build(adapter, mode, pass_, inputs)
            return training_check.check(self, adapter, precision, size, inputs, step)
        seen = {name: value for name, value in inputs.items() if name != "target"}
        return super().check(adapter, mode, pass_, precision, size, seen)


class TorchStep:
    """A module and its optimizer; called, it trains one step and returns (loss, parameters)."""

    def __init__(self, adapter, mode, loss, parameters, batch):
        torch = adapter.module
        # The model's methods outlive this one: naming the tensors that it copies would keep them, memory that no
        # training needs.
        names = tuple(parameters)

        class Model(torch.nn.Module):
            def __init__(self, values):
                super().__init__()
                for name, value in values.items():
                    self.register_parameter(name, torch.nn.Parameter(value.detach().clone()))

            def forward(self, **batch):
                return loss(**{name: getattr(self, name) for name in names}, **batch)

        model = Model(parameters)
        self._parameters = dict(model.named_parameters())
        self._trained = list(self._parameters.values())
        self._batch = batch
        self._optimizer = torch.optim.AdamW(
            self._trained,
            lr=adamw.LEARNING_RATE,
            betas=(adamw.BETA1, adamw.BETA2),
            eps=adamw.EPSILON,
            weight_decay=adamw.WEIGHT_DECAY,
        )
        self._loss = model if mode == "eager" else adapter.compile(model, mode)

    def __call__(self):
        loss = self._loss(**self._batch)
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()
        return loss, self._trained

    def state(self):
        """Return the parameters, their first and second moments after at least one step, each by name."""
        moments = {name: self._optimizer.state[value] for name, value in self._parameters.items()}
        return {
            "parameters": self._parameters,
            "first": {name: value["exp_avg"] for name, value in moments.items()},
            "second": {name: value["exp_avg_sq"] for name, value in moments.items()},
        }


class JaxStep:
    """A function of state and batch, and the state; called, it trains one step and returns (loss, state)."""

    keywords = {}

    def __init__(self, adapter, mode, loss, parameters, batch):
        jax = adapter.module

        def train_step(state, batch):
            def of_parameters(parameters):
                return loss(**parameters, **batch)

            value, gradients = jax.value_and_grad(of_parameters)(state["parameters"])
            return value, adamw.update(jax, state, gradients)

        self.func = train_step if mode == "eager" else jax.jit(train_step, donate_argnums=0)
        self._batch = batch
        # Copies: a donated array is gone after the step.
        self._state = {
            "parameters": {name: jax.numpy.array(value, copy=True) for name, value in parameters.items()},
            "first": {name: jax.numpy.zeros_like(value) for name, value in parameters.items()},
            "second": {name: jax.numpy.zeros_like(value) for name, value in parameters.items()},
            "count": jax.device_put(0, adapter.device),
        }

    @property
    def args(self):
        """The arguments of the next call of `func`."""
        return self._state, self._batch

    def __call__(self):
        value, self._state = self.func(self._state, self._batch)
        return value, self._state

    def state(self):
        """Return the parameters, their first and second moments, each by name."""
        return self._state
