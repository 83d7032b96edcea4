# Warnings for our own code only; errors in the presets, never in a user's build.
option(KVPLAN_WERROR "Treat warnings as errors" OFF)
set(KVPLAN_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")
option(KVPLAN_COVERAGE "Build for coverage" OFF)

add_library(kvplan_flags INTERFACE)
target_compile_options(kvplan_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wcast-align -Wformat=2 -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wuseless-cast>
  $<$<BOOL:${KVPLAN_WERROR}>:-Werror>)
if(KVPLAN_SANITIZE)
  add_compile_options(-fsanitize=${KVPLAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${KVPLAN_SANITIZE})
endif()
if(KVPLAN_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()

# One binary of libc and nothing else: it starts anywhere, and a process starts sooner with fewer libraries.
add_library(kvplan_self_contained INTERFACE)
if(NOT KVPLAN_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(kvplan_self_contained INTERFACE -static-libstdc++ -static-libgcc)
endif()
