import json

from env_matrix import sidecar


def test_where_it_lies(tmp_path):
    assert sidecar.path_of(tmp_path, "box", "pinned-py3.11") == tmp_path / "box" / "pinned-py3.11.jsonl"
    # asv's own rule: from 128 characters, the MD5 digest of the name.
    long_name = sidecar.path_of(tmp_path, "box", "n" * 128).name
    assert long_name == "env-17aa6bdf9be89b6384217cc7237890a9.jsonl"
    assert sidecar.path_of(tmp_path, "box", "n" * 127).name == f"{'n' * 127}.jsonl"


def test_a_line_that_a_crash_cut_is_passed_over(tmp_path):
    path = tmp_path / "box" / "row.jsonl"
    assert list(sidecar.records(path)) == []
    sidecar.append(path, "environment", "row", framework="jax")
    length = sidecar.size(path)
    with open(path, "ab") as stream:
        stream.write(b"[1]\n" + b"[" * 100_000 + b'\n{"record": "sta\xff')
    sidecar.append(path, "status", "row", reason="é")
    assert [record["record"] for record in sidecar.records(path)] == ["environment", "status"]
    assert [record["reason"] for record in sidecar.records(path, length)] == ["é"]
    first = json.loads(path.read_bytes().splitlines()[0])
    assert (first["env_name"], first["framework"]) == ("row", "jax")
    assert first["time"].endswith("+00:00")
