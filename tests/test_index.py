"""What a package index answers; a server on this machine stands in for one."""

import base64
import contextlib
import datetime
import http.server
import json
import socket
import threading

import pytest
from asv.util import UserError
from packaging.version import Version

from env_matrix import index

WHEEL = "jax-0.9.2-py3-none-any.whl"


def listed(filename, **fields):
    return {"filename": filename, "upload-time": "2026-03-18T23:30:00.5Z", "requires-python": ">=3.11", **fields}


FILES = [
    listed(WHEEL, size=2_000_000),
    listed("jax-0.9.2.tar.gz", **{"upload-time": "2026-03-19T01:00:00Z"}),
    listed("jax-0.4.32-py3-none-any.whl", yanked="broken"),
    listed("jax-0.4.33-py3-none-any.whl", yanked=""),
    listed("jax-0.12.0rc1-py3-none-any.whl"),
    listed("jax-0.0.1.tar.gz"),
    listed("jax-0.12.0.1-py3-none-any.whl"),
]


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        status, kind, body = self.server.answer(self.path)
        if status is None:
            self.server.released.wait(20)
            return
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def serve():
    """Start a server that answers as told; returns its address."""
    servers = []

    def start(answer):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        server.answer, server.seen, server.released = answer, [], threading.Event()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return server, f"http://127.0.0.1:{server.server_address[1]}/simple/"

    yield start
    for server in servers:
        server.released.set()
        server.shutdown()
        server.server_close()


def as_json(files):
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "jax", "files": files}).encode()
    return lambda path: (200, index.ACCEPT.partition(",")[0], body)


def test_the_json_index_is_read(serve):
    server, url = serve(as_json(FILES))
    files = index.fetch("jax", index.Settings(url))
    assert server.seen[0][0] == "/simple/jax/"
    assert server.seen[0][1]["Accept"].startswith("application/vnd.pypi.simple.v1+json")
    first = files[0]
    assert (first.filename, first.version, first.size) == (WHEEL, Version("0.9.2"), 2_000_000)
    found = index.published(files)
    assert list(found) == [Version(text) for text in ("0.0.1", "0.4.32", "0.4.33", "0.9.2", "0.12.0rc1", "0.12.0.1")]
    assert found[Version("0.9.2")].date == datetime.date(2026, 3, 18)
    assert str(found[Version("0.9.2")].requires_python) == ">=3.11"
    assert [str(version) for version in found if found[version].yanked] == ["0.4.32", "0.4.33"]
    assert not found[Version("0.0.1")].wheel
    assert index.latest(found) == Version("0.12.0.1")


def test_the_latest_release_is_final_and_has_a_wheel():
    def published(text, yanked=False, wheel=True):
        return Version(text), index.Published(Version(text), None, None, yanked, wheel)

    found = dict([published("1.0"), published("1.1", yanked=True), published("1.2", wheel=False), published("2.0rc1")])
    assert index.latest(found) == Version("1.0")
    assert index.latest({}) is None


def test_the_html_index_is_read_too(serve):
    page = b"""<!DOCTYPE html><html><body>
      <a href="/whl/nightly/torch-2.16.0.dev20261130%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl#sha256=00"
         data-requires-python="&gt;=3.11">torch</a>
      <a href="torch-2.15.1-cp312-cp312-win_amd64.whl" data-yanked="bad">torch</a><a name="x">y</a>
      <a href="readme.txt">z</a></body></html>"""
    _, url = serve(lambda path: (200, "text/html; charset=utf-8", page))
    found = index.published(index.fetch("torch", index.Settings(url)))
    nightly = found[Version("2.16.0.dev20261130")]
    assert nightly.date == datetime.date(2026, 11, 30)
    assert str(nightly.requires_python) == ">=3.11"
    assert nightly.wheel
    assert found[Version("2.15.1")].yanked
    assert len(found) == 2


def test_extra_indexes_are_asked_for_prereleases_only(serve):
    _, url = serve(as_json(FILES))
    extra, extra_url = serve(as_json([*FILES[:1], listed("jax-0.13.0.dev20261130-py3-none-any.whl")]))
    unknown, unknown_url = serve(lambda path: (404, "text/plain", b""))
    settings = index.Settings(url, (extra_url, unknown_url))
    assert len(index.fetch("jax", settings)) == len(FILES)
    assert not extra.seen
    names = [file.filename for file in index.fetch("jax", settings, prereleases=True)]
    assert names == [entry["filename"] for entry in FILES] + ["jax-0.13.0.dev20261130-py3-none-any.whl"]
    assert unknown.seen


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, "text/plain", b""), "does not know jax"),
        ((403, "text/plain", b""), "answers 403 for jax"),
        ((503, "text/plain", b""), "answers 503 for jax"),
        ((200, "application/json", b"{"), "is no simple index"),
        ((200, "application/json", b"[]"), "is no simple index"),
        ((200, "application/json", b'{"files": {}}'), "is no simple index"),
        ((200, "text/html", b"<p>Please log in</p>"), "is no simple index"),
        ((200, "application/json", b"[" * 100_000), "is no simple index"),
        ((200, "text/html", b'<a href="http://[x/jax-0.9.2.tar.gz">x</a>'), "is no simple index"),
        ((200, "text/html", b"<![foo[ x ]]>"), "is no simple index"),
    ],
)
def test_an_index_that_answers_nonsense_is_one_clear_line(serve, answer, message):
    _, url = serve(lambda path: answer)
    with pytest.raises(UserError, match=message) as caught:
        index.fetch("jax", index.Settings(url))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [b"hello\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{", b"HTTP/1.1 abc\r\n\r\n"],
    ids=["no HTTP", "nothing", "cut short", "no status"],
)
def test_a_server_that_speaks_no_http_is_one_clear_line(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(UserError, match="the package index does not answer") as caught:
            index.fetch("jax", index.Settings(f"http://127.0.0.1:{server.getsockname()[1]}/simple"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://[::1/simple", "http://localhost:abc/simple", "http://my host/simple", "x y"]
)
def test_an_address_that_is_none_is_one_clear_line(address):
    with pytest.raises(UserError, match=r"check the network and pip's index settings|has no valid address"):
        index.fetch("jax", index.Settings(address))


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00", "9999-12-31T00:00:00Z", "0200-01-01T00:00:00Z"]
)
def test_a_time_that_nothing_was_uploaded_at_is_none(serve, time):
    _, url = serve(as_json([listed(WHEEL, **{"upload-time": time})]))
    (found,) = index.published(index.fetch("jax", index.Settings(url))).values()
    assert found.date is None
    assert index.nightly_date(Version("2.16.0.dev99991231")) is None


def test_files_of_other_projects_are_passed_over(serve):
    others = ["evil_thing-99.0-py3-none-any.whl", "jaxlib-99.0-py3-none-any.whl", "jax-extra-99.0.tar.gz"]
    _, url = serve(as_json([*FILES, *map(listed, others)]))
    assert len(index.fetch("jax", index.Settings(url))) == len(FILES)


def test_an_index_that_times_out(serve):
    _, url = serve(lambda path: (None, None, None))
    with pytest.raises(UserError, match=r"does not answer \(no answer in 0\.3 s\).*nothing was changed"):
        index.fetch("jax", index.Settings(url, timeout=0.3))


def test_no_network(unused_port):
    with pytest.raises(UserError, match=r"does not answer \(.*refused.*\).*nothing was changed"):
        index.fetch("jax", index.Settings(f"http://127.0.0.1:{unused_port}/simple"))
    with pytest.raises(UserError, match="does not answer"):
        index.fetch("jax", index.Settings("no address at all"))


@pytest.fixture
def unused_port():
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_an_answer_without_end_is_cut_off(serve, monkeypatch):
    monkeypatch.setattr(index, "LARGEST_ANSWER", 1000)
    _, url = serve(lambda path: (200, "application/json", b" " * 2000))
    with pytest.raises(UserError, match="sends over"):
        index.fetch("jax", index.Settings(url))


@pytest.mark.parametrize(
    "entry",
    [
        {},
        "jax-0.9.2.tar.gz",
        {"filename": None},
        {"filename": "jax.whl"},
        {"filename": "jax-0.9.2-py3-none-any.whl", "requires-python": "3.9 or so"},
        {"filename": "jax-0.9.2-py3-none-any.whl", "upload-time": "yesterday"},
        {"filename": "jax-nine.tar.gz"},
        {"filename": "../../jax-0.9.2.zip.exe"},
    ],
)
def test_a_file_that_is_not_standard_is_passed_over(serve, entry):
    _, url = serve(as_json([entry, FILES[0]]))
    assert [file.filename for file in index.fetch("jax", index.Settings(url))] == [WHEEL]


def test_credentials_are_sent_and_never_shown(serve):
    server, url = serve(as_json(FILES))
    index.fetch("jax", index.Settings(url.replace("http://", "http://us%40er:secret@")))
    sent = server.seen[0][1]["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"us@er:secret"
    _, refusing = serve(lambda path: (401, "text/plain", b""))
    with pytest.raises(UserError, match="answers 401") as caught:
        index.fetch("jax", index.Settings(refusing.replace("http://", "http://user:secret@")))
    assert "secret" not in str(caught.value)


def test_a_folder_can_be_an_index(tmp_path):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "index.html").write_text(f'<a href="{WHEEL}">x</a>')
    settings = index.Settings(tmp_path.as_uri())
    assert [file.filename for file in index.fetch("jax", settings)] == [WHEEL]
    with pytest.raises(UserError, match="does not know torch"):
        index.fetch("torch", settings)


@pytest.fixture
def no_settings(monkeypatch, tmp_path):
    for name in (
        "UV_DEFAULT_INDEX",
        "UV_INDEX_URL",
        "UV_INDEX",
        "UV_EXTRA_INDEX_URL",
        "UV_CONFIG_FILE",
        "SSL_CERT_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    index._pip_settings.cache_clear()
    yield monkeypatch
    index._pip_settings.cache_clear()


def test_the_default_index_is_pips(no_settings, tmp_path):
    no_settings.setenv("PIP_CONFIG_FILE", "/dev/null")
    found = index.settings()
    assert found.default.startswith("https://")
    assert found.default.endswith("/simple")
    assert found.extra == ()


def test_pips_file_and_variables_are_honoured(no_settings, tmp_path):
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = http://127.0.0.1:1/file\nextra-index-url =\n  http://127.0.0.1:2/a\n  http://127.0.0.1:2/b\n"
    )
    found = index.settings()
    assert found.default == "http://127.0.0.1:1/file"
    assert found.extra == ("http://127.0.0.1:2/a", "http://127.0.0.1:2/b")
    no_settings.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/variable")
    index._pip_settings.cache_clear()
    assert index.settings().default == "http://127.0.0.1:1/variable"


def test_uvs_file_and_variables_are_honoured(no_settings, tmp_path):
    no_settings.setenv("PIP_CONFIG_FILE", "/dev/null")
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").write_text(
        '[[index]]\nurl = "http://127.0.0.1:3/extra"\n[[index]]\nurl = "http://127.0.0.1:3/default"\ndefault = true\n'
    )
    found = index.settings()
    assert (found.default, found.extra) == ("http://127.0.0.1:3/default", ("http://127.0.0.1:3/extra",))
    no_settings.setenv("UV_DEFAULT_INDEX", "named=http://127.0.0.1:4/variable")
    no_settings.setenv("UV_INDEX", "nightly=http://127.0.0.1:4/nightly")
    found = index.settings()
    assert found.default == "http://127.0.0.1:4/variable"
    assert found.extra == ("http://127.0.0.1:4/nightly", "http://127.0.0.1:3/extra")
    (tmp_path / "uv" / "uv.toml").write_text("[[")
    with pytest.raises(UserError, match="uv's settings cannot be read"):
        index.settings()


def test_pip_told_to_use_no_index(no_settings):
    no_settings.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(UserError, match="no-index"):
        index.settings()


@pytest.mark.parametrize("content", ['extra-index-url = "https://x"', "index = [1]", "index = 7", "index-url = 7"])
def test_uv_settings_of_another_shape_are_one_clear_line(monkeypatch, tmp_path, content):
    path = tmp_path / "uv.toml"
    path.write_text(content)
    monkeypatch.setenv("UV_CONFIG_FILE", str(path))
    with pytest.raises(UserError, match=r"uv's settings cannot be read: .*uv\.toml"):
        index._uv_file_settings()


def test_pip_settings_that_pip_cannot_read_are_said(monkeypatch, tmp_path):
    """Not passed over: the default index would be asked in place of the one that they name."""
    path = tmp_path / "pip.conf"
    path.write_text("not an ini")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(path))
    index._pip_settings.cache_clear()
    try:
        with pytest.raises(UserError, match="pip's settings cannot be read: "):
            index._pip_settings()
    finally:
        index._pip_settings.cache_clear()
