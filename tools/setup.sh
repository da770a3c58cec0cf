#!/usr/bin/env bash
# Creates .venv with the tools of pyproject.toml. Does nothing when it is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

pip_version=26.3
venv=.venv
stamp=$venv/.setup-stamp

# A command may exist and still not run (a shim of a version manager), so each candidate is started.
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
    echo "setup: no working Python >= 3.11 found; install one, or name it: make setup PYTHON=/path/to/python" >&2
    exit 2
}

command -v git >/dev/null || { echo "setup: git is missing; install it" >&2; exit 2; }

python=$(find_python)
wanted="$(cksum < pyproject.toml) $pip_version $("$python" -c 'import sys; print(sys.version)')"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi

echo "setup: creating $venv with $("$python" --version)"
"$python" -c 'import ensurepip, venv' 2>/dev/null || {
    echo "setup: this Python has no venv module; install it (Debian and Ubuntu: python3-venv)" >&2
    exit 2
}
"$python" -m venv --clear "$venv"
echo "setup: installing the tools (about a minute)"
"$venv/bin/python" -m pip install --quiet "pip==$pip_version"
"$venv/bin/python" -m pip install --quiet --group dev
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
    echo "setup: no C++ compiler found: torch's compiled modes will be skipped on a CPU; install one (Debian: g++)"
echo "$wanted" > "$stamp"
echo "setup: done"
