#!/usr/bin/env bash
# Takes a GPU machine without network through a session of measurements and packs the results.
#
# Usage: tools/gpu_session.sh WHEELS OUT PYTHON [FRAMEWORK OLD_PYTHON]
#   WHEELS      a folder with the wheels of the tools (pyproject.toml) that this machine's python3 lacks
#   OUT         where results.tar.gz goes; written every half minute and at the end, also when a stage is stopped
#   PYTHON      the interpreter that holds torch, jax or both
#   FRAMEWORK   with OLD_PYTHON: judge this framework's bump from that interpreter to PYTHON
# Environment:
#   STAGES      of "doctor selftest article core bump", by default all: the pre-flight, the suite's self-test on the
#               GPU, the article's table, the core suite with a control, the bump
#   ROUNDS      processes a row (default: 5)
#   BENCHMARKS  a regular expression to measure in the stages core and bump instead of the core suite
#   FRAMEWORKS  of those that PYTHON holds, the ones to measure (default: all)
#   BENCH_MACHINE  the name that results are stored under (default: the host's)
# The same command carries on where a stopped one was.
set -uo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '4,16p' "$0" | cut -c3- >&2; exit 2; }
[ "$#" -eq 3 ] || [ "$#" -eq 5 ] || usage
wheels=$1 out=$2 python=$3 framework=${4:-} old=${5:-}
stages=${STAGES:-doctor selftest article core bump}
rounds=${ROUNDS:-5}
selection=(--core)
[ -z "${BENCHMARKS:-}" ] || selection=(--bench "$BENCHMARKS")

tools=${TOOLS_DIR:-/tmp/bump-tools}
if [ ! -d "$tools" ]; then
    python3 -m pip install --quiet --no-index --no-deps --no-compile --target "$tools.new" "$wheels"/*.whl || exit 2
    mv "$tools.new" "$tools"
fi
export PYTHONPATH=$tools
export BENCH_MACHINE=${BENCH_MACHINE:-$(hostname)}
frameworks=()
for each in ${FRAMEWORKS:-torch jax}; do
    "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$each'))" && frameworks+=("$each")
done
[ "${#frameworks[@]}" -gt 0 ] || { echo "$python holds nothing of ${FRAMEWORKS:-torch and jax}" >&2; exit 2; }

pack() { tar -czf "$out/.$BASHPID.tar.gz" results && mv "$out/.$BASHPID.tar.gz" "$out/results.tar.gz"; }
# A machine that is taken away says no goodbye: what is packed is never older than half a minute.
while sleep 30; do pack; done 2>/dev/null &
packing=$!
trap 'kill "$packing"; wait "$packing" 2>/dev/null; pack' EXIT

# A session a framework: where one interpreter holds both, a process would measure both.
bench() {
    local each status=0
    for each in "${frameworks[@]}"; do
        python3 -m bumps bench --row "$each installed:$python" --row "$each installed:$python control" \
            --rounds "$rounds" --machine "$BENCH_MACHINE" --no-publish "$@" || status=1
    done
    return "$status"
}

failed=0
for stage in $stages; do
    echo "== $stage"
    case $stage in
        doctor)
            ! command -v nvidia-smi >/dev/null || nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,power.draw --format=csv
            python3 -m env_matrix doctor || true
            ;;
        selftest)
            for each in "${frameworks[@]}"; do
                PYTHONPATH=$tools "$python" tools/gpu_selftest.py "$each" || failed=1
            done
            ;;
        article) bench --bench "ArticleChain\.time_(eager|compiled)_(forward|grad)\(.*'bf16', 'article'" || failed=1 ;;
        core) bench "${selection[@]}" || failed=1 ;;
        bump)
            [ -n "$old" ] || continue
            python3 -m bumps run "$framework" "installed:$old" "installed:$python" --rounds "$rounds" \
                --machine "$BENCH_MACHINE" --no-publish "${selection[@]}" || failed=1
            ;;
        *) usage ;;
    esac
done
exit "$failed"
