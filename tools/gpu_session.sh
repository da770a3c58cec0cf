#!/usr/bin/env bash
# Takes a GPU machine without network through a bump of two interpreters that are there, and packs the results.
#
# Usage: tools/gpu_session.sh WHEELS OUT FRAMEWORK OLD_PYTHON NEW_PYTHON [ARGUMENTS OF bumps run…]
#   WHEELS  a folder with the wheels of the tools (pyproject.toml) that this machine's python3 lacks
#   OUT     where results.tar.gz goes; written whatever happens, also when the run is stopped
# The same command carries on where a stopped one was.
set -uo pipefail
cd "$(dirname "$0")/.."
[ "$#" -ge 5 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
wheels=$1 out=$2 framework=$3 old=$4 new=$5
shift 5

tools=${TOOLS_DIR:-/tmp/bump-tools}
[ -d "$tools" ] || python3 -m pip install --quiet --no-index --no-deps --no-compile --target "$tools" "$wheels"/*.whl || exit 2
export PYTHONPATH=$tools
export BENCH_MACHINE=${BENCH_MACHINE:-$(hostname)}

pack() { tar -czf "$out/results.tar.gz" results; }
trap pack EXIT

nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,power.draw --format=csv
python3 -m env_matrix doctor || true
python3 -m bumps run "$framework" "installed:$old" "installed:$new" --machine "$BENCH_MACHINE" --no-publish "$@"
