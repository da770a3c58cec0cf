"""Where the time of a row's processes went."""

import io

import pytest
from rich.console import Console

from bumps import costs


def process(started, ended, **fields):
    return {
        "started": f"2026-01-01T10:00:{started:02}+00:00",
        "ended": f"2026-01-01T10:00:{ended:02}+00:00",
        "timed_seconds": 0.5,
        "python_seconds": float(ended - started),
        **fields,
    }


def cost(second, **seconds):
    stated = {f"{part}_seconds": value for part, value in seconds.items()}
    return {"record": "cost", "time": f"2026-01-01T10:00:{second:02}+00:00", **stated}


PROCESSES = [process(20, 29), process(1, 11)]
RECORDS = [
    cost(0, audit=100.0),
    cost(3, **{"import": 1.0}, device=0.5, setup=0.25, first_step=2.0, audit=3.0),
    cost(15, audit=100.0),
    cost(25, **{"import": 1.5}, device=0.5, setup=0.25, first_step=1.0, audit=0.0),
    cost(30, audit=100.0),
    {"record": "audit", "time": "2026-01-01T10:00:04+00:00", "audit_seconds": 100.0},
]


def test_a_record_counts_for_the_process_that_wrote_it_and_no_other_session():
    found = costs.of_row(PROCESSES, RECORDS)
    assert found == costs.Cost(2, (2.5, 1.0, 0.5, 3.0, 3.0), 1.0, 19.0)
    assert found.audits == 3.0
    assert found.rest == pytest.approx(8.0)


@pytest.mark.parametrize("seconds", ["fast", None, float("nan"), True, [1.0]])
def test_what_is_no_number_counts_nothing(seconds):
    assert costs.of_row(PROCESSES, [cost(3, audit=seconds)]).parts == (0.0,) * 5


def test_a_row_without_a_sidecar_has_wall_time_only():
    assert costs.of_row([{**process(0, 5), "ended": "never"}], []) == costs.Cost(1, (0.0,) * 5, 0.5, 5.0)


def test_costs_add_up():
    one = costs.of_row(PROCESSES, RECORDS)
    assert sum([one, one], costs.NOTHING) == costs.Cost(4, (5.0, 2.0, 1.0, 6.0, 6.0), 2.0, 38.0)


def test_the_table_has_a_line_a_row():
    console = Console(width=200, file=io.StringIO())
    console.print(costs.table({"jax 0.10.2 [control]": costs.of_row(PROCESSES, RECORDS)}))
    title, headings, line = (line.split() for line in console.file.getvalue().splitlines() if line.strip())
    assert title == ["seconds"]
    assert headings == [
        "row",
        "processes",
        "import",
        "device",
        "set-up",
        "first",
        "step",
        "audits",
        "timed",
        "rest",
        "wall",
    ]
    assert line == ["jax", "0.10.2", "[control]", "2", "2.5", "1.0", "0.5", "3.0", "3.0", "1.0", "8.0", "19.0"]
