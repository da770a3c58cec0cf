"""All figures as one tidy table: one line per process, benchmark and set of parameters."""

import pathlib
from collections.abc import Iterator

import pyarrow
import pyarrow.csv
import pyarrow.parquet

from bumps import journals
from bumps.results import Archive, Figure, Row, unquote
from bumps.selection import FRAMEWORKS

BATCH_LINES = 50_000
# asv's own column names where it has one. Times are UTC.
COLUMNS = {
    "machine": pyarrow.string(),
    "env_name": pyarrow.string(),
    "framework": pyarrow.string(),
    "release": pyarrow.string(),
    "requirements": pyarrow.string(),
    "python": pyarrow.string(),
    "accelerator": pyarrow.string(),
    "replica": pyarrow.string(),
    "override": pyarrow.string(),
    "commit": pyarrow.string(),
    "benchmark": pyarrow.string(),
    "version": pyarrow.string(),
    "workload": pyarrow.string(),
    "mode": pyarrow.string(),
    "pass": pyarrow.string(),
    "clock": pyarrow.string(),
    "unit": pyarrow.string(),
    "status": pyarrow.string(),
    "reason": pyarrow.string(),
    "process": pyarrow.int32(),
    "session": pyarrow.string(),
    "stage": pyarrow.int32(),
    "round": pyarrow.int32(),
    "started": pyarrow.timestamp("s", tz="UTC"),
    "figure": pyarrow.float64(),
    "asv_low": pyarrow.float64(),
    "asv_high": pyarrow.float64(),
}


def schema(archive: Archive) -> pyarrow.Schema:
    """Return the columns: COLUMNS and one `param_<name>` for each parameter of any benchmark."""
    keys = {key for row in archive.rows for key in row.figures}
    names = {name for benchmark, params in keys for name in archive.param_names(benchmark, len(params))}
    fields = [*COLUMNS.items(), *((f"param_{name}", pyarrow.string()) for name in sorted(names))]
    return pyarrow.schema([pyarrow.field(name, kind) for name, kind in fields])


def lines(archive: Archive) -> Iterator[dict]:
    """Yield every line. `status` is `measured`, `failed`, `skipped`, or `uncut` for asv's own median and interval of
    samples that could not be cut into processes; `figure` is in the benchmark's unit."""
    for row in archive.rows:
        for (benchmark, params), figures in sorted(row.figures.items(), key=lambda item: item[0]):
            names = archive.param_names(benchmark, len(params))
            common = {
                **_of_row(row),
                "benchmark": benchmark,
                **{name: archive.attribute(benchmark, name) for name in ("workload", "mode", "pass", "clock", "unit")},
                **{f"param_{name}": unquote(value) for name, value in zip(names, params, strict=True)},
            }
            framework = common.get("param_framework")
            if framework in FRAMEWORKS:
                release = row.release(framework)
                if release is None:
                    continue
                # A row may hold both frameworks: which one ran is the benchmark's parameter.
                common |= {"framework": framework, "release": row.requirements[framework]}
            for figure in figures:
                for line in _of_figure(figure):
                    yield {**common, **line}


def _of_row(row: Row) -> dict:
    known = [name for name in FRAMEWORKS if row.release(name) is not None]
    # Another suite's row may pin several requirements; it says which of them only as a whole.
    named = known or list(row.requirements)
    framework = named[0] if len(named) == 1 else None
    return {
        "machine": row.machine,
        "env_name": row.env_name,
        "framework": framework,
        "release": row.requirements[framework] if framework else None,
        "requirements": " ".join(f"{name}=={version}" for name, version in sorted(row.requirements.items())),
        "python": row.python,
        "accelerator": row.accelerator,
        "replica": row.replica,
        "override": row.override,
    }


def _of_figure(figure: Figure) -> Iterator[dict]:
    common = {"commit": figure.file.commit, "version": figure.version, "started": journals.utc(figure.started)}
    for number, median in enumerate(figure.medians, 1):
        line = {**common, "status": "measured", "process": number, "figure": median}
        if figure.processes:
            process = figure.processes[number - 1]
            line |= {"session": process.session, "stage": process.stage, "round": process.round}
            line["started"] = journals.utc(process.started)
        yield line
    if not figure.medians and figure.value is not None:
        low, high = figure.interval or (None, None)
        yield {**common, "status": "uncut", "figure": figure.value, "asv_low": low, "asv_high": high}
    for reason in figure.failures:
        yield {**common, "status": "failed", "reason": reason}
    if figure.skipped:
        yield {**common, "status": "skipped", "reason": figure.skipped}


def write(archive: Archive, path: pathlib.Path, form: str) -> int:
    """Write `csv` or `parquet`; return the number of lines. Raises OSError."""
    columns = schema(archive)
    make = pyarrow.csv.CSVWriter if form == "csv" else pyarrow.parquet.ParquetWriter
    count = 0
    with make(str(path), columns) as writer:
        batch: list[dict] = []
        for line in lines(archive):
            batch.append({name: _encodable(line.get(name)) for name in columns.names})
            if len(batch) == BATCH_LINES:
                writer.write_table(pyarrow.Table.from_pylist(batch, columns))
                count, batch = count + len(batch), []
        writer.write_table(pyarrow.Table.from_pylist(batch, columns))
    return count + len(batch)


def _encodable(value: object) -> object:
    """Return a value with what UTF-8 lacks (lone surrogates, which JSON may hold) escaped."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
