# The class defaults, a text file, become a source: a literal a line, for compilers bound how long one may be.
set(class_defaults ${CMAKE_CURRENT_SOURCE_DIR}/src/models/class_defaults.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${class_defaults})
file(READ ${class_defaults} CLASS_DEFAULTS_LINES)
string(REPLACE "\\" "\\\\" CLASS_DEFAULTS_LINES "${CLASS_DEFAULTS_LINES}")
string(REPLACE "\"" "\\\"" CLASS_DEFAULTS_LINES "${CLASS_DEFAULTS_LINES}")
string(REGEX REPLACE "([^\n]*)\n" "    \"\\1\",\n" CLASS_DEFAULTS_LINES "${CLASS_DEFAULTS_LINES}")
configure_file(cmake/class_defaults_text.cpp.in generated/class_defaults_text.cpp @ONLY)
