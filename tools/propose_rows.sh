#!/usr/bin/env bash
# Adds one framework's new releases to the matrix and opens a pull request with them, or updates the one that is open.
# What was proposed before and lies there unchanged, or was declined (its pull request closed), is not proposed again.
# Usage: tools/propose_rows.sh torch|jax     (needs git's push rights and the gh command)
set -euo pipefail
cd "$(dirname "$0")/.."
framework=${1:?usage: tools/propose_rows.sh torch|jax}
python=.venv/bin/python

# Exit status 1 says that there is something new; 2 is an error, told by the command itself. A Python that falls over
# ends with 1 as well, and says nothing.
status=0
listed=$($python -m env_matrix watch --json) || status=$?
[ "$status" -le 1 ] || exit "$status"
named=$($python -c '
import json, sys
for each in json.loads(sys.argv[2]):
    if each["framework"] == sys.argv[1] and not each["skipped"]:
        print(each["framework"] + "==" + each["release"])
' "$framework" "$listed")
mapfile -t releases < <(printf '%s' "${named:+$named$'\n'}")
if [ "${#releases[@]}" = 0 ]; then
    echo "no release of $framework is newer than the matrix"
    exit 0
fi

branch="rows/$framework"
title="Rows: ${releases[*]}"
known=$(gh pr list --head "$branch" --state all --limit 100 --json title,state)
has() { # STATE [TITLE]: whether there is such a pull request
    $python -c '
import json, sys
known, state, *title = sys.argv[1:]
sys.exit(not any(each["state"] == state and title in ([], [each["title"]]) for each in json.loads(known)))
' "$known" "$@"
}
if has CLOSED "$title" && ! has OPEN; then
    echo "${releases[*]}: declined before"
    exit 0
fi

git switch --quiet --force-create "$branch"
$python -m env_matrix add "${releases[@]}"
git add asv.conf.json env_matrix/constraints
git -c user.name="rows" -c user.email="rows@users.noreply.github.com" commit --quiet --message "$title"
done_before=1
if git fetch --quiet origin "$branch" 2>/dev/null && git diff --quiet FETCH_HEAD -- asv.conf.json env_matrix/constraints; then
    commit=$(git rev-parse FETCH_HEAD)
else
    done_before=
    git push --quiet --force origin "$branch"
    commit=$(git rev-parse HEAD)
fi
body="New on the package index. What it changes is measured on the GPU runner and told in a comment."
if ! has OPEN; then
    done_before=
    gh pr create --head "$branch" --title "$title" --body "$body"
elif ! has OPEN "$title"; then
    done_before=
    gh pr edit "$branch" --title "$title" --body "$body"
fi
# A pull request that a workflow's own token opens starts no other workflow, or one that waits for somebody's approval.
# Asked for each time: a day on which starting failed is made up for on the next.
for workflow in ci.yml bump.yml; do
    started=$(gh run list --workflow "$workflow" --commit "$commit" --event workflow_dispatch --json databaseId)
    if [ "$started" = "[]" ]; then
        done_before=
        gh workflow run "$workflow" --ref "$branch"
    fi
done
[ -z "$done_before" ] || echo "${releases[*]}: proposed before"
