# Sourced by the scripts beside it, with `here` set to this folder: the tools from PyPI, and zig as a compiler for other
# machines and older C libraries.
#
# KVPLAN_ZIG      the program zig; else that of PyPI's ziglang where python3 or the environment below has it
# KVPLAN_TOOLS    the folder of that environment, ~/.cache/kvplan-packaging where it is not set
# KVPLAN_HEADERS  the folder of the third-party headers, /usr/include where it is not set

tools=${KVPLAN_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/kvplan-packaging}

# requirements.txt in an environment of its own, outside the tree; with everything there it does nothing.
install_tools() {
  cmp -s "$here/requirements.txt" "$tools/installed" && return
  echo "installing $here/requirements.txt into $tools"
  python3 -m venv "$tools" && "$tools/bin/pip" install -q -r "$here/requirements.txt" && cp "$here/requirements.txt" "$tools/installed"
}

find_zig() { # sets `zig`, or returns 1
  [ -z "${KVPLAN_ZIG-}" ] || { zig=$KVPLAN_ZIG && "$zig" version >/dev/null && return; }
  for python in "$tools/bin/python" python3; do
    zig=$("$python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))' 2>/dev/null) && return
  done
  return 1
}

# Copies a package's headers, and writes the least that find_package takes. A package that is missing is CMake's to name.
third_party() { # PREFIX HEADERS PACKAGE TARGET [DEFINITION]
  from=${KVPLAN_HEADERS:-/usr/include}/$2
  [ -d "$from" ] || return 0
  mkdir -p "$1/include" "$1/lib/cmake/$3"
  cp -RLp "$from" "$1/include/" # with their times: what was compiled with them stays
  cat >"$1/lib/cmake/$3/${3}Config.cmake" <<END
add_library($4 INTERFACE IMPORTED)
target_include_directories($4 INTERFACE \${CMAKE_CURRENT_LIST_DIR}/../../../include)
target_compile_definitions($4 INTERFACE ${5-})
END
}

# Headers without a C library beside them: a cross compiler must not see those of /usr/include.
third_party_prefix() { # PREFIX
  rm -rf "$1"
  third_party "$1" fmt fmt fmt::fmt-header-only FMT_HEADER_ONLY=1
  third_party "$1" nlohmann nlohmann_json nlohmann_json::nlohmann_json
  third_party "$1" CLI CLI11 CLI11::CLI11
}

# What a release is made for is called MACHINE (Linux with glibc 2.28, August 2018, or newer), MACHINE-musl, MACHINE-windows
# or MACHINE-macos. read_target sets `machine`, `system` as CMake calls it, `triple` as zig does, and `flags`; returns 1 for another word.
targets="x86_64 aarch64 x86_64-musl x86_64-windows aarch64-macos"
read_target() { # TARGET
  machine=${1%%-*}
  system=Linux
  flags=
  case $1 in
    x86_64 | aarch64) triple=$machine-linux-gnu.2.28 ;;
    # Not static, which could open no libcurl.
    x86_64-musl | aarch64-musl) triple=$machine-linux-musl flags=-dynamic ;;
    x86_64-windows) triple=$machine-windows-gnu system=Windows ;;
    aarch64-macos) triple=$machine-macos system=Darwin ;;
    *) return 1 ;;
  esac
}

# How a program of another machine or system is run here: sets `run`, empty where it needs nothing, or returns 1.
find_run() { # TARGET
  run=
  case $1 in
    *-macos) return 1 ;;
    *-windows)
      for wine in wine64 wine /usr/lib/wine/wine64; do
        run=$(command -v "$wine") && break
      done
      # In a Windows of its own, whose services stay between two starts.
      [ -n "$run" ] && run="env WINEPREFIX=$tools/wine WINEDEBUG=-all $run"
      return ;;
    *-musl) [ -e "/lib/ld-musl-${1%-musl}.so.1" ] && [ "${1%-musl}" = "$(uname -m)" ]; return ;;
    "$(uname -m)") return 0 ;;
  esac
  for qemu in "qemu-$1-static" "qemu-$1"; do
    run=$(command -v "$qemu") && [ -d "/usr/$1-linux-gnu/lib" ] && run="$run -L /usr/$1-linux-gnu" && return
  done
  return 1
}

script() { # FILE LINE: a shell script of one line
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}

# The compiler as CMake wants it, with toolchain.cmake.
zig_toolchain() { # FOLDER TARGET
  read_target "$2"
  mkdir -p "$1"
  # Optimized from its first use on: one libc++ is built, not two. The version is for ccache, which compares this file.
  script "$1/c++" "exec \"$zig\" c++ -target $triple $flags -Os \"\$@\" # zig $("$zig" version)"
  script "$1/ar" "exec \"$zig\" ar \"\$@\""
  script "$1/ranlib" "exec \"$zig\" ranlib \"\$@\""
  echo "$machine" >"$1/machine"
  echo "$system" >"$1/system"
  if find_run "$2"; then script "$1/run" "exec $run \"\$@\""; else rm -f "$1/run"; fi
  cp "$here/zig.cmake" "$1/toolchain.cmake"
  third_party_prefix "$1/prefix"
}

# Every bundled config and every broken one, under two engines: the same bytes from both programs.
same_answers() { # KVPLAN OTHER [OPTION]
  one=$1 other=$2
  shift 2
  scripts/compare-reports "$one" "$other" --engines vllm,llama.cpp --forms json "$@" --configs testdata/configs testdata/bad
}
