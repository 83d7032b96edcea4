# Functions for the scripts in this folder, which source this file with `here` set to the folder: they install the tools from
# PyPI and set up zig as a compiler for other machines and older C libraries.
#
# KVPLAN_ZIG      the zig program; default: PyPI's ziglang, if python3 or the environment below has it
# KVPLAN_TOOLS    the folder of that environment; default: ~/.cache/kvplan-packaging
# KVPLAN_HEADERS  the folder of the third-party headers; default: /usr/include

tools=${KVPLAN_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/kvplan-packaging}

# Installs requirements.txt into an environment outside the source tree. Does nothing if everything is installed.
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

# Copies a package's headers and writes the smallest config file that find_package accepts. CMake reports a missing package.
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

# Copies the third-party headers to a folder without C library headers, because a cross compiler must not see /usr/include.
third_party_prefix() { # PREFIX
  rm -rf "$1"
  third_party "$1" fmt fmt fmt::fmt-header-only FMT_HEADER_ONLY=1
  third_party "$1" nlohmann nlohmann_json nlohmann_json::nlohmann_json
  third_party "$1" CLI CLI11 CLI11::CLI11
}

# A release's target is MACHINE (Linux with glibc 2.28, August 2018, or newer), MACHINE-musl, MACHINE-windows or MACHINE-macos.
# read_target sets `machine`, `system` (CMake's name), `triple` (zig's name) and `flags`. It returns 1 for any other word.
targets="x86_64 aarch64 x86_64-musl x86_64-windows aarch64-macos"
read_target() { # TARGET
  machine=${1%%-*}
  system=Linux
  flags=
  case $1 in
    x86_64 | aarch64) triple=$machine-linux-gnu.2.28 ;;
    # Not static: a static program could not load libcurl.
    x86_64-musl | aarch64-musl) triple=$machine-linux-musl flags=-dynamic ;;
    x86_64-windows) triple=$machine-windows-gnu system=Windows ;;
    aarch64-macos) triple=$machine-macos system=Darwin ;;
    *) return 1 ;;
  esac
}

# Sets `run` to the command that runs the target's programs on this machine; empty if they run directly. Returns 1 if nothing
# can run them.
find_run() { # TARGET
  run=
  case $1 in
    *-macos) return 1 ;;
    *-windows)
      for wine in wine64 wine /usr/lib/wine/wine64; do
        run=$(command -v "$wine") && break
      done
      # Uses its own wine prefix, whose services keep running between two starts.
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

# Writes the compiler wrappers and toolchain.cmake for CMake.
zig_toolchain() { # FOLDER TARGET
  read_target "$2"
  mkdir -p "$1"
  # Optimizes from the first use on, so that zig builds one libc++, not two. The version is for ccache, which compares this file.
  script "$1/c++" "exec \"$zig\" c++ -target $triple $flags -Os \"\$@\" # zig $("$zig" version)"
  script "$1/ar" "exec \"$zig\" ar \"\$@\""
  script "$1/ranlib" "exec \"$zig\" ranlib \"\$@\""
  echo "$machine" >"$1/machine"
  echo "$system" >"$1/system"
  if find_run "$2"; then script "$1/run" "exec $run \"\$@\""; else rm -f "$1/run"; fi
  cp "$here/zig.cmake" "$1/toolchain.cmake"
  third_party_prefix "$1/prefix"
}

# Both programs must print the same bytes for all bundled configs and all broken ones, under two engines.
same_answers() { # KVPLAN OTHER [OPTION]
  one=$1 other=$2
  shift 2
  scripts/compare-reports "$one" "$other" --engines vllm,llama.cpp --forms json "$@" --configs testdata/configs testdata/bad
}
