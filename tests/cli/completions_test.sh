#!/bin/sh
# Completions as the shells produce them. Every option is in each of them and in the man page.
set -u
kvplan=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "completions_test: $*" >&2; failed=1; }
for shell in bash zsh fish; do "$kvplan" completions $shell >"$work/$shell" || wrong "no completions for $shell"; done
"$kvplan" man >"$work/man" || wrong "no man page"
"$kvplan" --help all >"$work/help" || wrong "no help"

# Every long option that the help names is known to every shell and to the man page.
options=$(grep -o -e '--[a-z][a-z0-9-]*' "$work/help" | sort -u)
[ "$(echo "$options" | wc -l)" -ge 40 ] || wrong "the help names few options"
for option in $options; do
  grep -q -e "[ ']$option[ |')]" "$work/bash" || wrong "bash lacks $option"
  grep -q -e "-l ${option#--} " "$work/fish" || [ "$option" = --help ] || wrong "fish lacks $option"
  grep -q -e "[ )]$option[\\[ )]" "$work/zsh" || [ "$option" = --help ] || wrong "zsh lacks $option"
  grep -qF -e "$(echo "$option" | sed 's/-/\\-/g')" "$work/man" || wrong "the man page lacks $option"
done

if command -v bash >/dev/null 2>&1; then
  cat >"$work/tab" <<'BASH'
# `tab WORD...`: what TAB offers for the last word.
source "./$1"
shift
complete -p kvplan | grep -q -- '-F _kvplan' || exit 3
COMP_WORDS=(kvplan "$@")
COMP_CWORD=$#
_kvplan kvplan "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}" | sort
BASH
  expect() { # WANTED WORDS...
    wanted=$1
    shift
    got=$(cd "$work" && bash tab bash "$@" 2>&1 | tr '\n' ' ')
    [ "$got" = "$wanted " ] || wrong "bash: kvplan $*<TAB> gives '$got', not '$wanted'"
  }
  expect "--engine" --engi
  expect "vllm" --engine vl
  expect "vllm" --engine = vl
  expect "llama.cpp logical" m.json --engine l
  expect "table" --format ta
  expect "html" --format ht
  expect "rtx-3090 rtx-3090-ti" --gpu rtx-309
  expect "auto" --kv-cache-dtype au
  expect "compare completions" comp
  expect "fish" completions f
  expect "--fail-over" diff a.json b.json --fail
  expect "" fit m.json --fail
  expect "" m.json --token a
  expect "" m.json --gpu-tflops f
  expect "tab" ta
  expect "off on" --flash-attn o
  expect "bash" -o ba
  : >"$work/two words.json"
  expect "two words.json" two
else
  echo "completions_test: no bash here: SKIPPED in part" >&2
fi
if command -v zsh >/dev/null 2>&1; then zsh -n "$work/zsh" || wrong "zsh cannot read its completions"; fi
if command -v fish >/dev/null 2>&1; then
  fish --no-execute "$work/fish" || wrong "fish cannot read its completions"
  got=$(fish --private -c "source $work/fish; complete -C 'kvplan --engine vl'" 2>&1 | cut -f1)
  [ "$got" = vllm ] || wrong "fish: kvplan --engine vl<TAB> gives '$got'"
  got=$(fish --private -c "source $work/fish; complete -C 'kvplan --engi'" 2>&1 | cut -f1)
  [ "$got" = --engine ] || wrong "fish: kvplan --engi<TAB> gives '$got'"
fi
if command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1; then
  groff -man -Tutf8 -ww "$work/man" >/dev/null 2>"$work/groff" || wrong "groff fails"
  [ -s "$work/groff" ] && { cat "$work/groff" >&2; wrong "groff warns of the man page"; }
fi
exit $failed
