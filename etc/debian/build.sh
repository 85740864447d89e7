#!/usr/bin/env bash
# Builds the Debian package of a program that is built already: etc/debian/build.sh [PROFILE]
# PROFILE: dist (default), release, quick or dev, as given to `cargo build --profile`. Needs cargo-deb. Prints the package's path.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
profile=${1:-dist}
# What the package has beside the program is made here; Cargo.toml lists it.
made=target/package
rm -rf "$made"
mkdir -p "$made/systemd" "$made/examples/conf"
cargo run --quiet --example package_files -- "$made"
gzip -9n "$made"/man/*.1
# The package has its program in /usr/bin, its configuration in /etc/jobtracker and its state where that names it.
for unit in etc/systemd/*.service; do
    sed -e 's|/usr/local/bin/jobtracker|/usr/bin/jobtracker|g' -e 's|/etc/hadoop|/etc/jobtracker|g' \
        -e 's| -D jobtracker.state.dir=/var/lib/jobtracker||g' -e 's|^StateDirectoryMode=.*|StateDirectoryMode=0711|' \
        "$unit" >"$made/systemd/${unit##*/}"
done
for file in etc/conf/*; do
    sed -e 's|/etc/hadoop|/etc/jobtracker|g' -e 's|<value>/var/lib/jobtracker</value>|<value>/var/lib/jobtracker/state</value>|' \
        "$file" >"$made/examples/conf/${file##*/}"
done
cp etc/*.sample etc/client/*.py etc/postgres/*.sql etc/budget-stores/*.sh "$made/examples"
cp etc/systemd/*.conf etc/prometheus/* etc/grafana/* "$made/examples" 2>/dev/null || true
cargo deb --quiet --no-build --no-strip --profile "$profile" --output "$made/" >&2
ls "$PWD/$made"/*.deb
