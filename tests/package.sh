#!/usr/bin/env bash
# Builds the Debian package, installs it in a clean Debian root, runs the demo there, and removes and purges it. Prints how many seconds
# each part took. Needs root, cargo-deb and debootstrap; PROFILE (quick, dist, release, dev) is what the program is built by, MIRROR and
# SUITE what debootstrap is given; PACKAGE is a package that is built already.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
profile=${PROFILE:-quick}
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
root=$(mktemp -d)
# Users of the root go through it.
chmod 755 "$root"

part_started=$SECONDS
part() {
    echo "--- $1 ($((SECONDS - part_started)) s for the part before)"
    part_started=$SECONDS
}

fail() {
    echo "package: $1" >&2
    exit 1
}

cleanup() {
    local point
    for point in "$root/proc" "$root/dev"; do
        mountpoint -q "$point" && umount "$point"
    done
    rm -rf --one-file-system "$root"
}
trap cleanup EXIT

in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C chroot "$root" "$@"
}

part "build the program ($profile) and the package"
package=${PACKAGE:-}
if [[ -z $package ]]; then
    cargo build --quiet --profile "$profile" --bins
    package=$(etc/debian/build.sh "$profile")
fi
part "make a clean Debian root ($suite)"
debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$root.log" 2>&1 || {
    tail -5 "$root.log" >&2
    fail "debootstrap failed"
}
rm -f "$root.log"
# As every installation has it.
echo "127.0.0.1 localhost" >"$root/etc/hosts"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
cp "$package" "$root/jobtracker.deb"

part "install"
# A folder of Hadoop that is there already is not the package's business.
mkdir -p "$root/etc/hadoop"
echo precious >"$root/etc/hadoop/mapred-site.xml"
in_root dpkg -i /jobtracker.deb
in_root jobtracker --version
installed=$(in_root dpkg -L jobtracker)
for file in /etc/jobtracker/mapred-site.xml /usr/lib/systemd/system/jobtracker.service /usr/share/man/man1/jobtracker.1.gz \
    /usr/share/man/man1/jobtracker-job-submit.1.gz /usr/share/bash-completion/completions/jobtracker \
    /usr/share/zsh/vendor-completions/_jobtracker /usr/share/doc/jobtracker/examples/hadoop.acl.sample; do
    grep -qx "$file" <<<"$installed" || fail "$file is not in the package"
done
grep -q 'ExecStart=/usr/bin/jobtracker serve --conf /etc/jobtracker' "$root/usr/lib/systemd/system/jobtracker.service" ||
    fail "the unit names other places"
[[ $(stat -c %U:%G:%a "$root/usr/bin/jobtracker") == root:root:755 ]] || fail "mode of the program"
in_root sh -c '[ "$(stat -c %U:%a /var/lib/jobtracker/state)" = mapred:700 ]' || fail "the state is open to others"

part "check-config, user, serve, status, stop as the user of the unit"
in_root su -s /bin/sh mapred -c 'jobtracker check-config --conf /etc/jobtracker' || fail "the conf folder of the package is not good"
in_root jobtracker user add root --role admin --conf /etc/jobtracker >/dev/null
in_root chown mapred:hadoop /etc/jobtracker/acl
in_root sh -c 'su -s /bin/sh mapred -c "jobtracker serve --conf /etc/jobtracker" 2>/serve.log & 
    for try in $(seq 100); do jobtracker status --conf /etc/jobtracker >/dev/null 2>&1 && break; sleep 0.1; done
    jobtracker status --conf /etc/jobtracker && jobtracker stop --conf /etc/jobtracker; status=$?; wait; exit $status' || {
    cat "$root/serve.log" >&2
    fail "serve, status or stop"
}

part "demo"
in_root jobtracker demo >"$root/demo.log" 2>&1 || {
    tail -20 "$root/demo.log" >&2
    fail "the demo failed"
}
tail -2 "$root/demo.log"

part "remove and purge"
in_root dpkg -r jobtracker
[[ ! -e $root/usr/bin/jobtracker ]] || fail "the program is still there"
[[ -e $root/etc/jobtracker/mapred-site.xml ]] || fail "a removal takes the configuration"
in_root dpkg -P jobtracker
[[ ! -e $root/etc/jobtracker ]] || fail "a purge leaves $(ls -A "$root/etc/jobtracker")"
[[ -d $root/var/lib/jobtracker/state ]] || fail "a purge takes the state"
[[ $(cat "$root/etc/hadoop/mapred-site.xml") == precious ]] || fail "another conf folder was changed"
part "done"
