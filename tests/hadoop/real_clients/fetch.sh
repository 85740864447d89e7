#!/usr/bin/env bash
# fetch.sh pig|hive|mahout|python
#
# Has Maven copy the jars of a program (pom.xml), or pip install the Python programs (requirements.txt), into target/real-clients/NAME. Does
# nothing when they are there. Ends with 1 and the reason when they cannot be had.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../environment.sh"

name=${1:?fetch.sh pig|hive|mahout|python}
folder=${CARGO_TARGET_DIR:-$PROJECT_DIR/target}/real-clients/$name
list=$LIVE_DIR/real_clients/pom.xml
[[ $name != python ]] || list=$LIVE_DIR/real_clients/requirements.txt

# The stamp holds the list the folder was filled from, so that an edited list fills it again.
is_filled() { cmp -s "$folder/${list##*/}" "$list"; }
! is_filled || exit 0

mkdir -p "${folder%/*}"
exec {lock}>"$folder.lock"
flock "$lock"
! is_filled || exit 0

note "fetching $name into $folder"
# The stamp comes last: a fetch that was cut short leaves nothing that looks whole.
rm -rf "$folder"
mkdir "$folder"
log=$folder/log
if [[ $name == python ]]; then
    # A virtual environment cannot be renamed.
    { python3 -m venv "$folder/venv" && timeout 600 "$folder/venv/bin/pip" install --quiet --requirement "$list"; } >"$log" 2>&1 ||
        fail "pip cannot install the Python programs (whole output: $log): $(tail -n 3 "$log")"
else
    command -v mvn >/dev/null || fail "Maven (mvn) is needed once, to fetch the jars of $name"
    find_java
    JAVA_HOME=${JAVA%/bin/java} timeout 900 mvn --batch-mode --file "$list" --activate-profiles "$name" \
        dependency:copy-dependencies -DoutputDirectory="$folder/lib" >"$log" 2>&1 ||
        fail "Maven cannot fetch the jars of $name (whole output: $log): $(grep -m 3 ERROR "$log")"
fi
cp "$list" "$folder"
