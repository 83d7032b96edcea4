# The toolchain of a release: zig, which is clang with the C libraries of many systems. tools.sh copies this file into a folder
# and writes beside it the compiler, the target machine and system, and the third-party headers.
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
  # zig includes the needed parts of Apple's SDK. CMake asks for an install_name_tool, but no installed file needs changing by it.
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
  set(CMAKE_INSTALL_NAME_TOOL ${CMAKE_CURRENT_LIST_DIR}/ranlib CACHE FILEPATH "")
endif()
# With link-time optimization the file is smaller, and wheels have a size limit. The linker supports it only for ELF.
if(system STREQUAL "Linux")
  add_compile_options(-flto)
endif()
# A release must start with a glibc that is too old for packed relocations.
set(KVPLAN_PACKED_RELOCATIONS OFF CACHE BOOL "")
# Without this, CMake's compiler test builds a second libc++, for debugging.
set(CMAKE_TRY_COMPILE_CONFIGURATION Release)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/prefix)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
