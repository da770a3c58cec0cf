"""Options and output that the measuring commands share."""

import argparse
import contextlib
import pathlib
from collections.abc import Iterable, Iterator

from asv.config import Config
from asv.util import UserError

from bumps import core, costs, journals, publishing
from bumps.console import Console
from bumps.driver import Outcome
from bumps.rows import Row

CONFIG = "asv.conf.json"
CORE = "core.txt"
NOTHING_MEASURED = 4


def add_measuring(parser: argparse.ArgumentParser, rounds: int, without: str = "") -> None:
    """Add the options that both commands have; `without` says when another number of rounds is the default."""
    parser.add_argument(
        "--bench",
        metavar="REGEX",
        action="append",
        default=[],
        help="measure the benchmarks whose `name(parameters)` has a match (may be repeated)",
    )
    parser.add_argument(
        "--rounds", type=positive, default=rounds, metavar="N", help=f"processes a row (default: {rounds}{without})"
    )
    parser.add_argument("--python", metavar="X.Y", help="the Python to build rows on (default: the one running this)")
    parser.add_argument("--machine", help="the name to store results under (default: this machine's)")
    parser.add_argument("--config", default=CONFIG, metavar="FILE", help=f"asv's configuration (default: {CONFIG})")
    parser.add_argument(
        "--launch",
        choices=("batched", "one-by-one"),
        default="batched",
        help="batched (the default): one process a row and round measures the whole selection; one-by-one: each "
        "benchmark has a process of its own, as under `asv run`",
    )
    parser.add_argument("--jobs", type=positive, default=2, metavar="N", help="rows built at a time (default: 2)")
    parser.add_argument(
        "--shared",
        action="store_true",
        help="measure although others compute on the GPU; the processes are marked as disturbed",
    )
    parser.add_argument("--no-wait", action="store_true", help="fail when another measurement is going on here")
    parser.add_argument("--no-publish", action="store_true", help="do not write the site")
    parser.add_argument("--show-stderr", action="store_true", help="show the output of processes that failed")


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def core_patterns(config: Config, rows: Iterable[Row]) -> list[str]:
    """Return the regular expressions of the default selection for these rows. Raises UserError when there is none."""
    path = pathlib.Path(config.benchmark_dir) / CORE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); choose with --bench, or --all-benchmarks") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no UTF-8 text ({error}); mend it, or choose with --bench") from None
    return core.patterns(text, [row.accelerator for row in rows])


def console() -> Console:
    """Return where progress goes: standard error, so that standard output holds the result alone."""
    found = Console(stderr=True, highlight=False)
    return found if found.is_terminal else Console(stderr=True, highlight=False, width=200)


@contextlib.contextmanager
def resumable(progress: Console) -> Iterator[None]:
    """Say on Ctrl-C that nothing finished is lost."""
    try:
        yield
    except KeyboardInterrupt:
        progress.print("interrupted; every finished process is kept, and the same command carries on from there")
        raise


def publish(config: Config, config_file: str, progress: Console) -> None:
    """Publish the site and say where it is."""
    with progress.status("publishing the site"):
        problem = publishing.publish(pathlib.Path(config_file).name, config.html_dir)
    if problem:
        progress.print(f"the site was not published: {problem}", markup=False)
    else:
        progress.print(f"site: {pathlib.Path(config.html_dir) / 'index.html'} (make preview shows it)", markup=False)


def print_costs(outcome: Outcome, progress: Console) -> None:
    """Print wall time and duty cycle, and by row where the time of its processes went."""
    share = outcome.timed_seconds / outcome.seconds if outcome.seconds else 0.0
    progress.print(
        f"measured for {_duration(outcome.seconds)}, {100 * share:.1f} % of it inside timed steps (duty cycle)",
        markup=False,
    )
    by_row = {}
    for row in {row.env_name: row for row in outcome.rows}.values():
        processes = [each for each in outcome.session.processes if each["env_name"] == row.env_name]
        by_row[str(row)] = costs.of_row(processes, _sidecar_records(row))
    progress.print(costs.table(by_row))
    total = sum(by_row.values(), costs.NOTHING)
    if total.wall:
        progress.print(f"audits: {100 * total.audits / total.wall:.1f} % of the processes' time", markup=False)


def _sidecar_records(row: Row) -> list[dict]:
    # An environment of asv's own has no sidecar.
    path = getattr(row.environment, "sidecar_path", None)
    try:
        return list(journals.records(path)) if path else []
    except OSError:
        return []


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
