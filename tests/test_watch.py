"""Which releases the matrix lacks."""

import datetime

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from env_matrix.index import Published
from env_matrix.releases import Release
from env_matrix.watch import newer

ROWS = [Release("jax", Version(text)) for text in ("0.8.0", "0.9.0")]
DATES = [datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)]


def listed(**fields):
    def published(text, date="2026-03-01", yanked=False, wheel=True):
        day = datetime.date.fromisoformat(date) if date else None
        return Published(Version(text), day, SpecifierSet(">=3.11"), yanked, wheel)

    return {
        found.version: found
        for found in (
            published("0.7.0", "2025-01-01"),
            published("0.8.0", "2026-01-01"),
            published("0.8.1", "2026-01-15"),
            # A fix of an older series that came out after the newest row, as jax 0.8.3 did after 0.9.0.
            published("0.8.3", "2026-02-15"),
            published("0.9.0", "2026-02-01"),
            published("0.9.0.1"),
            published("0.9.1rc1"),
            published("0.10.0", yanked=True),
            published("0.11.0", wheel=False),
            published("0.12.0rc1"),
            published("0.12.0.dev20260228"),
            published("0.13.0.dev20260301", date=None),
        )
    }


def test_news_are_higher_or_later_releases():
    found = {str(item.release.version): item.skipped for item in newer("jax", ROWS, DATES, listed(), False)}
    assert found == {
        "0.8.3": None,
        "0.9.0.1": None,
        "0.10.0": "yanked",
        "0.11.0": "no wheel",
        "0.12.0.dev20260228": "a pre-release (--pre takes it)",
        "0.12.0rc1": "a pre-release (--pre takes it)",
        "0.13.0.dev20260301": "a pre-release (--pre takes it)",
    }


def test_prereleases_are_taken_when_asked_for_unless_overtaken():
    found = {str(item.release.version): item.skipped for item in newer("jax", ROWS, DATES, listed(), True)}
    assert "0.9.1rc1" not in found
    assert "0.12.0.dev20260228" not in found
    assert found["0.12.0rc1"] is None
    assert found["0.13.0.dev20260301"] == "no upload time"


def test_a_nightly_in_the_matrix_hides_no_release():
    rows = [*ROWS, Release("jax", Version("0.13.0.dev20260201"))]
    found = {str(item.release.version) for item in newer("jax", rows, DATES, listed(), False)}
    assert "0.9.0.1" in found


def test_an_empty_matrix_lacks_every_release():
    found = [item for item in newer("jax", [], [], listed(), False) if not item.skipped]
    assert [str(item.release.version) for item in found] == ["0.7.0", "0.8.0", "0.8.1", "0.8.3", "0.9.0", "0.9.0.1"]
