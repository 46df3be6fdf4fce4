#!/usr/bin/env bash
# Makes the man page and the completions of shells from what the program says with --help.
# Usage: scripts/help_texts.sh PROGRAM OUT_FOLDER     writes man/man1/tilewright.1.gz and so on
set -euo pipefail

program=$1 out=$2
mapfile -t commands < <("$program" --help | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { print $1 }')
((${#commands[@]} > 0)) || { echo "error: $program --help lists no commands" >&2; exit 2; }
# The long options of a command.
options() { "$program" "$1" --help | grep -oE '^ +(-[a-zA-Z],)?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+'; }

mkdir -p "$out"/man/man1 "$out"/bash-completion/completions "$out"/zsh/vendor-completions "$out"/fish/vendor_completions.d

# Text as troff prints it: backslashes, and lines that begin with a dot or a quote.
troff() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"; }
{
  version=$("$program" --version)
  echo ".TH TILEWRIGHT 1 \"\" \"$version\" \"User Commands\""
  echo ".SH NAME"
  echo 'tilewright \- tilings of GPU kernels: feasible or why not, and which is fastest'
  echo ".SH SYNOPSIS"
  echo ".B tilewright"
  echo "COMMAND [OPTIONS]"
  echo ".SH DESCRIPTION"
  "$program" --help | awk '/^Usage:/ { exit } { print }' | troff
  for command in "${commands[@]}"; do
    echo ".SH \"tilewright $command\""
    echo ".nf"
    "$program" "$command" --help | troff
    echo ".fi"
  done
  echo ".SH ENVIRONMENT"
  echo ".TP"
  echo ".B TILEWRIGHT_DATA"
  echo "Folder of devices, calibrations and templates, in place of the installed one."
  echo ".TP"
  echo ".B TILEWRIGHT_CACHE"
  echo "Folder of the cache of plan searches, or off."
  echo ".TP"
  echo ".B TILEWRIGHT_CACHE_BYTES"
  echo "Bytes that the cache may take (1 GiB)."
  echo ".TP"
  echo ".B NO_COLOR"
  echo "If it is set, there are no colours without --color=always."
  echo ".SH EXIT STATUS"
  echo "0 fine, 1 the answer is \"no\", 2 bad input or usage, 70 a bug of the program, 130 interrupted."
} | gzip -9n >"$out/man/man1/tilewright.1.gz"

{
  echo '_tilewright() {'
  echo '  local current=${COMP_WORDS[COMP_CWORD]} words='
  echo '  if ((COMP_CWORD == 1)); then'
  echo "    words='${commands[*]} --help --version'"
  echo '  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --device || ${COMP_WORDS[COMP_CWORD - 1]} == -d ]]; then'
  echo '    words=$(tilewright devices 2>/dev/null | awk '"'NR > 1 { print \$1 }'"')'
  echo '  elif [[ ${COMP_WORDS[1]} == suggest || ${COMP_WORDS[1]} == select || ${COMP_WORDS[1]} == families ]] && ((COMP_CWORD == 2)); then'
  echo '    words=$(tilewright families 2>/dev/null | awk '"'{ print \$1 }'"')'
  echo '  elif [[ ${COMP_WORDS[1]} == help ]] && ((COMP_CWORD == 2)); then'
  echo "    words='${commands[*]}'"
  echo '  elif [[ ${COMP_WORDS[1]} == cache ]] && ((COMP_CWORD == 2)) && [[ $current != -* ]]; then'
  echo "    words='show path size prune clear'"
  echo '  elif [[ $current == -* ]]; then'
  echo '    case ${COMP_WORDS[1]} in'
  for command in "${commands[@]}"; do
    echo "    $command) words='$(options "$command" | tr '\n' ' ')' ;;"
  done
  echo '    esac'
  echo '  fi'
  echo '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")'
  echo '  ((${#COMPREPLY[@]} > 0)) || compopt -o default'
  echo '}'
  echo 'complete -F _tilewright tilewright'
} >"$out/bash-completion/completions/tilewright"

{
  echo '#compdef tilewright'
  echo 'if ((CURRENT == 2)); then'
  echo "  compadd -- ${commands[*]} --help --version"
  echo 'elif [[ $PREFIX == -* ]]; then'
  echo '  case $words[2] in'
  for command in "${commands[@]}"; do
    echo "  $command) compadd -- $(options "$command" | tr '\n' ' ');;"
  done
  echo '  esac'
  echo 'else'
  echo '  _files'
  echo 'fi'
} >"$out/zsh/vendor-completions/_tilewright"

{
  for command in "${commands[@]}"; do
    echo "complete -c tilewright -n __fish_use_subcommand -f -a $command"
    for option in $(options "$command"); do
      echo "complete -c tilewright -n '__fish_seen_subcommand_from $command' -l ${option#--}"
    done
  done
} >"$out/fish/vendor_completions.d/tilewright.fish"
