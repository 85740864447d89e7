#!/usr/bin/env bash
# Runs the commands that docs/sign-a-request.md shows, as they stand there: the `sign` function against the page's own table, the query and the
# job with stand-ins for curl and hadoop that show what they were given.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
page=$PROJECT_DIR/docs/sign-a-request.md

# Prints the page's code block with the given name.
block() {
    sed -n "/^\`\`\`sh $1\$/,/^\`\`\`\$/{ /^\`\`\`/d; p }" "$page"
}

# Prints the page's table of test vectors: key, text, signature, between bars.
vectors() {
    sed -n 's/^| `\([^`]*\)` | `\([^`]*timestamp[^`]*\)` | `\([^`]*\)` |$/\1|\2|\3/p' "$page"
}

same() {
    [[ $2 == "$3" ]] || fail "$1: expected $2, got $3"
}

eval "$(block sign)"

count=0
while IFS='|' read -r key text signature; do
    KEY=$key
    same "signature of $text" "$signature" "$(sign "$text")"
    count=$((count + 1))
done < <(vectors)
same "number of test vectors" 2 "$count"

# The rest with a fixed clock and home folder.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir "$home/.ssh"
echo alicekey-abc >"$home/.ssh/hadoop_key"
HOME=$home
date() { echo 1700000000000; }
curl() { printf '<%s>' "$@"; }
hadoop() { printf '<%s>' "$@"; }

# Not in a subshell: the job block uses the names that the query block sets.
eval "$(block query)" >"$home/query"
same query "<--silent><--show-error><--header><Authorization: JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D><http://127.0.0.1:50030/scheduler?info=alice&user=alice&timestamp=1700000000000>" \
    "$(cat "$home/query")"
eval "$(block job)" >"$home/job"
same job "<jar><hadoop-examples-1.2.1.jar><wordcount><-Dmapred.job.timestamp=1700000000000><-Dmapred.job.signature=JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D><-Dmapreduce.job.queue.name=alice><input><output>" \
    "$(cat "$home/job")"
echo "sign_with_openssl_test ... ok"
