#!/usr/bin/env bash
# Adds one framework's new releases to the matrix and opens a pull request with them, or updates the one that is open.
# What was proposed before and lies there unchanged, or was declined, is not proposed again.
# Usage: tools/propose_rows.sh torch|jax     (needs git's push rights and the gh command)
set -euo pipefail
cd "$(dirname "$0")/.."
framework=${1:?usage: tools/propose_rows.sh torch|jax}
python=.venv/bin/python

# Exit status 1 says that there is something new; 2 is an error, told by the command itself.
status=0
listed=$($python -m env_matrix watch --json) || status=$?
[ "$status" -le 1 ] || exit "$status"
mapfile -t releases < <(printf '%s' "$listed" | $python -c '
import json, sys
for each in json.load(sys.stdin):
    if each["framework"] == sys.argv[1] and not each["skipped"]:
        print(each["framework"] + "==" + each["release"])
' "$framework")
if [ "${#releases[@]}" = 0 ]; then
    echo "no release of $framework is newer than the matrix"
    exit 0
fi

branch="rows/$framework"
title="Rows: ${releases[*]}"
git switch --quiet --force-create "$branch"
$python -m env_matrix add "${releases[@]}"
git add asv.conf.json env_matrix/constraints
git -c user.name="rows" -c user.email="rows@users.noreply.github.com" commit --quiet --message "$title"
if git fetch --quiet origin "$branch" 2>/dev/null && git diff --quiet FETCH_HEAD -- asv.conf.json env_matrix/constraints &&
    [ "$(gh pr list --head "$branch" --state all --json number)" != "[]" ]; then
    echo "${releases[*]}: proposed before"
    exit 0
fi
git push --quiet --force origin "$branch"
body="New on the package index. What it changes is measured on the GPU runner and told in a comment."
gh pr create --head "$branch" --title "$title" --body "$body" || gh pr edit "$branch" --title "$title" --body "$body"
# A pull request that a workflow's own token opens starts no other workflow.
gh workflow run ci.yml --ref "$branch"
gh workflow run bump.yml --ref "$branch"
