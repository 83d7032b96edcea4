#!/bin/sh
# What `cmake --install` installs: the program, its man page and completions, and the library, against which the example
# in examples/ is built.
set -u
kvplan=$1
source=$2
build=$(dirname "$kvplan")
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
command -v cmake >/dev/null 2>&1 || { echo "install_test: SKIPPED: no cmake in the path" >&2; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "install_test: $*" >&2; failed=1; }
cmake --install "$build" --prefix "$work/usr" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

# The program runs from any folder to which it is copied, with an empty environment, and only needs libc and libm.
mkdir "$work/elsewhere" && cp "$work/usr/bin/kvplan" "$work/elsewhere/renamed"
(cd / && env -i "$work/elsewhere/renamed" "$source/testdata/configs/deepseek-v3.json" >"$work/plan") || wrong "the installed program fails"
grep -q "^deepseek-v3" "$work/plan" || wrong "the installed program prints no plan"
if [ -z "$(cached KVPLAN_SANITIZE)" ] && [ "$(cached KVPLAN_COVERAGE)" != ON ]; then
  if command -v readelf >/dev/null 2>&1; then
    needed=$(readelf -d "$work/usr/bin/kvplan" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    [ -n "$needed" ] || wrong "readelf names no library"
    for library in $needed; do
      case $library in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*.so.*) ;;
        *) wrong "the program needs $library, and libc (and libm) alone should do" ;;
      esac
    done
    readelf -d "$work/usr/bin/kvplan" | grep -E 'R(UN)?PATH' && wrong "the program has a run path"
    # Protections that turn a memory fault into an end of the program, and nothing worse (cmake/Flags.cmake).
    readelf -hldW --dyn-syms "$work/usr/bin/kvplan" >"$work/elf"
    grep -q 'Type: *DYN' "$work/elf" || wrong "the program is not position independent"
    grep -q GNU_RELRO "$work/elf" || wrong "the relocations stay writable"
    grep -Eq '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' "$work/elf" || wrong "functions are bound while it runs"
    grep -Eq 'GNU_STACK.* RW +0x' "$work/elf" || wrong "the stack can be executed"
    grep -q __stack_chk_fail "$work/elf" || wrong "the stack is not guarded"
    if [ "$(cached CMAKE_BUILD_TYPE)" = Release ]; then
      grep -q '_chk@GLIBC' "$work/elf" || wrong "libc's checked functions are not used (_FORTIFY_SOURCE)"
    fi
    # The Debian package's dependency is the newest GLIBC_x.y, and 2.36 for packed relocations: a requirement without a
    # version number would be missing from it.
    readelf -VW "$work/usr/bin/kvplan" | grep -o 'GLIBC_ABI_[A-Z_]*' | grep -v GLIBC_ABI_DT_RELR && wrong "the program needs more of libc than a version says"
  fi
  if [ "$(cached CMAKE_BUILD_TYPE)" = Release ]; then
    bytes=$(wc -c <"$work/usr/bin/kvplan")
    [ "$bytes" -lt 5900000 ] || wrong "the program has $bytes bytes, and 5,900,000 are the limit"
  fi
fi

# Man page and completions are where their readers look for them. completions_test tests their contents.
page=$work/usr/share/man/man1/kvplan.1
if [ -f "$page.gz" ]; then gzip -dc "$page.gz" >"$work/page" || wrong "the man page is broken"; else cp "$page" "$work/page"; fi
"$kvplan" man | cmp -s - "$work/page" || wrong "the man page is another than kvplan man"
if command -v man >/dev/null 2>&1; then
  MANPATH="$work/usr/share/man" man -P cat kvplan >"$work/shown" 2>/dev/null
  # The man of a minimal Debian prints nothing.
  [ ! -s "$work/shown" ] || grep -qi "kvplan.*how much memory" "$work/shown" || grep -q "minimized" "$work/shown" || wrong "man does not show the page"
fi
for pair in bash:bash-completion/completions/kvplan zsh:zsh/site-functions/_kvplan fish:fish/vendor_completions.d/kvplan.fish; do
  "$kvplan" completions "${pair%%:*}" | cmp -s - "$work/usr/share/${pair#*:}" || wrong "completions of ${pair%%:*} are missing or others"
done

# Each public header compiles by itself, and includes only headers that are installed.
compiler=$(cached CMAKE_CXX_COMPILER)
for header in "$work"/usr/include/kvplan/*.h; do
  name=$(basename "$header")
  printf '#include <kvplan/%s>\n#include <kvplan/%s>\n' "$name" "$name" >"$work/alone.cpp"
  "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$work/usr/include" "$work/alone.cpp" 2>"$work/err" ||
    { head -n 5 "$work/err" >&2; wrong "$name does not stand alone"; }
done

# The example is built like somebody else's project: it finds the installed kvplan, and uses nothing from the source
# folder.
flags=$(cached KVPLAN_SANITIZE)
cp -r "$source/examples/library" "$work/example"
if [ "$(cached KVPLAN_COVERAGE)" != ON ]; then
  { cmake -S "$work/example" -B "$work/example/build" -DCMAKE_PREFIX_PATH="$work/usr" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=Debug ${flags:+"-DCMAKE_CXX_FLAGS=-fsanitize=$flags"} && cmake --build "$work/example/build"; } >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" >&2; wrong "the example does not build"; }
  # DeepSeek-V3's 61 layers of 576 two-byte numbers, from its config.
  got=$("$work/example/build/example" "$source/testdata/configs/deepseek-v3.json")
  [ $? -eq 1 ] || wrong "671 billion parameters fit one card, says the example"
  case $got in "70272 bytes per token, "*) ;; *) wrong "the example says: $got" ;; esac
  "$work/example/build/example" /nowhere.json 2>"$work/err"
  [ $? -eq 2 ] && grep -q '^kvplan: /nowhere.json: ' "$work/err" || wrong "the example does not pass errors on"
fi
exit $failed
