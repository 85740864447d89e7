# Sourced by every script of the live tests: where things are, which Java is used, how messages look.
# shellcheck shell=bash

LIVE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PROJECT_DIR=$(cd "$LIVE_DIR/../.." && pwd)
HADOOP_HOME_DIR=${JOBTRACKER_HADOOP_HOME:-${CARGO_TARGET_DIR:-$PROJECT_DIR/target}/hadoop-1.2.1}
[[ $HADOOP_HOME_DIR == /* ]] || HADOOP_HOME_DIR=$PWD/$HADOOP_HOME_DIR
HADOOP_LIB=$HADOOP_HOME_DIR/lib

# Hadoop 1.2.1 needs Subject.getSubject, which works by default up to JDK 22; the options below exist since JDK 9.
JAVA_OLDEST=9
JAVA_NEWEST=22
JAVA_EXPORTS=--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED
JAVA_OPTIONS=("$JAVA_EXPORTS" --add-opens=java.base/java.lang=ALL-UNNAMED -Djava.net.preferIPv4Stack=true
    -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData)

note() { echo "[live] $*" >&2; }

fail() {
    echo "[live] error: $*" >&2
    exit 1
}

# Prints the major version of the java binary $1; nothing when it does not run.
java_major() {
    local version
    version=$("$1" -version 2>&1 | sed -n 's/.*version "\([^"]*\)".*/\1/p' | head -n 1) || return 0
    version=${version#1.}
    echo "${version%%[.+-]*}"
}

# Sets JAVA to a Java that can run Hadoop 1.2.1: JAVA_HOME's, the one in PATH, or one of those installed in the usual place.
find_java() {
    local candidate major seen=
    for candidate in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} "$(command -v java || true)" /usr/lib/jvm/*17*/bin/java /usr/lib/jvm/*/bin/java; do
        [[ -x $candidate ]] || continue
        candidate=$(readlink -f "$candidate")
        major=$(java_major "$candidate")
        [[ $major =~ ^[0-9]+$ ]] || continue
        if ((major >= JAVA_OLDEST && major <= JAVA_NEWEST)); then
            JAVA=$candidate
            return 0
        fi
        seen="$seen $candidate (JDK $major)"
    done
    fail "Hadoop 1.2.1 runs on JDK $JAVA_OLDEST to $JAVA_NEWEST (tested with 17), found:${seen:- none}." \
        "Install one, e.g. apt-get install openjdk-17-jdk-headless, or set JAVA_HOME"
}

# Says in one line why live tests cannot run here; nothing when they can.
live_refusal() {
    local answer
    if ! answer=$(find_java 2>&1); then
        echo "${answer#*error: }"
    elif ! command -v python3 >/dev/null; then
        echo "python3 is needed"
    elif ! answer=$("$LIVE_DIR/isolated.sh" true 2>&1); then
        echo "a TaskTracker must run in a process namespace of its own and this system refuses one ($answer):" \
            "run as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces," \
            "kernel.apparmor_restrict_unprivileged_userns=0)"
    elif [[ ! -d $HADOOP_LIB ]] && ! command -v mvn >/dev/null; then
        echo "Maven (mvn) is needed to fetch the stock Hadoop jars"
    fi
}

# Polls the command given after the limit in seconds and a name for it; ends the script when the limit passes.
wait_until() {
    local limit_s=$1 what=$2 end
    shift 2
    end=$((SECONDS + limit_s))
    until "$@"; do
        ((SECONDS < end)) || fail "waited $limit_s s in vain for $what"
        sleep 0.2
    done
}
