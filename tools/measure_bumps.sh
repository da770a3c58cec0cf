#!/usr/bin/env bash
# Usage: tools/measure_bumps.sh [FRAMEWORK RELEASE…] [OPTION…]
# Measures one bump as `python -m bumps run` takes it (with its options), or without a framework every bump that the
# changes since the commit BASE add to the matrix, and writes the verdicts to the job's page. The results of the machine
# that measured are left in measured/; where nothing was measured there is no such folder. A regression is a result, not a
# failure of the job: it ends with 0 whatever the verdicts are, and with 1 when something could not be measured.
set -uo pipefail
shopt -s nullglob
cd "$(dirname "$0")/.."
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}
failed=0
started=$(mktemp)
trap 'rm -f "$started"' EXIT

measure() {
    local status=0 verdicts
    verdicts=$(.venv/bin/python -m bumps run "$@" --no-publish --markdown) || status=$?
    printf '%s\n\n' "$verdicts" >> "$summary"
    # A Python that falls over ends with 1 as well, and says nothing.
    case $status:$verdicts in
        [013]:?*) ;;
        *) failed=1 ;;
    esac
    # At once: a job that is stopped at its time limit keeps the bumps that it finished.
    collect || failed=1
}

# The repository holds results of other machines.
collect() {
    local journals machine
    for journals in results/*/sessions; do
        if [ -n "$(find "$journals" -newer "$started" -name '*.jsonl' -print -quit)" ]; then
            machine=$(dirname "$journals")
            # Results alone: a damaged file that was put aside is none.
            mkdir -p "measured/${machine##*/}/sessions" &&
                cp results/benchmarks.json measured/ &&
                cp "$machine"/*.json "$machine"/*.jsonl "measured/${machine##*/}/" &&
                cp "$journals"/*.jsonl "measured/${machine##*/}/sessions/" || return 1
        fi
    done
}

case ${1:--} in
    -*)
        git rev-parse --quiet --verify "${BASE:?set BASE, or name a framework and releases}^{commit}" >/dev/null ||
            { echo "measure_bumps: BASE is no commit: $BASE" >&2; exit 2; }
        if ! git diff --quiet "$BASE"...HEAD -- benchmarks; then
            printf '**This change edits workloads as well: its figures compare two suites.**\n\n' >> "$summary"
        fi
        # Two releases' constraints are alike: git would call one that replaces another renamed.
        mapfile -t added < <(git diff --name-only --no-renames --diff-filter=A "$BASE"...HEAD -- env_matrix/constraints)
        [ ${#added[@]} -gt 0 ] || printf 'This change adds no release: nothing was measured.\n\n' >> "$summary"
        for file in "${added[@]}"; do
            name=$(basename "$file" .txt)
            measure "${name%%-*}" "${name#*-}" "$@"
        done
        ;;
    *) measure "$@" ;;
esac
exit $failed
