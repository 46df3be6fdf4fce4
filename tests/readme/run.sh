#!/usr/bin/env bash
# Runs the commands of a document's code blocks, the lines that begin with "$ ", one after another in
# a scratch folder that sees the repository's datasets, scripts and tests, and compares what they
# print with the lines below them. A command without such lines only has to work. Commands whose
# comment says "minutes" are left out unless --all is given.
# Usage: tests/readme/run.sh BUILD_FOLDER DOCUMENT [--all] [--update]     --update: write the outputs anew
set -euo pipefail

bin=$(cd "$1/bin" && pwd) document=$(realpath "$2") all=0 update=0
shift 2
for option; do
  case $option in
    --all) all=1 ;;
    --update) update=1 ;;
    *) echo "error: unknown option $option" >&2; exit 2 ;;
  esac
done
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for folder in datasets scripts tests; do
  ln -s "$root/$folder" "$scratch/$folder"
done
cd "$scratch"
export PATH="$bin:$PATH" LD_LIBRARY_PATH="$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" TERM=dumb TILEWRIGHT_CACHE=$scratch/cache

failures=0 commands=0 compared=0 new=
command= expected= measured=

# Runs the command that was read last and puts what it prints, or what stood there, into $new.
finish() {
  [[ -n $command ]] || return 0
  local code=0 output plain=${command%%  \# *}
  # What measures needs a GPU, and so does what reads the measurements.
  if [[ $plain == tilewright-profile* ]]; then
    measured=${plain##*--out } measured=${measured%% *}
  fi
  if [[ $plain == tilewright-profile* || (-n $measured && $plain == *"$measured"*) ]] ||
    { [[ $command == *"# "*minutes* ]] && ((!all)); }; then
    new+=$expected
    command=
    return 0
  fi
  commands=$((commands + 1))
  # A "no" is an answer; only its text says whether it is the right one.
  output=$(bash -c "$plain" 2>"$scratch/.stderr" </dev/null) || code=$?
  [[ -z $output ]] || output+=$'\n'
  if ((code > 1)) || { ((code == 1)) && [[ -z $expected ]]; }; then
    echo "FAILED (exit code $code): $plain"
    tail -5 "$scratch/.stderr"
    failures=$((failures + 1))
    new+=$expected
  elif [[ -z $expected ]]; then
    :
  else
    compared=$((compared + 1))
    new+=$output
    if [[ $output != "$expected" ]] && ((!update)); then
      echo "DIFFERS: $plain"
      diff <(printf %s "$expected") <(printf %s "$output") | head -20 || true
      failures=$((failures + 1))
    fi
  fi
  command=
}

inside=0
while IFS= read -r line || [[ -n $line ]]; do
  if [[ $line == '```'* ]]; then
    finish
    inside=$((1 - inside))
  elif ((inside)) && [[ $line == '$ '* ]]; then
    finish
    command=${line#'$ '} expected=
  elif ((inside)) && [[ -n $command ]]; then
    expected+=$line$'\n'
    continue
  fi
  new+=$line$'\n'
done <"$document"

if ((update)); then
  printf %s "$new" >"$document.tmp"
  cat "$document.tmp" >"$document"
  rm "$document.tmp"
fi
echo "$commands commands run, $compared outputs compared, $failures failed"
((commands > 0 && failures == 0))
