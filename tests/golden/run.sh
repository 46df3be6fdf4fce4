#!/usr/bin/env bash
# Runs one golden case and compares what the user sees with what the case file says.
# Usage: run.sh BIN CASE.golden          UPDATE=1 rewrites the case's expected part instead
#
# A case file is: the command line after "$ tilewright" on its first line, then "exit N", then the
# expected output; stderr lines stand after the stdout lines and start with "! ". The command line is
# the shell's: "| numbers" leaves the structure and drops what a fit changes, $bin is the program.
set -uo pipefail

bin=$1 case=$2
command=$(head -n 1 "$case")
if [[ $command != '$ tilewright '* ]]; then
  echo "$case: the first line must start with '\$ tilewright '"
  exit 1
fi
arguments=${command#'$ tilewright '}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OUT=$work/out TILEWRIGHT_CACHE=off
actual=$work/actual
# Numbers that are no part of a name become N, hashes HASH, units of time one; of lines that are the
# same then, one stays.
numbers() {
  sed -E 's/"[0-9a-f]{16}"/"HASH"/g
          s/(^|[^A-Za-z0-9_.%-])-?[0-9]+(\.[0-9]+)*(e[-+]?[0-9]+)?/\1N/g
          s/N (ns|us|ms|s)\b/N time/g
          s/N (B|KiB|MiB|GiB)\b/N bytes/g
          s/([^ ]) {2,}/\1  /g' | uniq
}
{
  echo "$command"
  eval "\"$bin\" $arguments" >"$work/stdout" 2>"$work/stderr" </dev/null
  echo "exit $?"
  cat "$work/stdout"
  sed 's/^/! /' "$work/stderr"
} | sed "s|$work|TMP|g" >"$actual"

if [[ ${UPDATE:-0} == 1 ]]; then
  cp "$actual" "$case"
  exit 0
fi
diff -u "$case" "$actual" && exit 0
echo "If the new output is right: UPDATE=1 $0 $bin $case"
exit 1
