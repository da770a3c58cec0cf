"""Resolving releases; uv itself is run in the tests marked end_to_end, against an index on this machine."""

import datetime
import hashlib
import http.server
import json
import threading

import pytest
from asv.util import UserError
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from env_matrix import cli, constraints, index, lock, matrix, rows
from env_matrix.index import Published
from env_matrix.releases import parse

DATE = datetime.date(2026, 3, 18)


def listed(*versions, **fields):
    known = {"date": DATE, "requires_python": SpecifierSet(">=3.11"), "yanked": False, "wheel": True, **fields}
    return {Version(text): Published(Version(text), **known) for text in versions}


@pytest.mark.parametrize(
    ("release", "known", "message"),
    [
        ("jax==0.9.9", listed("0.9.1", "0.9.2", "0.10.0"), r"has no jax 0\.9\.9; it has 0\.9\.1, 0\.9\.2$"),
        ("jax==7.0", listed("0.9.2", "0.10.0", "0.11.0rc1"), r"has no jax 7\.0; it has 0\.9\.2, 0\.10\.0$"),
        ("jax==7.0", {}, "it has no release"),
        ("jax==0.4.32", listed("0.4.32", yanked=True), r"jax 0\.4\.32 was yanked"),
        ("jax==0.0.1", listed("0.0.1", wheel=False), "no wheel of jax"),
        ("jax==0.9.2", listed("0.9.2", date=None), "no upload time"),
    ],
)
def test_what_cannot_be_locked_is_one_clear_line(release, known, message):
    with pytest.raises(UserError, match=message) as caught:
        lock.about(parse(release), known)
    assert "\n" not in str(caught.value)


def test_a_local_version_has_the_date_of_its_public_one():
    assert lock.about(parse("torch==2.14.1+cu130"), listed("2.14.1")).date == DATE


def test_pins_are_read_without_local_tags():
    text = "Nvidia_cuDNN-cu12==9.1\ntorch==2.8.0+cpu\n# comment\njinja2==3.1.6 ; python_version > '3'\n"
    assert lock.parse_pins(text) == {"nvidia-cudnn-cu12": "9.1", "torch": "2.8.0", "jinja2": "3.1.6"}


@pytest.mark.parametrize(
    ("pins", "cuda"),
    [
        ({"nvidia-cudnn-cu12": "9.10.2.21"}, "cuda12"),
        ({"cuda-toolkit": "13.2.2", "nvidia-cudnn-cu13": "9.26"}, "cuda13"),
        ({"nvidia-cublas": "13.4.1.3"}, "cuda13"),
        ({"nvidia-ml-py": "13.0", "numpy": "2"}, None),
    ],
)
def test_the_cuda_build_shows_in_the_pins(pins, cuda):
    assert lock.cuda_of(pins) == cuda


def test_pins_that_agree_need_no_marker_and_others_leave_no_python_out():
    resolved = {
        "3.11": {"numpy": "2.4", "scipy": "1.0", "old": "1"},
        "3.12": {"numpy": "2.5", "scipy": "1.0", "new": "3"},
        "3.13": {"numpy": "2.6", "scipy": "1.0", "new": "3"},
    }
    assert lock.pin_lines(resolved) == [
        'new==3 ; python_version >= "3.12"',
        'numpy==2.4 ; python_version < "3.12"',
        'numpy==2.5 ; python_version >= "3.12" and python_version < "3.13"',
        'numpy==2.6 ; python_version >= "3.13"',
        'old==1 ; python_version < "3.12"',
        "scipy==1.0",
    ]


@pytest.mark.parametrize(
    ("requires", "pythons", "found"),
    [
        (">=3.9.0", ["3.11", "3.12", "3.13"], ">=3.9.0"),
        (">=3.8", ["3.11", "3.12"], ">=3.8,<3.13"),
        (">=3.10,!=3.11.0", ["3.12", "3.13"], ">=3.12"),
        (">=3.12", ["3.12", "3.13"], ">=3.12"),
        ("", ["3.11", "3.13"], ">=3.11,!=3.12.*"),
    ],
)
def test_the_range_of_pythons_is_where_it_resolved(requires, pythons, found):
    assert lock.python_range(SpecifierSet(requires), pythons) == SpecifierSet(found)


def test_one_name_in_two_versions_is_refused():
    with pytest.raises(UserError, match="needs numpy 1 for one accelerator and 2 for another"):
        lock._merge({"numpy": "1"}, {"numpy": "2"}, "jax 0.9.2 on Python 3.12")


def test_differences_name_every_pin_and_header_field():
    old = constraints.load(parse("jax==0.9.2"))
    changed = constraints.parse(
        constraints.render(old).replace("numpy==", "numpy==9.").replace("cpu cuda12 cuda13", "cpu"), "x"
    )
    found = lock.differences(old, changed)
    assert found[0] == "accelerators: ('cpu', 'cuda12', 'cuda13') is now ('cpu',)"
    assert [line.partition(":")[0] for line in found[1:]] == ["only in the file", "only resolved now"]
    assert lock.differences(old, old) == []
    assert lock.differences(None, old) == ["there is no constraints file"]


def metadata(name: str, version: str, requires=(), extras=()) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {text}" for text in requires]
    return "\n".join(lines).encode() + b"\n"


@pytest.fixture
def small_index(tmp_path, monkeypatch):
    """Serve the metadata of a few wheels, with upload times; returns a function that adds another wheel."""
    wheels: dict[str, tuple[str | None, bytes]] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            folder, name, *_ = self.path.strip("/").split("/")
            if folder == "simple":
                own = [file for file in wheels if file.startswith(f"{name.replace('-', '_')}-")]
                entries = [
                    {
                        "filename": file,
                        "url": f"/files/{file}",
                        "hashes": {},
                        "requires-python": ">=3.11",
                        "core-metadata": {"sha256": hashlib.sha256(wheels[file][1]).hexdigest()},
                        **({"upload-time": wheels[file][0]} if wheels[file][0] else {}),
                    }
                    for file in own
                ]
                body = json.dumps({"meta": {"api-version": "1.1"}, "name": name, "files": entries}).encode()
                self._send(200 if own else 404, "application/vnd.pypi.simple.v1+json", body)
            else:
                self._send(200, "application/octet-stream", wheels[name.removesuffix(".metadata")][1])

        def _send(self, status, kind, body):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
    monkeypatch.setenv("UV_DEFAULT_INDEX", url)
    monkeypatch.delenv("UV_INDEX", raising=False)

    def add(uploaded, name, version, **fields):
        wheels[f"{name}-{version}-py3-none-any.whl"] = uploaded, metadata(name, version, **fields)

    add("2026-01-01T00:00:00Z", "numpy", "2.4.0")
    add("2026-03-22T23:00:00Z", "numpy", "2.4.1")
    add("2026-03-23T00:30:00Z", "numpy", "2.4.2")
    add("2026-03-18T10:00:00Z", "jaxlib", "0.9.2")
    # As jax <= 0.4.29 was: jaxlib comes with the extras only.
    add(
        *("2026-03-18T10:00:00Z", "jax", "0.9.2"),
        requires=[
            *("numpy", "jaxlib==0.9.2; extra == 'cpu'", "jaxlib==0.9.2; extra == 'cuda12'"),
            "nvidia-cudnn-cu12; extra == 'cuda12'",
        ],
        extras=["cpu", "cuda12"],
    )
    add("2026-02-01T00:00:00Z", "nvidia_cudnn_cu12", "9.1")
    yield add
    server.shutdown()
    server.server_close()


def lock_through(release):
    settings = index.settings()
    found = index.published(index.fetch(release.framework, settings, prereleases=release.version.is_prerelease))
    return lock.lock(release, found, settings)


@pytest.mark.end_to_end
def test_a_release_resolves_as_of_its_date_for_every_build(small_index, monkeypatch):
    # A user's own strategy must not change what is written.
    monkeypatch.setenv("UV_RESOLUTION", "lowest")
    small_index("2026-03-17T00:00:00Z", "nvidia_cudnn_cu12", "9.2")
    found = lock_through(parse("jax==0.9.2"))
    assert constraints.render(found) == (
        "# release: jax 0.9.2\n# released: 2026-03-18\n# exclude-newer: 2026-03-22\n# requires-python: >=3.11\n"
        "# accelerators: cpu cuda12\n# Written by: python -m env_matrix lock jax==0.9.2\n"
        "jax==0.9.2\njaxlib==0.9.2\nnumpy==2.4.1\nnvidia-cudnn-cu12==9.2\n"
    )


@pytest.mark.end_to_end
def test_an_extra_that_a_dependency_lacks_is_no_matter_of_the_releases(small_index):
    small_index("2026-03-01T00:00:00Z", "toolkit", "1.0", extras=["other"])
    small_index("2026-04-01T00:00:00Z", "torch", "2.0.0", requires=["numpy", "toolkit[cudart]"])
    small_index(
        *("2026-04-01T00:00:00Z", "jax", "0.9.3"),
        requires=["numpy", "jaxlib==0.9.2", "toolkit[cudart]; extra == 'cuda12'"],
        extras=["cpu", "cuda12"],
    )
    assert "toolkit==1.0" in lock_through(parse("torch==2.0.0")).pins
    assert lock_through(parse("jax==0.9.3")).accelerators == ("cpu", "cuda12")


@pytest.mark.end_to_end
def test_a_version_is_written_as_the_index_does_however_it_was_typed(small_index, own_matrix, capsys):
    before = own_matrix.read_text()
    small_index("2026-02-01T00:00:00Z", "torch", "2.9.0", requires=["numpy"])
    assert cli.main(["add", "torch==2.9"]) == 0
    assert '"torch": [null, "2.9.0"]' in own_matrix.read_text()
    (path,) = constraints.FOLDER.iterdir()
    assert path.name == "torch-2.9.0.txt"
    capsys.readouterr()
    assert cli.main(["add", "torch==2.9.0.0"]) == 0
    assert capsys.readouterr().out == "torch 2.9.0 is in the matrix already\n"
    assert cli.main(["lock", "torch==2.9"]) == 0
    assert cli.main(["lock", "--check", "torch==2.9"]) == 0
    assert cli.main(["why", "torch", "2.9", "2.9.0"]) == 0
    assert cli.main(["remove", "torch==2.9"]) == 0
    assert list(constraints.FOLDER.iterdir()) == []
    assert own_matrix.read_text() == before
    # Written by hand otherwise.
    own_matrix.write_text(before.replace('"torch": [null]', '"torch": [null, "2.9"]'))
    assert cli.main(["lock"]) == 0
    assert cli.main(["lock", "--check"]) == 0
    assert cli.main(["remove", "torch==2.9.0"]) == 0
    assert list(constraints.FOLDER.iterdir()) == []


@pytest.mark.end_to_end
def test_a_release_whose_companion_is_missing_resolves_nowhere(small_index):
    small_index("2026-03-18T10:00:00Z", "jax", "0.9.3", requires=["jaxlib==0.9.3"], extras=["cpu"])
    with pytest.raises(
        UserError, match=r"jax 0\.9\.3 resolves on none of Python 3\.11, 3\.12, 3\.13: .*jaxlib==0\.9\.3"
    ):
        lock_through(parse("jax==0.9.3"))


@pytest.mark.end_to_end
def test_a_nightly_without_upload_times_is_dated_by_its_version(small_index):
    small_index(None, "jaxlib", "0.13.0.dev20261130")
    small_index(
        *(None, "jax", "0.13.0.dev20261130"),
        requires=["numpy", "jaxlib>=0.13.0.dev20261130; extra == 'cpu'"],
        extras=["cpu"],
    )
    found = lock_through(parse("jax==0.13.0.dev20261130"))
    assert found.released == datetime.date(2026, 11, 30)
    assert "jaxlib==0.13.0.dev20261130" in found.pins


@pytest.fixture
def own_matrix(tmp_path, monkeypatch):
    """A copy of the matrix and its constraints that a test may change."""
    configuration = tmp_path / "project" / "asv.conf.json"
    configuration.parent.mkdir()
    configuration.write_text(
        '{\n  // the rows\n  "matrix": {"req": {"torch": [null], "jax": [null]}},\n'
        '  "exclude": [{"req": {"jax": "(?!0\\\\.1$).+"}, "env_nobuild": {"REPLICA": "control"}}]\n}\n'
    )
    monkeypatch.setattr(matrix, "PATH", configuration)
    folder = configuration.parent / "env_matrix" / "constraints"
    folder.mkdir(parents=True)
    monkeypatch.setattr(constraints, "FOLDER", folder)
    return configuration


@pytest.mark.end_to_end
def test_a_row_is_added_watched_checked_and_removed(small_index, own_matrix, capsys):
    small_index("2026-02-01T00:00:00Z", "torch", "2.0.0", requires=["numpy"])
    before = own_matrix.read_text()
    assert cli.main(["add", "jax", "0.9.2"]) == 0
    assert "jax 0.9.2 (2026-03-18) added" in capsys.readouterr().out
    text = own_matrix.read_text()
    assert '"jax": [null, "0.9.2"]' in text
    assert "(?!0\\\\.9\\\\.2$).+" in text
    assert "// the rows" in text
    assert cli.main(["add", "jax==latest"]) == 0
    assert "in the matrix already" in capsys.readouterr().out

    assert cli.main(["lock", "--check"]) == 0
    assert "jax 0.9.2: reproduces" in capsys.readouterr().out
    path = constraints.path_of(parse("jax==0.9.2"))
    path.write_text(path.read_text().replace("numpy==2.4.1", "numpy==2.4.0"))
    assert cli.main(["lock", "--check"]) == 1
    assert "only in the file: numpy==2.4.0" in capsys.readouterr().out
    assert cli.main(["lock"]) == 0
    assert "numpy==2.4.1" in path.read_text()
    assert "jax-0.9.2.txt, 4 pins" in capsys.readouterr().out

    small_index("2026-05-01T00:00:00Z", "jax", "0.10.0", requires=["numpy"], extras=["cpu"])
    small_index("2026-06-01T00:00:00Z", "jax", "0.11.0", requires=["numpy", "absent"], extras=["cpu"])
    assert cli.main(["watch", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(item["framework"], item["release"], item["added"]) for item in found] == [
        ("torch", "2.0.0", False),
        ("jax", "0.10.0", False),
        ("jax", "0.11.0", False),
    ]
    assert cli.main(["watch", "--apply"]) == 1
    shown = capsys.readouterr().out
    assert "jax 0.11.0 resolves on none" in " ".join(shown.split())
    assert '"jax": [null, "0.9.2", "0.10.0"]' in own_matrix.read_text()
    assert '"torch": [null, "2.0.0"]' in own_matrix.read_text()
    assert cli.main(["list", "--json"]) == 0
    assert [item["release"] for item in json.loads(capsys.readouterr().out)] == ["2.0.0", "0.9.2", "0.10.0"]

    assert cli.main(["remove", "jax==0.10.0", "jax==0.9.2", "torch==2.0.0"]) == 0
    assert list(constraints.FOLDER.iterdir()) == []
    # The control rule of a framework without rows stays as it last was.
    assert own_matrix.read_text().splitlines()[:3] == before.splitlines()[:3]


def test_waiting_for_another_command_is_said(own_matrix, capsys, monkeypatch):
    monkeypatch.setattr(rows, "LONGEST_WAIT_SECONDS", 0.2)
    with rows.exclusive():
        assert cli.main(["remove", "jax==0.9.2"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("waiting for another command")
    assert said[1].startswith("env_matrix: another command is changing the matrix")


def test_offline_nothing_changes(own_matrix, monkeypatch, capsys):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple/")
    before = own_matrix.read_text()
    for command in (["watch", "--apply"], ["add", "jax==0.9.2"], ["lock", "jax==0.9.2"], ["add", "jax==latest"]):
        assert cli.main(command) == 2
        said = capsys.readouterr()
        lines = [line for line in (said.err + said.out).splitlines() if "does not answer" in line]
        assert len(lines) == 1
        assert "Traceback" not in said.err
    assert own_matrix.read_text() == before
    assert list(constraints.FOLDER.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["add", "troch==2.8.0"], "env_matrix: there is no framework 'troch' here"),
        (["remove", "jax==0.9.2"], "env_matrix: the matrix has no jax 0.9.2"),
        (["why", "torch", "2.9.1"], "env_matrix: why compares two releases, 1 given"),
        (["why", "torch", "2.9.1", "2.10.0"], "env_matrix: torch 2.9.1 has no constraints file"),
        (["doctor", "torch==2.9.1"], "env_matrix: the matrix has no torch 2.9.1"),
    ],
)
def test_bad_input_is_one_clear_line(own_matrix, capsys, command, message):
    assert cli.main(command) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith(message)
    assert "\n" not in said
