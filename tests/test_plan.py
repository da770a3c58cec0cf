import itertools

import pytest

from bumps import plan
from bumps.driver import combinations_of
from bumps.plan import Item, Plan, PlannedBump, PlannedRow


def test_order_gives_every_row_every_place():
    orders = [plan.order(["old", "new", "control"], round_) for round_ in range(6)]
    assert orders == [
        ["old", "new", "control"],
        ["new", "control", "old"],
        ["control", "old", "new"],
        ["control", "new", "old"],
        ["old", "control", "new"],
        ["new", "old", "control"],
    ]


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 11, 22])
@pytest.mark.parametrize("rounds", [2, 5])
def test_neighbours_alternate_in_time(rows, rounds):
    from bumps.cases import alternate

    names = [f"row {number}" for number in range(rows)]
    order = list(itertools.chain.from_iterable(plan.order(names, round_) for round_ in range(rounds)))
    for old, new in itertools.pairwise(names):
        times = [[time for time, name in enumerate(order) if name == side] for side in (old, new)]
        assert alternate(*times), (old, new)


STEP = {"workload": "Chain", "mode": "eager", "pass": "forward"}
BENCHMARKS = {
    "chain.Chain.time_eager_forward": {**STEP, "clock": "wall"},
    "chain.Chain.time_eager_forward_device": {**STEP, "clock": "device"},
    "chain.Chain.track_eager_forward_kernels": {**STEP, "clock": "kernels"},
    "chain.Chain.time_eager_grad": {**STEP, "pass": "grad", "clock": "wall"},
    "cold.Cold.time_compile": {"isolated": True},
    "plain.time_it": {},
}


def test_figures_of_one_step_stay_together_wall_clock_first():
    items = [Item(name, index) for name in BENCHMARKS for index in (0, 1)]
    groups, isolated = plan.batches(items, BENCHMARKS, 7)
    assert sorted(isolated) == [Item("cold.Cold.time_compile", 0), Item("cold.Cold.time_compile", 1)]
    assert sorted(map(len, groups)) == [1, 1, 1, 1, 3, 3]
    step = next(group for group in groups if len(group) == 3)
    assert [item.benchmark for item in step] == list(BENCHMARKS)[:3]
    assert len({item.index for item in step}) == 1
    assert sorted(itertools.chain(isolated, *groups)) == sorted(items)


def test_order_of_a_process_is_a_function_of_its_seed():
    items = [Item("plain.time_it", index) for index in range(50)]
    first = plan.batches(items, BENCHMARKS, 7, 0, 1, "row")
    assert first == plan.batches(items[::-1], BENCHMARKS, 7, 0, 1, "row")
    assert first != plan.batches(items, BENCHMARKS, 7, 0, 2, "row")
    assert [group[0] for group in first[0]] != items


def test_a_row_measures_its_own_framework_only():
    benchmarks = {
        "chain": {"param_names": ["framework", "size"], "params": [["'torch'", "'jax'"], ["'s'", "'m'"]]},
        "plain": {"param_names": [], "params": []},
    }
    items = [*(Item("chain", index) for index in range(4)), Item("plain", 0)]
    found = plan.select_for_row(items, benchmarks, ["jax"], combinations_of)
    assert found == (Item("chain", 2), Item("chain", 3), Item("plain", 0))


def test_plan_as_the_journal_holds_it():
    found = Plan(
        rows=(PlannedRow("a", "jax", "1.0", "old"), PlannedRow("b", "jax", "2.0", "new")),
        bumps=(PlannedBump("jax", "a", "b", (("b", "b-control"),)),),
        selection={"a": (Item("x", 0),), "b": (Item("x", 0), Item("x", 1))},
        rounds=5,
    ).as_record()
    assert found == {
        "framework": "jax",
        "rows": [
            {"env_name": "a", "framework": "jax", "release": "1.0", "role": "old"},
            {"env_name": "b", "framework": "jax", "release": "2.0", "role": "new"},
        ],
        "bumps": [{"framework": "jax", "old": "a", "new": "b", "controls": [["b", "b-control"]]}],
        "selection": {"a": [["x", 0]], "b": [["x", 0], ["x", 1]]},
        "rounds": 5,
    }
