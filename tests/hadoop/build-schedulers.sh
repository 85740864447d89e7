#!/usr/bin/env bash
# build-schedulers.sh SOURCE JAR
#
# Compiles the Capacity and the Fair scheduler of Hadoop 1.2.1 and what lets a test step them (`stepped/`) into JAR. SOURCE is a source
# tree of release 1.2.1, or a git folder that has its tag release-1.2.1. Does nothing when JAR is newer than `stepped/`. JAR is for tests
# on this machine; nothing of SOURCE is kept anywhere else.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
[[ $# -eq 2 ]] || fail "usage: build-schedulers.sh SOURCE JAR"
source=$1 jar=$2
newest=$(ls -t "$jar" "$LIVE_DIR"/stepped/*.java 2>/dev/null | head -n 1 || true)
[[ $newest != "$jar" ]] || exit 0

"$LIVE_DIR/fetch-jars.sh"
find_java
javac=${JAVA%/java}/javac
[[ -x $javac ]] || fail "no javac beside $JAVA: install a JDK, e.g. apt-get install openjdk-17-jdk-headless, or set JAVA_HOME"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-schedulers.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

contribs=(capacity-scheduler/src/java fairscheduler/src/java)
if [[ -d $source/src/contrib ]]; then
    source=$source/src/contrib
elif git -C "$source" rev-parse --verify --quiet release-1.2.1:src/contrib >/dev/null 2>&1; then
    git -C "$source" archive release-1.2.1:src/contrib "${contribs[@]}" | tar -x -C "$scratch"
    source=$scratch
fi
for contrib in "${contribs[@]}"; do
    [[ -d $source/$contrib ]] || fail "$1 is neither a source tree of Hadoop 1.2.1 (it has no src/contrib/$contrib)" \
        "nor a git folder with the tag release-1.2.1. Get one: git clone --depth 1 --branch release-1.2.1 https://github.com/apache/hadoop-common"
done

mkdir "$scratch/classes"
libraries=("$HADOOP_LIB"/*.jar)
mapfile -t sources < <(find "${contribs[@]/#/$source/}" -name '*.java')
if ! "$javac" -nowarn -proc:none "$JAVA_EXPORTS" -cp "$(IFS=:; echo "${libraries[*]}")" -d "$scratch/classes" \
    "${sources[@]}" "$LIVE_DIR"/stepped/*.java >"$scratch/javac.log" 2>&1; then
    grep -A 3 'error:' "$scratch/javac.log" | head -n 20 >&2
    fail "the schedulers do not compile: is $1 release 1.2.1?"
fi
mkdir -p "$(dirname "$jar")"
"${JAVA%/java}/jar" --create --file "$jar.new" -C "$scratch/classes" .
mv "$jar.new" "$jar"
