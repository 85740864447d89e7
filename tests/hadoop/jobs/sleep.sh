# shellcheck shell=bash
# Splits without places, no output.

prepare() { :; }
submit() { example sleep -m 3 -r 2 -mt 200 -rt 200; }
result() { :; }
expected() { :; }
