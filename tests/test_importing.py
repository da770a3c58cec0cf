"""What somebody sends is checked, stored under safe names, and never runs or leads anywhere."""

import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile

import pytest
import site_project
from archive import COMMIT, MACHINE, NAN, benchmark, samples_of, write_journal, write_row, write_sidecar, write_suite
from asv.util import UserError

from bumps import artifact, importing
from bumps.results import Archive

STEP = benchmark("chain.time_it", [["'a'", "'b'"]], ["letter"])
ROOT = pathlib.Path(importing.__file__).parent.parent


@pytest.fixture
def sent(tmp_path):
    """A result file as somebody mails it."""
    path, _ = write_row(tmp_path / "sender", {"jax": "0.10.2"}, [(STEP, [samples_of([1.0, 2.0]), NAN])])
    return path


@pytest.fixture
def here(tmp_path):
    write_suite(tmp_path / "results", [STEP])
    return tmp_path / "results"


def rewrite(path, **changes):
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **changes}))
    return path


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def medians(folder):
    archive = Archive(folder)
    assert archive.excluded == []
    return [(row.machine, figure.medians) for row in archive.rows for each in row.figures.values() for figure in each]


def test_a_result_file_becomes_its_machines(sent, here):
    found = importing.take(sent, here)
    assert (found.merged.machines, found.merged.figures, found.merged.conflicts) == (["box"], 1, [])
    assert (found.commits, found.benchmarks) == ({COMMIT}, {"chain.time_it"})
    assert medians(here) == [("box", (1.0, 2.0)), ("box", ())]
    facts = json.loads((here / "box/machine.json").read_text())
    assert facts == {**MACHINE, "version": 1}
    again = importing.take(sent, here)
    assert (again.merged.figures, again.merged.files, again.merged.conflicts) == (0, 0, [])


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("../../../etc", "etc"),
        ("/root/.ssh", "root-.ssh"),
        ("..", "machine"),
        ("größe 机器", "gr-e"),
        ("m" * 300, "m" * 64),
        ("a\x00b\n", "a-b"),
        ("<script>alert(1)</script>", "script-alert-1-script"),
        (".git", "git"),
        ("C:\\con", "C-con"),
    ],
)
def test_a_machines_name_is_made_safe(sent, here, name, folder):
    params = json.loads(sent.read_text())["params"]
    rewrite(sent, params={**params, "machine": name})
    before = files_of(here.parent)
    assert importing.take(sent, here).merged.machines == [folder]
    new = [path for path in files_of(here.parent) if path not in before]
    assert all(path.startswith(f"results/{folder}/") for path in new if not path.endswith(".lock"))
    assert {machine for machine, _ in medians(here)} == {folder}


def test_another_name_can_be_given_and_must_be_safe(sent, here):
    assert importing.take(sent, here, "alice").merged.machines == ["alice"]
    with pytest.raises(UserError, match=r"^--machine '\.\./alice' cannot be a folder's name; use alice$"):
        importing.take(sent, here, "../alice")


def test_a_figure_of_one_sample_whose_interval_has_no_ends_is_taken(tmp_path, here):
    path, _ = write_row(tmp_path / "sender", {"jax": "0.10.2"}, [(STEP, [[1.0], NAN])])
    assert "-Infinity" in path.read_text()
    assert importing.take(path, here).merged.figures == 1


def test_a_machine_of_the_same_name_with_other_hardware_is_a_conflict(sent, here):
    importing.take(sent, here)
    params = json.loads(sent.read_text())["params"]
    rewrite(sent, params={**params, "cpu": "another CPU"})
    (conflict,) = importing.take(sent, here).merged.conflicts
    assert conflict.startswith("box: another machine has this name (cpu 'some CPU' here, 'another CPU' there)")


def change_result(sent, column, value):
    content = json.loads(sent.read_text())
    content["results"]["chain.time_it"][content["result_columns"].index(column)] = value
    sent.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("result", [1.0], "result is no list of 2 numbers"),
        ("result", [1.0, "<b>"], "result is no list of 2 numbers"),
        ("result", [1.0, True], "result is no list of 2 numbers"),
        ("result", [1.0, float("inf")], "result is no list of 2 numbers"),
        ("samples", [[1.0], [["deep"]]], "samples is no list of 2 lists of numbers"),
        ("samples", "many", "samples is no list of 2 lists of numbers"),
        ("stats_ci_99_a", [{}, None], "stats_ci_99_a is no list of 2 numbers"),
        ("params", [["'a'", 7]], "params is no list of lists of names"),
        ("params", [["x"] * 1000] * 10, "has over 100000 combinations of parameters"),
        ("version", 7, "version is not what asv writes"),
        ("started_at", "now", "started_at is not what asv writes"),
        ("duration", [1], "duration is not what asv writes"),
        ("started_at", 10**30, "started_at is out of range"),
        ("duration", 10**400, "duration is out of range"),
    ],
)
def test_figures_that_are_none_are_refused(sent, here, column, value, why):
    change_result(sent, column, value)
    with pytest.raises(UserError) as raised:
        importing.take(sent, here)
    assert str(raised.value) == f"{sent.name}: chain.time_it: {why}"
    assert files_of(here) == ["benchmarks.json"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"commit_hash": "../../x"}, "commit_hash: '../../x' does not match"),
        ({"commit_hash": "0123"}, "commit_hash: '0123' does not match"),
        ({"env_name": "../../../etc/cron"}, "env_name: '../../../etc/cron' does not match"),
        ({"env_name": "a\nb"}, "env_name: 'a\\nb' does not match"),
        ({"env_name": ""}, "env_name: '' should be non-empty"),
        ({"date": "today"}, "date: 'today' is not of type 'integer'"),
        ({"params": {"machine": 7}}, "params/machine: 7 is not of type 'string'"),
        ({"params": {}}, "params: 'machine' is a required property"),
        ({"params": {"machine": "m", "os": {"$ref": "file:///etc/passwd"}}}, "params/os:"),
        ({"requirements": ["jax"]}, "requirements: ['jax'] is not of type 'object'"),
        ({"result_columns": ["result"]}, "result_columns: ['result'] does not contain"),
        ({"result_columns": ["result", "params", "__class__"]}, "result_columns/2: '__class__' is not one of"),
        ({"results": {"a": {}}}, "results/a: {} is not of type 'array'"),
        ({"results": {"a\x1b[2J": []}}, "results: 'a\\x1b[2J' does not match"),
        ({"exec": "rm"}, "Additional properties are not allowed ('exec' was unexpected)"),
        ({"version": 99}, "was written by a newer asv"),
        ({"version": None}, "is not asv's format: no version"),
    ],
)
def test_files_that_are_no_results_are_refused_in_one_printable_line(sent, here, changes, why):
    rewrite(sent, **changes)
    with pytest.raises(UserError) as raised:
        importing.take(sent, here)
    assert why in str(raised.value)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 600
    assert files_of(here) == ["benchmarks.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[]", b"[" * 100_000, b"import os", b"PK\x03\x04", b"\x1f\x8b"]
)
def test_files_of_other_kinds_are_refused(tmp_path, here, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError, match=r"^x (is no JSON|cannot be unpacked)"):
        importing.take(tmp_path / "x", here)


def test_a_file_of_asvs_first_format_is_taken(tmp_path, here):
    params = {**MACHINE, "python": "3.6"}
    first = {"version": 1, "commit_hash": COMMIT, "date": 1, "params": params, "python": "3.6", "requirements": {}}
    first |= {"env_name": "py3.6", "results": {"chain.time_old": 2.5}}
    (tmp_path / "x.json").write_text(json.dumps(first))
    importing.take(tmp_path / "x.json", here)
    assert medians(here) == [("box", (2.5,))]


def test_profiles_are_dropped_since_to_look_at_one_is_to_load_it(sent, here):
    content = json.loads(sent.read_text())
    row = content["results"]["chain.time_it"]
    row += [None] * (len(content["result_columns"]) - len(row))
    row[content["result_columns"].index("profile")] = "gASVIAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAV0b3VjaJSFlFKULg=="
    sent.write_text(json.dumps(content))
    importing.take(sent, here)
    (path,) = (here / "box").glob("0*.json")
    assert "gASV" not in path.read_text()


@pytest.fixture
def tree(sent):
    """The sender's whole results folder."""
    folder = sent.parent.parent
    write_suite(folder, [{**STEP, "repeat": 1, "code": "<script>"}])
    env_name = json.loads(sent.read_text())["env_name"]
    write_sidecar(folder, env_name, [{"record": "status", "benchmark": "b", "params": [], "status": "failed"}])
    write_journal(folder, "s1", [])
    return folder


def packed(tree, path, prefix=""):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in files_of(tree):
                archive.write(tree / name, prefix + name)
    else:
        with tarfile.open(path, "w:gz") as archive:
            archive.add(tree, arcname=prefix or ".")
    return path


@pytest.mark.parametrize(
    ("name", "prefix"), [("r.zip", ""), ("r.zip", "measured/"), ("r.tar.gz", ""), ("r.tgz", "a/b")]
)
def test_a_packed_folder_is_taken_with_sidecars_and_journals(tmp_path, tree, here, name, prefix):
    suite = (here / "benchmarks.json").read_bytes()
    found = importing.take(packed(tree, tmp_path / name, prefix), here)
    assert (found.merged.machines, found.merged.conflicts) == (["box"], [])
    assert [path for path in files_of(here) if not path.endswith(".lock")] == sorted(files_of(tree))
    assert (here / "benchmarks.json").read_bytes() == suite
    assert medians(here) == [("box", (1.0, 2.0)), ("box", ())]


def zipped(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


FACTS = ("box/machine.json", json.dumps(MACHINE))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../box/x.json", "'../box/x.json' leads out of it"),
        ("/etc/x.json", "'/etc/x.json' leads out of it"),
        ("box\\..\\..\\x.json", "leads out of it"),
        ("box/a\nb.json", "leads out of it"),
        ("box/run.sh", "'box/run.sh' is no result"),
        ("box/conftest.py", "is no result"),
        ("box/sessions/x.json", "is no result"),
        ("box/-rf.jsonl", "is no name of a sidecar or a journal"),
        ("box/.hidden.jsonl", "is no name of a sidecar or a journal"),
        ("box/" + "x" * 251 + ".jsonl", "is no name of a sidecar or a journal"),
        ("other/x.json", "beside some of its files there is no machine.json"),
        ("box/x.jsonl", "x.jsonl: line 1 is no record"),
    ],
)
def test_names_and_files_that_do_not_belong_are_refused(tmp_path, here, name, why):
    path = zipped(tmp_path / "x.zip", FACTS, (name, "no record\n"))
    before = files_of(tmp_path)
    with pytest.raises(UserError) as raised:
        importing.take(path, here)
    assert why in str(raised.value)
    assert str(raised.value).isprintable()
    assert files_of(tmp_path) == before


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(tmp_path, here):
    with pytest.raises(UserError, match=r"^x\.zip holds 'box/machine\.json' twice$"):
        importing.take(zipped(tmp_path / "x.zip", FACTS, FACTS), here)


def test_links_and_devices_in_an_archive_are_refused(tmp_path, here):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            member = tarfile.TarInfo("box/machine.json")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        with pytest.raises(UserError, match=r"^'box/machine\.json' is no plain file$"):
            importing.take(tmp_path / "x.tar", here)
    link = zipfile.ZipInfo("box/machine.json")
    link.external_attr = 0o120777 << 16
    with pytest.raises(UserError, match="is no plain file"):
        importing.take(zipped(tmp_path / "x.zip", (link, "/etc/passwd")), here)


def test_what_is_too_large_is_refused_whatever_the_archive_says_of_it(tmp_path, sent, here, monkeypatch):
    monkeypatch.setattr(importing, "LARGEST_FILE", 2**20)
    bomb = zipped(tmp_path / "x.zip", FACTS, ("box/x.jsonl", "0" * 2**23))
    assert bomb.stat().st_size < 2**14
    with pytest.raises(UserError, match=r"^x\.zip is too large: over 1 MiB a file"):
        importing.take(bomb, here)
    bomb = zipped(tmp_path / "x.zip", FACTS, ("benchmarks.json", "0" * 2**23))
    with pytest.raises(UserError, match="is too large"):
        importing.take(bomb, here)
    monkeypatch.setattr(importing, "LARGEST_FILE", 100)
    with pytest.raises(UserError, match="is too large"):
        importing.take(sent, here)
    monkeypatch.setattr(artifact, "MOST_FILES", 3)
    many = zipped(tmp_path / "x.zip", *((f"box/{number}.jsonl", "") for number in range(5)))
    with pytest.raises(UserError, match="holds over 3 files"):
        importing.take(many, here)


def test_an_archive_of_empty_folders_without_end_is_refused(tmp_path, here, monkeypatch):
    monkeypatch.setattr(importing, "MOST_ENTRIES", 50)
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        for number in range(60):
            folder = tarfile.TarInfo(f"box/{number}")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
    with pytest.raises(UserError, match="holds over 50 files and folders"):
        importing.take(tmp_path / "x.tar.gz", here)


@pytest.mark.parametrize("opened", [gzip.open, bz2.open, lzma.open])
def test_a_header_without_end_is_never_read_whole(tmp_path, here, monkeypatch, opened):
    monkeypatch.setattr(importing, "LARGEST_ARCHIVE", 2**22)
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 2**26
    with opened(tmp_path / "x.tar", "wb") as stream:
        stream.write(header.tobuf(tarfile.USTAR_FORMAT))
        stream.write(b"0" * 2**26)
    tracemalloc.start()
    with pytest.raises(UserError, match="is too large"):
        importing.take(tmp_path / "x.tar", here)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**25


def test_thousands_of_columns_are_refused_at_once(sent, here):
    with pytest.raises(UserError, match="has over 100 result_columns"):
        importing.take(rewrite(sent, result_columns=[[number] for number in range(50_000)]), here)


def test_a_cut_archive_is_refused(tmp_path, tree, here):
    for name in ("x.zip", "x.tar.gz"):
        path = packed(tree, tmp_path / name)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(UserError, match=r"cannot be unpacked|is no JSON|holds no results|is no results folder"):
            importing.take(path, here)
    assert files_of(here) == ["benchmarks.json"]


def test_several_machines_cannot_have_one_name(tmp_path, here):
    facts = io.StringIO(json.dumps({**MACHINE, "machine": "b/ox"})).getvalue()
    path = zipped(tmp_path / "x.zip", ("a/machine.json", facts), ("b/machine.json", facts))
    with pytest.raises(UserError, match="holds 2 machines; --machine can name one"):
        importing.take(path, here, "alice")
    with pytest.raises(UserError, match="two of its machines would be called b-ox"):
        importing.take(path, here)


@pytest.mark.end_to_end
def test_it_is_shown_on_the_site_as_that_machine(tmp_path):
    project = site_project.SiteProject(tmp_path / "project")
    write_suite(project.results, [STEP])
    sender = {**MACHINE, "machine": "alice's <b>box</b>"}
    for release, values in (("0.9.2", [1.0, 1.01]), ("0.10.2", [2.0, 2.01])):
        measured = [(STEP, [samples_of(values), NAN])]
        write_row(tmp_path / "sender", {"jax": release}, measured, machine=sender, commit=project.commit)
    importing.take(packed(tmp_path / "sender", tmp_path / "sent.zip"), project.results)
    project.publish()
    assert json.loads((project.html / "index.json").read_text())["machines"].keys() == {"alice-s-b-box-b"}
    page = (project.html / "bumps.html").read_text()
    assert "alice-s-b-box-b" in page
    assert "<b>box" not in page


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "bumps", "results", "import", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_says_what_it_took(tmp_path, sent, here):
    done = command(tmp_path, str(sent))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "commit 0123456789ab is not in this repository: asv's own pages leave its figures out",
        f"{sent}: box: 1 figures, 2 files",
    ]
    rewrite(sent, params={**json.loads(sent.read_text())["params"], "num_cpu": "64"})
    done = command(tmp_path, str(sent))
    assert done.returncode == 1
    assert done.stdout.endswith("store it under another name with --machine NAME\n")
    assert command(tmp_path, str(sent), "--machine", "alice").returncode == 0
    done = command(tmp_path, "nowhere")
    assert (done.returncode, done.stderr) == (2, "bumps: there is no file nowhere\n")
