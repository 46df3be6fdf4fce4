#!/usr/bin/env bash
# Runs one golden case and compares what the user sees with what the case file says.
# Usage: run.sh BIN CASE.golden          UPDATE=1 rewrites the case's expected part instead
#
# A case file is: the command line after "$ tilewright" on its first line, then "exit N", then the
# expected output; stderr lines stand after the stdout lines and start with "! ".
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
export OUT=$work/out
actual=$work/actual
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
