"""Which releases on the index the matrix lacks. Pure."""

import dataclasses
import datetime

from env_matrix.constraints import python_text
from env_matrix.index import Published
from env_matrix.releases import Release


@dataclasses.dataclass(frozen=True)
class News:
    """A release that the matrix lacks. `skipped` is why it would not be added, None where it would."""

    release: Release
    date: datetime.date | None
    requires_python: str | None
    skipped: str | None


def newer(
    framework: str, rows: list[Release], dates: list[datetime.date], listed: dict, prereleases: bool
) -> list[News]:
    """Return what came out since: a higher version than every row, or a later date (a fix of an older series).

    `rows` and `dates` are the framework's rows and their dates, `listed` what the index has. Pre-releases that a final
    release or a newer pre-release has overtaken are nobody's news.
    """
    have = {row.public.version for row in rows}
    highest = max((version for version in have if prereleases or not version.is_prerelease), default=None)
    latest = max(dates, default=None)
    finals = [found.version for found in listed.values() if not found.version.is_prerelease and not found.yanked]
    newest_final = max(finals, default=None)
    found = []
    for version, published in listed.items():
        higher = highest is None or version > highest
        later = latest is not None and published.date is not None and published.date > latest
        if version in have or not (higher or later):
            continue
        if version.is_prerelease and newest_final is not None and version < newest_final:
            continue
        requires = python_text(published.requires_python) if published.requires_python else None
        found.append(News(Release(framework, version), published.date, requires, _why_skip(published, prereleases)))
    # An index of nightlies lists weeks of them.
    usable = [item.release for item in found if item.release.version.is_prerelease and not item.skipped]
    overtaken = set(usable) - {max(usable, default=None)}
    return [item for item in found if item.release not in overtaken]


def _why_skip(published: Published, prereleases: bool) -> str | None:
    if published.yanked:
        return "yanked"
    if published.version.is_prerelease and not prereleases:
        return "a pre-release (--pre takes it)"
    if not published.wheel:
        return "no wheel"
    if published.date is None:
        return "no upload time"
    return None
