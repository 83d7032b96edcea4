# Toolchain of a release: zig, which is clang with a C library of any system. tools.sh copies this file into a folder and
# writes the compiler, the machine and the system that it compiles for, and the third-party headers beside it.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/machine machine)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/system system)
if(NOT machine STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR OR NOT system STREQUAL CMAKE_HOST_SYSTEM_NAME)
  set(CMAKE_SYSTEM_NAME ${system})
  set(CMAKE_SYSTEM_PROCESSOR ${machine})
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/run)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/run)
  endif()
endif()
set(CMAKE_CXX_COMPILER ${CMAKE_CURRENT_LIST_DIR}/c++)
set(CMAKE_AR ${CMAKE_CURRENT_LIST_DIR}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${CMAKE_CURRENT_LIST_DIR}/ranlib CACHE FILEPATH "")
if(system STREQUAL "Darwin")
  # zig brings what Apple's kit has of it, and nothing is installed that this tool would have to change.
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
  set(CMAKE_INSTALL_NAME_TOOL ${CMAKE_CURRENT_LIST_DIR}/ranlib CACHE FILEPATH "")
endif()
# Where the linker sees the whole program, the file is smaller: wheels have a limit. What it knows of bitcode is ELF.
if(system STREQUAL "Linux")
  add_compile_options(-flto)
endif()
# A release starts with an older glibc than packed relocations ask for.
set(KVPLAN_PACKED_RELOCATIONS OFF CACHE BOOL "")
# Else the compiler's test builds a second libc++, for debugging.
set(CMAKE_TRY_COMPILE_CONFIGURATION Release)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/prefix)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
