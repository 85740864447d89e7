#!/usr/bin/env bash
# Has Maven copy the stock Hadoop 1.2.1 jars into ${JOBTRACKER_HADOOP_HOME:-target/hadoop-1.2.1}/lib, the web pages beside them. Does nothing when they are there.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

# The stamp holds the list the folder was filled from, so that an edited pom.xml fills it again.
is_filled() {
    local stamp=$HADOOP_HOME_DIR/pom.xml
    [[ -f $stamp ]] && cmp -s "$stamp" "$LIVE_DIR/pom.xml"
}
! is_filled || exit 0

# Of clusters that start at one time, the first fetches.
mkdir -p "$(dirname "$HADOOP_HOME_DIR")"
exec {lock}>"$HADOOP_HOME_DIR.lock"
flock "$lock"
! is_filled || exit 0

command -v mvn >/dev/null || fail "Maven (mvn) is needed once, to fetch the stock Hadoop jars: install it, e.g. apt-get install maven"
find_java

note "fetching the stock Hadoop 1.2.1 jars into $HADOOP_HOME_DIR"
# A folder beside the final one, renamed when complete: a fetch that was cut short leaves nothing that looks whole.
fetching=$HADOOP_HOME_DIR.fetching
rm -rf "$fetching"
mkdir -p "$fetching"
log=$fetching/maven.log
if ! JAVA_HOME=$(dirname "$(dirname "$JAVA")") timeout 900 mvn --batch-mode --file "$LIVE_DIR/pom.xml" \
    dependency:copy-dependencies -DoutputDirectory="$fetching/lib" >"$log" 2>&1; then
    grep -E 'ERROR|FAIL' "$log" | head -n 15 >&2 || tail -n 15 "$log" >&2
    fail "Maven could not fetch the jars (whole output: $log)"
fi
for name in core examples streaming test tools; do
    [[ -f $fetching/lib/hadoop-$name-1.2.1.jar ]] || fail "Maven ended well, but hadoop-$name-1.2.1.jar is not in $fetching/lib"
done
# The daemons look for their pages in a folder on the class path; taken from the jar they would be unpacked anew at each start.
python3 - "$fetching" <<'PYTHON'
import sys, zipfile
core = zipfile.ZipFile(sys.argv[1] + "/lib/hadoop-core-1.2.1.jar")
core.extractall(sys.argv[1], [name for name in core.namelist() if name.startswith("webapps/")])
PYTHON
cp "$LIVE_DIR/pom.xml" "$fetching/pom.xml"
rm -rf "$HADOOP_HOME_DIR"
mv "$fetching" "$HADOOP_HOME_DIR"
