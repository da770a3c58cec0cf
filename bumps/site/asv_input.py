"""What asv's own publishing reads of stored results, made such that no result can end it.

asv makes a folder of every parameter of a row with its value, and a file of every benchmark's name. A long one, or a
file that asv did not write, ends its publishing with an OSError or a TypeError. `install` puts two methods in the place
of the functions through which it reads: long names are shortened, what cannot be used is left out and named. Nothing
that is stored changes. What asv.conf.json says of regressions is looked at as well: a mistake there ends publishing
with one line that names it.
"""

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Iterator, Mapping

from asv import _stats
from asv.commands import publish
from asv.console import log
from asv.plugins import regressions
from asv.results import Results
from asv.util import UserError, load_json

from bumps.margins import Margins

MACHINE, SUITE = "machine.json", "benchmarks.json"
# A file's name has at most 255 bytes; asv's ends in .json.
LONGEST_BENCHMARK_BYTES = 250
LONGEST_NAME_BYTES, LONGEST_VALUE_BYTES = 80, 120
# Of a path's 4,096, what is left beside the site's own folder and a benchmark's name.
MOST_BYTES_OF_PARAMETERS = 2500
# Larger figures overflow in asv's means.
LARGEST = 1e100
# The year 5138: asv shows times as dates.
LATEST_MILLISECONDS = 10**14


class Reader:
    """Reads for asv. `left_out` maps what its pages are without (a file under the results folder, or a benchmark) to
    why, `too_long` are the benchmarks whose names no file can have."""

    def __init__(self):
        self.left_out: dict[str, str] = {}
        self.too_long: set[str] = set()

    def machine_files(self, results_dir: str) -> Iterator[str]:
        """Yield the path of every machine.json that is one, as `asv.machine.iter_machine_files`."""
        for path, _ in self._machines(results_dir):
            yield str(path)

    def results(self, results_dir: str) -> Iterator[Results]:
        """Yield what every result file holds that asv can publish, as `asv.results.iter_results`."""
        suite = self._suite(results_dir)
        room = Room()
        for file, machine in self._machines(results_dir):
            for path in sorted(file.parent.glob("*.json")):
                if path.name in (MACHINE, SUITE):
                    continue
                name = f"{file.parent.name}/{path.name}"
                try:
                    found = _load(path, machine)
                except ValueError as error:
                    self._leave_out(name, str(error))
                    continue
                if not room.takes(found.params, found.env_vars):
                    self._leave_out(name, "its row has so many parameters that no folder's name can hold them")
                    continue
                for benchmark in list(found.get_result_keys(suite)):
                    self._look_at(found, name, benchmark, suite[benchmark])
                yield found

    def _machines(self, results_dir: str) -> Iterator[tuple[pathlib.Path, str]]:
        """Yield the machine.json of every folder that has results, with the machine's name."""
        for folder, _, files in sorted(os.walk(results_dir)):
            path = pathlib.Path(folder) / MACHINE
            name = os.path.relpath(path, results_dir)
            if MACHINE not in files:
                if folder != str(results_dir) and any(file.endswith(".json") for file in files):
                    self._leave_out(os.path.dirname(name), f"there is no {MACHINE}")
                continue
            try:
                content = load_json(str(path))
            except (UserError, OSError, ValueError, RecursionError):
                content = None
            machine = content.get("machine") if isinstance(content, dict) else None
            if not isinstance(machine, str) or content.get("version") != 1 or not _has_numbers_of_json(content):
                self._leave_out(name, "it is not what asv writes of a machine")
                continue
            yield path, machine

    def _suite(self, results_dir: str) -> dict[str, dict]:
        """Return what benchmarks.json has; asv has said by now what is wrong with it."""
        content = load_json(os.path.join(results_dir, SUITE))
        for name in content:
            if is_too_long(name):
                self.too_long.add(name)
                self._leave_out(name, f"its name is longer than {LONGEST_BENCHMARK_BYTES} bytes")
        return {name: each for name, each in content.items() if isinstance(each, dict)}

    def _look_at(self, found: Results, file: str, benchmark: str, described: dict) -> None:
        """Take a benchmark out of a result that asv could not publish."""
        if benchmark not in self.too_long:
            if _is_usable(found, benchmark, described.get("params") or []):
                return
            self._leave_out(f"{file}, {benchmark}", "its figures are not what asv writes")
        found.remove_result(benchmark)

    def _leave_out(self, what: str, why: str) -> None:
        """Remember why, and say so once: asv reads everything more than once."""
        if what not in self.left_out:
            self.left_out[what] = why
            log.warning(f"asv's own pages are without {what}: {why}")


class Room:
    """What still fits into one path. asv gives every line of a graph every parameter that any line has, so the longest
    value of each counts."""

    def __init__(self):
        self._longest: dict[str, int] = {}

    def takes(self, params: Mapping[str, object], env_vars: Mapping[str, object]) -> bool:
        """Whether a row's parameters fit beside those of the rows before; then they count from here on."""
        longest = dict(self._longest)
        for name, value in (*params.items(), *((f"env-{name}", value) for name, value in env_vars.items())):
            size = len(f"/{name}-{value}".encode())
            longest[name] = max(size, longest.get(name, len(f"/{name}-null".encode())))
        if sum(longest.values()) > MOST_BYTES_OF_PARAMETERS:
            return False
        self._longest = longest
        return True


class CheckedFilter(regressions._GraphDataFilter):
    """What asv asks for the steps and the margin of each figure of a graph."""

    def __init__(self, conf, repo, revisions):
        """Raises UserError for a margin or a regular expression that is none."""
        super().__init__(conf, repo, revisions)
        self.margins = Margins(conf.regressions_thresholds)
        for regex in conf.regressions_first_commits:
            try:
                re.compile(regex)
            except re.error as error:
                raise UserError(
                    f"regressions_first_commits in asv.conf.json: {regex!r} is no regular expression: {error}"
                ) from None


def install() -> Reader:
    """Let asv's publishing in this process read through a reader, and return that."""
    reader = Reader()
    regressions._GraphDataFilter = CheckedFilter
    publish.iter_machine_files = reader.machine_files
    publish.iter_results = regressions.iter_results = reader.results
    return reader


def is_too_long(benchmark: str) -> bool:
    """Whether no file can have a benchmark's name."""
    return len(benchmark.encode(errors="replace")) > LONGEST_BENCHMARK_BYTES


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many bytes (16 or more); other texts stay other texts."""
    raw = text.encode(errors="replace")
    if len(raw) <= most:
        return raw.decode()
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{raw[: most - 11].decode(errors='ignore')}…{digest}"


def _has_numbers_of_json(content: dict) -> bool:
    """Whether a browser reads it: Python's NaN and infinities are in no JSON of anybody else's."""
    try:
        json.dumps(content, allow_nan=False)
    except ValueError:
        return False
    return True


def _load(path: pathlib.Path, machine: str) -> Results:
    """Return what a result file holds, long parameters shortened. Raises ValueError for what asv did not write."""
    address = str(path.absolute())
    try:
        found = Results.load(address, machine_name=machine)
    except UserError as error:
        said = str(error).replace(f"Error loading results file '{address}': ", "").replace(f" in file '{address}'", "")
        raise ValueError(" ".join(said.replace(address, "it").split())) from None
    except Exception:
        # Whatever asv stumbles over in a file that it did not write.
        raise ValueError("it is not what asv writes") from None
    described = found.params, found.env_vars
    if not (
        all(isinstance(each, dict) for each in described)
        and isinstance(found.commit_hash, str)
        and _is_time(found.date)
        and found.date is not None
    ):
        raise ValueError("it is not what asv writes")
    for each in described:
        _shorten(each)
    return found


def _shorten(values: dict) -> None:
    shorter = {
        shortened(str(name), LONGEST_NAME_BYTES): value
        if value is None
        else shortened(value if isinstance(value, str) else json.dumps(value), LONGEST_VALUE_BYTES)
        for name, value in values.items()
    }
    values.clear()
    values.update(shorter)


def _is_time(value: object) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= LATEST_MILLISECONDS)


def _is_usable(found: Results, benchmark: str, params: list) -> bool:
    """Whether asv's own questions about a benchmark have answers that it can go on with."""
    try:
        values = found.get_result_value(benchmark, params)
        stats = found.get_result_stats(benchmark, params)
        for each in stats:
            _stats.get_weight(each)
        return all(map(_is_value, values)) and _is_time(found.started_at.get(benchmark))
    except Exception:
        # Whatever asv stumbles over in figures that it did not write.
        return False


def _is_value(value: object) -> bool:
    return value is None or (type(value) in (int, float) and (value != value or abs(value) <= LARGEST))
