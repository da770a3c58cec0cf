"""Samples cut back into the processes that took them. Pure."""

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bumps import journals
from bumps.journals import Entry


@dataclass(frozen=True, slots=True)
class Piece:
    """The samples of one process: `samples[start:end]`. `entry` is the journal's, None where no journal tells."""

    start: int
    end: int
    entry: Entry | None = None


def cut(
    samples: Sequence[float],
    measured: Sequence[Entry],
    repeat: int | None,
    thinned: Collection[tuple[int, bytes]] = (),
) -> list[Piece] | None:
    """Cut by the journal where it matches, else by a fixed `repeat`; None where neither tells.

    `measured` are the journal's entries with samples, in the order measured. A process counts as matched, too, where
    its median stands for its samples. `thinned` are runs of medians that stand for samples of which no journal tells:
    (how many, their digest).
    """
    journalled = _match(samples, measured)
    end = journalled[0].start if journalled else len(samples)
    pieces, start = [], 0
    while start < end:
        lengths = _lengths(samples, start, end, repeat, thinned)
        if not lengths:
            return None
        for length in lengths:
            pieces.append(Piece(start, start + length))
            start += length
    return [*pieces, *journalled]


def medians(samples: Sequence[float], pieces: Sequence[Piece]) -> list[float]:
    return [float(statistics.median(samples[piece.start : piece.end])) for piece in pieces]


def _match(samples: Sequence[float], measured: Sequence[Entry]) -> list[Piece]:
    """Return the newest entries whose samples are the last of these; none where they are not.

    The file may begin with samples that no journal knows, and a journal with some that were since replaced.
    """
    end, matched = len(samples), []
    for entry in reversed(measured):
        start = end - entry.count
        if start < 0 or journals.digest(samples[start:end]) != entry.digest:
            start = end - 1
            if start < 0 or samples[start] != entry.median:
                break
        matched.append(Piece(start, end, entry))
        end = start
    return matched[::-1]


def _lengths(samples, start: int, end: int, repeat: int | None, thinned) -> list[int]:
    """Return the lengths of the next processes' samples, none where nothing tells."""
    for count, digest in sorted(thinned, reverse=True):
        if 0 < count <= end - start and journals.digest(samples[start : start + count]) == digest:
            return [1] * count
    return [repeat] if repeat and repeat <= end - start else []
