#!/usr/bin/env bash
# Man page and completions have every command and every option, and complete what they should.
# Usage: help_texts.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$1 out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
scripts/help_texts.sh "$program" "$out"
manual=$(gzip -dc "$out/man/man1/tilewright.1.gz" | sed 's/\\-/-/g')
bash=$out/bash-completion/completions/tilewright
zsh=$out/zsh/vendor-completions/_tilewright
fish=$out/fish/vendor_completions.d/tilewright.fish

fail() { echo "FAILED: $1"; exit 1; }
commands=$("$program" --help | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }')
for command in $commands; do
  grep -q "^.SH \"tilewright $command\"" <<<"$manual" || fail "the man page has no $command"
  for file in "$bash" "$zsh" "$fish"; do
    grep -qw -- "$command" "$file" || fail "$file has no $command"
  done
  for option in $("$program" help "$command" | grep -oE '^ +(-[a-zA-Z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    grep -qF -- "$option" <<<"$manual" || fail "the man page has no $option of $command"
    [[ $option == --help ]] || grep -q -- "seen_subcommand_from $command' -l ${option#--}\$" "$fish" ||
      fail "fish has no $option of $command"
  done
done

# What bash offers for the words of a line, the last of them incomplete.
offered() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _tilewright 2>/dev/null || true # compopt works in a completion alone
  echo "${COMPREPLY[*]}"
}
PATH=$(dirname "$program"):$PATH
. "$bash"
[[ $(offered tilewright sug) == suggest ]] || fail "sug is not completed"
[[ $(offered tilewright explore --sha) == --shard ]] || fail "--sha is not completed"
[[ $(offered tilewright evaluate --left) == --left-out ]] || fail "an option of a group is not completed"
[[ $(offered tilewright suggest ge) == gemm* ]] || fail "families are not completed"
for option in -d --device; do
  [[ $(offered tilewright explore "$option" h100) == h100-sxm ]] || fail "devices are not completed behind $option"
done
[[ $(offered tilewright help mer) == merge ]] || fail "commands are not completed behind help"
[[ $(offered tilewright cache pru) == prune ]] || fail "actions of cache are not completed"
for tool in zsh fish; do
  if command -v $tool >/dev/null; then
    case $tool in zsh) zsh -n "$zsh" ;; fish) fish --no-execute "$fish" ;; esac || fail "$tool can't read its completions"
  fi
done
echo "fine"
