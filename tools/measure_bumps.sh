#!/usr/bin/env bash
# Usage: tools/measure_bumps.sh [FRAMEWORK RELEASE…]
# Measures one bump as `python -m bumps run` takes it, or without arguments every bump that the changes since the commit
# BASE add to the matrix, and writes the verdicts to the job's page. A regression is a result, not a failure of the job: it ends with 0 whatever the
# verdicts are, and with 1 when something could not be measured.
set -uo pipefail
cd "$(dirname "$0")/.."
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}
failed=0

measure() {
    local status=0
    .venv/bin/python -m bumps run "$@" --no-publish --markdown >> "$summary" || status=$?
    case $status in
        0 | 1 | 3) ;;
        *) failed=1 ;;
    esac
}

if [ "$#" -gt 0 ]; then
    measure "$@"
else
    if ! git diff --quiet "${BASE:?set BASE, or name a framework and releases}"...HEAD -- benchmarks; then
        printf '**This change edits workloads as well: its figures compare two suites.**\n\n' >> "$summary"
    fi
    while read -r file; do
        name=$(basename "$file" .txt)
        measure "${name%%-*}" "${name#*-}"
    done < <(git diff --name-only --diff-filter=A "$BASE"...HEAD -- env_matrix/constraints)
fi
exit $failed
