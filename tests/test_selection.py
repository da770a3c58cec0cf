"""Which of several rows of one release a bump is judged by."""

import pytest
from archive import COMMIT, EPOCH, benchmark, samples_of, write_journal, write_row, write_suite

from bumps import selection
from bumps.results import Archive

STEP = benchmark("chain.time_plain")
DAY = 86_400.0


def journalled(env_name, started):
    entry = {"benchmark": STEP["name"], "index": 0, "samples": samples_of([1.0]), "number": 1}
    return env_name, 0, 1, started, [entry]


def write(folder, release, interpreter, started):
    """Write a row of one process on an interpreter; return its name."""
    _, env_name = write_row(
        folder,
        {"jax": release},
        [(STEP, [samples_of([1.0])])],
        env_vars={"BENCH_INTERPRETER": interpreter},
        started=started,
    )
    return env_name


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_rows_that_were_measured_together_are_a_bump_whatever_was_measured_later(tmp_path, order):
    write_suite(tmp_path, [STEP])
    old = write(tmp_path, "0.9.2", "old", EPOCH)
    together = write(tmp_path, "0.10.2", order[0], EPOCH + 60)
    alone = write(tmp_path, "0.10.2", order[1], EPOCH + DAY)
    for session, names, started in (("one", (old, together), EPOCH), ("two", (alone,), EPOCH + DAY)):
        processes = [journalled(name, started + 60 * place) for place, name in enumerate(names)]
        write_journal(tmp_path, session, processes, commit=COMMIT, versions={STEP["name"]: "1"})
    pair = selection.select(Archive(tmp_path), "jax", "0.9.2", "0.10.2")
    assert (pair.old.env_name, pair.new.env_name) == (old, together)
    assert pair.notes == [f"{alone} holds the same release and is not part of it"]


def test_without_a_session_the_newest_row_counts(tmp_path):
    write_suite(tmp_path, [STEP])
    write(tmp_path, "0.9.2", "old", EPOCH)
    newest = write(tmp_path, "0.10.2", "b", EPOCH + DAY)
    write(tmp_path, "0.10.2", "a", EPOCH)
    assert selection.select(Archive(tmp_path), "jax", "0.9.2", "0.10.2").new.env_name == newest
