include(CheckLinkerFlag)
# For kvplan's own code, and only in the presets: warnings would make a user's build a twentieth slower.
option(KVPLAN_WERROR "Warnings, as errors" OFF)
set(KVPLAN_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")
option(KVPLAN_COVERAGE "Build for coverage" OFF)
option(KVPLAN_FUZZ "Build the fuzz targets (clang)" OFF)

add_library(kvplan_flags INTERFACE)
if(KVPLAN_WERROR)
  set(shadow -Wshadow)
  if(KVPLAN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(shadow -Wshadow=local)  # files that are compiled together may use a name twice
  endif()
  target_compile_options(kvplan_flags INTERFACE
    -Werror -Wall -Wextra -Wpedantic ${shadow} -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
    -Wold-style-cast -Wcast-align -Wformat=2 -Wimplicit-fallthrough
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wuseless-cast>)
  # gcc 12 sees an overlap in every inlined "text" + std::string() (https://gcc.gnu.org/PR105651, fixed in 13).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(kvplan_flags INTERFACE -Wno-restrict)
  endif()
  # When gcc optimizes for size or uses its sanitizers, it warns of uninitialized values in std::optional, wrongly, as
  # its manual says it may. clang-tidy and the sanitizers find the real ones.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(kvplan_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
# Compiling several files together needs more memory than gcc's default before it collects garbage. Collecting takes a
# tenth of the compile time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kvplan_flags INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
if(KVPLAN_SANITIZE)
  add_compile_options(-fsanitize=${KVPLAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${KVPLAN_SANITIZE})
endif()
if(KVPLAN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KVPLAN_FUZZ needs clang: cmake --preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(KVPLAN_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()

# With these flags, a memory error in kvplan ends the program instead of doing worse. The sanitizers have their own
# checks; _FORTIFY_SOURCE needs an optimized build.
add_library(kvplan_hardened INTERFACE)
if(NOT KVPLAN_SANITIZE)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
  check_cxx_compiler_flag(-fcf-protection KVPLAN_HAS_CF_PROTECTION)
  target_compile_options(kvplan_hardened INTERFACE
    -fstack-protector-strong $<$<BOOL:${KVPLAN_HAS_CF_PROTECTION}>:-fcf-protection>
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  foreach(word relro now noexecstack)
    check_linker_flag(CXX -Wl,-z,${word} KVPLAN_LINKS_WITH_${word})
    target_link_options(kvplan_hardened INTERFACE $<$<BOOL:${KVPLAN_LINKS_WITH_${word}}>:-Wl,-z,${word}>)
  endforeach()
endif()

# A binary that needs no library except libc: it starts on any system, and starts faster with fewer libraries. Removes
# unused functions, and in a release the symbols.
add_library(kvplan_self_contained INTERFACE)
if(NOT KVPLAN_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_compile_options(-ffunction-sections -fdata-sections)
  target_link_options(kvplan_self_contained INTERFACE
    -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed $<$<CONFIG:Release,MinSizeRel>:-s>)
  # Packed relocations make the file and a plan's memory a tenth smaller and need glibc 2.36 (2022), so a toolchain for
  # an older glibc turns them off. Not every linker has these options.
  option(KVPLAN_PACKED_RELOCATIONS "Pack relocations, which glibc reads since 2.36" ON)
  if(KVPLAN_PACKED_RELOCATIONS)
    set(relocations pack-relative-relocs)
  else()
    set(relocations nopack-relative-relocs)
  endif()
  foreach(word noseparate-code ${relocations})
    string(MAKE_C_IDENTIFIER KVPLAN_LINKS_WITH_${word} known)
    check_linker_flag(CXX -Wl,-z,${word} ${known})
    target_link_options(kvplan_self_contained INTERFACE $<$<AND:$<BOOL:${${known}}>,$<CONFIG:Release,MinSizeRel>>:-Wl,-z,${word}>)
  endforeach()
elseif(NOT KVPLAN_SANITIZE AND (APPLE OR WIN32))
  add_compile_options(-ffunction-sections -fdata-sections)
  target_link_options(kvplan_self_contained INTERFACE
    $<IF:$<BOOL:${APPLE}>,-Wl$<COMMA>-dead_strip,-Wl$<COMMA>--gc-sections> $<$<CONFIG:Release,MinSizeRel>:-s>)
endif()
