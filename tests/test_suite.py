"""The suite as asv discovers it: every name once, integer versions, and a core selection that selects."""

import itertools
import pathlib
import re
from collections import Counter

import pytest
from asv_runner import discovery

from bumps import core

ROOT = pathlib.Path(__file__).parent.parent
CORE = ROOT / "benchmarks" / "core.txt"


@pytest.fixture(scope="module")
def discovered():
    return list(discovery.disc_benchmarks("benchmarks"))


@pytest.fixture(scope="module")
def names(discovered):
    return [
        f"{each.name}({', '.join(combination)})"
        for each in discovered
        for combination in itertools.product(*each.params)
    ]


def test_no_benchmark_is_discovered_twice(discovered):
    # asv also discovers classes that a module imports.
    assert [name for name, count in Counter(each.name for each in discovered).items() if count > 1] == []


def test_versions_are_integers_from_the_committed_file(discovered):
    assert {each.version.isdigit() and int(each.version) >= 1 for each in discovered} == {True}


def test_attributes_that_the_rest_reads_are_there(discovered):
    for each in discovered:
        assert {"workload", "mode", "pass", "clock", "isolated"} <= set(vars(each)), each.name


def test_parameters_never_depend_on_what_is_installed(discovered):
    assert {tuple(each.params[0]) for each in discovered} == {("'torch'", "'jax'")}


@pytest.mark.parametrize("accelerator", ["cpu", "cuda13"])
def test_every_line_of_the_core_selection_selects_something(names, accelerator):
    expressions = core.patterns(CORE.read_text(), [accelerator])
    assert expressions
    assert [each for each in expressions if not any(re.search(each, name) for name in names)] == []


@pytest.mark.parametrize("accelerator", ["cpu", "cuda13"])
def test_the_core_selection_measures_both_frameworks_alike(names, accelerator):
    expressions = core.patterns(CORE.read_text(), [accelerator])
    chosen = {name for name in names if any(re.search(each, name) for each in expressions)}
    assert {name.replace("'torch'", "'jax'") for name in chosen if "'torch'" in name} == {
        name for name in chosen if "'jax'" in name
    }


def test_a_cpus_core_selection_needs_no_gpu(discovered, names):
    expressions = core.patterns(CORE.read_text(), ["cpu"])
    chosen = {name.split("(")[0] for name in names if any(re.search(each, name) for each in expressions)}
    clocks = {vars(each)["clock"] for each in discovered if each.name in chosen}
    # Memory has none.
    assert clocks == {"wall", ""}
