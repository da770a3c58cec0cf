"""Measures a bump's two rows and its component rows side by side: the old row with one component of the new one."""

import copy
import os
import pathlib
import re
from collections.abc import Sequence

from asv.commands.run import Run
from asv.config import Config
from asv.console import log
from asv.machine import MachineCollection
from asv.plugin_manager import plugin_manager
from asv.util import UserError

from bumps.attribution import Swap
from bumps.selection import Pair


def narrowed(
    config: Config, framework: str, old: str, new: str, swaps: Sequence[Swap], results: pathlib.Path
) -> Config:
    """Return the configuration with these rows alone, storing under a folder of their own: asv would replace the
    samples that the two rows already have."""
    found = copy.copy(config)
    found.results_dir = str(results)
    found.matrix = {
        "req": {framework: [old, new]},
        "env": {"BENCH_OVERRIDE": [None, *(swap.override for swap in swaps)]},
    }
    found.include = []
    found.exclude = [{"req": {framework: re.escape(new)}, "env": {"BENCH_OVERRIDE": ".+"}}]
    return found


def measure(
    config: Config,
    pair: Pair,
    swaps: Sequence[Swap],
    benchmarks: Sequence[str],
    rounds: int,
    results: pathlib.Path,
) -> None:
    """Build and measure old, new and every component row, interleaved, all samples recorded, under `results`.

    `benchmarks` are asv's `name(parameters)`. Raises UserError when this is not the machine of the pair or when asv
    refuses to run.
    """
    machine = pair.new.machine
    try:
        MachineCollection.load(machine)
    except UserError:
        raise UserError(
            f"the bump was measured on {machine}, which this machine is not: component rows are measured there; "
            "judge stored ones with --stored, or measure the bump here first: python -m bumps run"
        ) from None
    for plugin in config.plugins:
        plugin_manager.import_plugin(plugin)
    old, new = (row.requirements[pair.framework] for row in (pair.old, pair.new))
    rows = narrowed(config, pair.framework, old, new, swaps, results)
    if pair.new.accelerator:
        os.environ["BENCH_ACCELERATOR"] = pair.new.accelerator
    os.environ["BENCH_MACHINE"] = machine
    log.enable()
    status = Run.run(
        rows,
        range_spec="HEAD^!",
        bench=[f"^{re.escape(name)}$" for name in benchmarks],
        attribute={"rounds": rounds},
        show_stderr=True,
        env_spec=[f"{config.environment_type}:{pair.new.python}"],
        machine=machine,
        record_samples=True,
        pull=False,
        interleave_rounds=True,
    )
    if status not in (None, 0, 2):
        raise UserError("asv could not measure the component rows; its messages are above")
