"""What the package index knows of a project, by the standard simple API: JSON (PEP 691, 700), else HTML (PEP 503)."""

import base64
import dataclasses
import datetime
import functools
import html.parser
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tomllib
import urllib.error
import urllib.parse
import urllib.request

from asv.util import UserError
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
TIMEOUT_SECONDS = 30
# The largest listing in use (numpy's) has 2 MB; an index that sends without end must not fill the memory.
LARGEST_ANSWER = 64 * 2**20
# A date outside of these years is nobody's upload.
PLAUSIBLE_YEARS = range(1990, 2200)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Which index to ask, as pip's and uv's own settings say. `extra` are asked for pre-releases only."""

    default: str
    extra: tuple[str, ...] = ()
    certificates: str | None = None
    timeout: float = TIMEOUT_SECONDS


@dataclasses.dataclass(frozen=True)
class File:
    """One distribution file. `uploaded`, `size` (bytes) and `requires_python` are None where the index is silent."""

    filename: str
    version: Version
    tags: frozenset
    uploaded: datetime.datetime | None
    requires_python: SpecifierSet | None
    yanked: bool
    size: int | None


@dataclasses.dataclass(frozen=True)
class Published:
    """One version of a project as its index lists it. `yanked` when every file is; `wheel` when any is a wheel."""

    version: Version
    date: datetime.date | None
    requires_python: SpecifierSet | None
    yanked: bool
    wheel: bool


def settings() -> Settings:
    """Return the index settings of pip and uv: uv's variables, pip's variables and files, uv's files, pip's default.

    Raises UserError when pip is told to use no index.
    """
    pip = _pip_settings()
    if pip.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise UserError("pip is set to use no index (no-index); unset that to look for releases")
    uv_default, uv_extra = _uv_file_settings()
    environment = os.environ
    default = (
        environment.get("UV_DEFAULT_INDEX")
        or environment.get("UV_INDEX_URL")
        or pip.get("index-url")
        or uv_default
        or _pip_default()
    )
    extra = [
        *environment.get("UV_INDEX", "").split(),
        *environment.get("UV_EXTRA_INDEX_URL", "").split(),
        *pip.get("extra-index-url", "").split(),
        *uv_extra,
    ]
    # uv lets an index have a name: `pytorch=https://…`.
    default, *extra = (re.sub(r"^[\w.-]+=(?=\w+://)", "", url) for url in (default, *extra))
    certificates = environment.get("SSL_CERT_FILE") or pip.get("cert")
    return Settings(default, tuple(dict.fromkeys(extra)), certificates)


@functools.cache
def _pip_settings() -> dict[str, str]:
    """Return pip's settings by name; its variables go before `[install]`, that before `[global]`."""
    run = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if run.returncode:
        said = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
        raise UserError(f"pip's settings cannot be read: {said[-1].strip()}")
    found: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        for line in run.stdout.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(f"{section}."):
                found[name.removeprefix(f"{section}.")] = value.strip().strip("'\"").replace("\\n", " ")
    return found


def _pip_default() -> str:
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


def _uv_file_settings() -> tuple[str | None, list[str]]:
    """Return (default index, further indexes) of the user's uv.toml."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    path = pathlib.Path(os.environ.get("UV_CONFIG_FILE") or os.path.join(folder, "uv", "uv.toml"))
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, []
    except (OSError, ValueError) as error:
        raise UserError(f"uv's settings cannot be read: {path}: {error}") from None
    try:
        indexes = [entry for entry in content.get("index", []) if "url" in entry]
        default = next((entry["url"] for entry in indexes if entry.get("default")), content.get("index-url"))
        extra = [entry["url"] for entry in indexes if not entry.get("default")]
        extra += _strings(content.get("extra-index-url", []))
        _strings([default or "", *extra])
    except (TypeError, AttributeError):
        raise UserError(f"uv's settings cannot be read: {path}: its indexes are not written as uv wants them") from None
    return default, extra


def _strings(values: object) -> list[str]:
    """Return a list of texts as it is; raises TypeError for anything else."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r} is no list of texts")
    return values


def fetch(project: str, chosen: Settings | None = None, prereleases: bool = False) -> list[File]:
    """Return the project's files that the index lists; with `prereleases` also those of the extra indexes.

    Raises UserError when the index does not answer, answers something else, or does not know the project. An extra
    index that does not know the project is passed over.
    """
    chosen = chosen or settings()
    files = _fetch_one(chosen.default, project, chosen)
    if files is None:
        raise UserError(f"the package index does not know {project}; check pip's index settings")
    known = {file.filename for file in files}
    for url in chosen.extra if prereleases else ():
        more = _fetch_one(url, project, chosen) or []
        files += [file for file in more if file.filename not in known]
        known |= {file.filename for file in more}
    return files


def _fetch_one(base: str, project: str, chosen: Settings) -> list[File] | None:
    """Return the files that one index lists, None when it does not know the project."""
    try:
        parts = urllib.parse.urlsplit(base)
    except ValueError as error:
        raise UserError(f"the package index has no valid address ({error}); check pip's index settings") from None
    headers = {"Accept": ACCEPT}
    if parts.username is not None:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    location = urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    # pip and uv take a folder as an index too.
    page = "index.html" if parts.scheme == "file" else ""
    try:
        request = urllib.request.Request(f"{location.rstrip('/')}/{project}/{page}", headers=headers)
        context = ssl.create_default_context(cafile=chosen.certificates) if parts.scheme == "https" else None
        with urllib.request.urlopen(request, timeout=chosen.timeout, context=context) as response:
            kind = response.headers.get_content_type()
            body = response.read(LARGEST_ANSWER + 1)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise UserError(
            f"the package index answers {error.code} for {project}; check pip's index settings; nothing was changed"
        ) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        if parts.scheme == "file" and isinstance(reason, FileNotFoundError):
            return None
        if isinstance(reason, TimeoutError):
            reason = f"no answer in {chosen.timeout:g} s"
        reason = str(reason).strip() or type(reason).__name__
        raise UserError(
            f"the package index does not answer ({reason}); check the network and pip's index settings; "
            "nothing was changed"
        ) from None
    if len(body) > LARGEST_ANSWER:
        raise UserError(f"the package index sends over {LARGEST_ANSWER >> 20} MiB for {project}; nothing was changed")
    entries = _html_entries(body) if kind == "text/html" or kind.endswith("+html") else _json_entries(body)
    if entries is None:
        raise UserError(
            f"what the package index answers for {project} is no simple index (PEP 503, 691); "
            "check pip's index settings; nothing was changed"
        )
    return [file for entry in entries if (file := _parse(entry, project)) is not None]


def _json_entries(body: bytes) -> list | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    files = content.get("files") if isinstance(content, dict) else None
    return files if isinstance(files, list) else None


class _Anchors(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.entries: list[dict] = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            try:
                path = urllib.parse.urlsplit(found["href"]).path
            except ValueError:
                return
            self.entries.append(
                {
                    "filename": urllib.parse.unquote(path.rpartition("/")[2]),
                    "requires-python": found.get("data-requires-python"),
                    "yanked": "data-yanked" in found,
                }
            )


def _html_entries(body: bytes) -> list[dict] | None:
    """Return what a PEP 503 page links, None for a page without a link (a login page, an empty mirror)."""
    anchors = _Anchors()
    try:
        anchors.feed(body.decode("utf-8", "replace"))
    except AssertionError:
        # What the standard library's parser raises of a malformed declaration.
        return None
    return anchors.entries or None


def _parse(entry, project: str) -> File | None:
    """Return one listed file, or None for one that no installer takes: another project's, or with a name or field that
    is not standard."""
    try:
        filename = entry["filename"]
        tags: frozenset = frozenset()
        if filename.endswith(".whl"):
            name, version, _, tags = parse_wheel_filename(filename)
        else:
            name, version = parse_sdist_filename(filename)
        if name != canonicalize_name(project):
            return None
        uploaded = entry.get("upload-time")
        requires = entry.get("requires-python")
        size = entry.get("size")
        return File(
            filename=filename,
            version=version,
            tags=tags,
            uploaded=_uploaded(uploaded) if uploaded else None,
            requires_python=SpecifierSet(requires) if requires else None,
            # PEP 592: any string, the empty one included, yanks.
            yanked=entry.get("yanked", False) is not False,
            size=size if isinstance(size, int) else None,
        )
    except (
        *(AttributeError, KeyError, TypeError, ValueError),
        *(InvalidWheelFilename, InvalidSdistFilename, InvalidSpecifier, InvalidVersion),
    ):
        return None


def _uploaded(text: str) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    except OverflowError:
        return None
    return found if found.year in PLAUSIBLE_YEARS else None


def published(files: list[File]) -> dict[Version, Published]:
    """Return what the files say of each public version, oldest version first.

    A version's date is that of its first upload; where the index gives none, a nightly's own (`dev20261130`).
    """
    grouped: dict[Version, list[File]] = {}
    for file in files:
        grouped.setdefault(Version(file.version.public), []).append(file)
    found = {}
    for version, own in sorted(grouped.items()):
        usable = [file for file in own if not file.yanked]
        dates = [file.uploaded.date() for file in usable if file.uploaded]
        found[version] = Published(
            version=version,
            date=min(dates, default=nightly_date(version)),
            requires_python=next((file.requires_python for file in usable if file.requires_python), None),
            yanked=not usable,
            wheel=any(file.tags for file in usable),
        )
    return found


def nightly_date(version: Version) -> datetime.date | None:
    """Return the date in a version like `2.16.0.dev20261130`, None in others."""
    try:
        found = datetime.datetime.strptime(str(version.dev), "%Y%m%d").date()
    except ValueError:
        return None
    return found if found.year in PLAUSIBLE_YEARS else None


def latest(listed: dict[Version, Published]) -> Version | None:
    """Return the newest final version with a wheel that was not yanked, None without one."""
    usable = [found.version for found in listed.values() if found.wheel and not found.yanked]
    return max((version for version in usable if not version.is_prerelease), default=None)
