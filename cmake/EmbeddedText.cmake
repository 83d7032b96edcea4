# Text files become sources: a literal a line, for compilers bound how long one may be.
# embedded_text(PATH NAME): PATH declares in its header `std::span<const std::string_view> NAME();`.
function(embedded_text path name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${path})
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${path} EMBEDDED_LINES)
  string(REPLACE "\\" "\\\\" EMBEDDED_LINES "${EMBEDDED_LINES}")
  string(REPLACE "\"" "\\\"" EMBEDDED_LINES "${EMBEDDED_LINES}")
  string(REGEX REPLACE "([^\n]*)\n" "    \"\\1\",\n" EMBEDDED_LINES "${EMBEDDED_LINES}")
  set(EMBEDDED_PATH ${path})
  set(EMBEDDED_NAME ${name})
  configure_file(cmake/embedded_text.cpp.in generated/${name}.cpp @ONLY)
  set(embedded_sources ${embedded_sources} ${CMAKE_CURRENT_BINARY_DIR}/generated/${name}.cpp PARENT_SCOPE)
endfunction()

embedded_text(src/models/class_defaults.txt class_default_lines)
embedded_text(src/engines/llama_cpp/classes.txt llama_cpp_class_lines)
