# RE2: tests and a fuzz target compare the program's own regular expressions with it. The program itself does not use
# it.
find_path(KVPLAN_RE2_INCLUDE re2/re2.h)
find_library(KVPLAN_RE2_LIBRARY re2)
if(KVPLAN_RE2_INCLUDE AND KVPLAN_RE2_LIBRARY)
  set(KVPLAN_HAS_RE2 ON)
else()
  set(KVPLAN_HAS_RE2 OFF)
  message(WARNING "RE2 was not found: expressions are NOT held against it (scripts/setup --dev installs it)")
endif()

function(kvplan_use_re2 target)
  target_include_directories(${target} SYSTEM PRIVATE ${KVPLAN_RE2_INCLUDE})
  target_link_libraries(${target} PRIVATE ${KVPLAN_RE2_LIBRARY})
  target_compile_definitions(${target} PRIVATE KVPLAN_HAS_RE2)
endfunction()
