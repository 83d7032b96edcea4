# The files that `cmake --install` installs: `runtime` is the program with its man page and completions, `dev` the
# library for find_package(kvplan). Each becomes a Debian package (Package.cmake).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS kvplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
# The program prints its man page and completions, if it can run on this machine. Windows has no folder for them.
if(NOT WIN32 AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  set(shell_dir ${CMAKE_CURRENT_BINARY_DIR}/shell)
  file(MAKE_DIRECTORY ${shell_dir})
  find_program(KVPLAN_GZIP gzip)
  set(man_page ${shell_dir}/kvplan.1)
  if(KVPLAN_GZIP)
    string(APPEND man_page .gz)
    set(compress COMMAND ${KVPLAN_GZIP} -9nf ${shell_dir}/kvplan.1)
  endif()
  add_custom_command(TARGET kvplan POST_BUILD VERBATIM
    COMMAND kvplan man -o ${shell_dir}/kvplan.1
    ${compress}
    COMMAND kvplan completions bash -o ${shell_dir}/kvplan
    COMMAND kvplan completions zsh -o ${shell_dir}/_kvplan
    COMMAND kvplan completions fish -o ${shell_dir}/kvplan.fish)
  install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
  install(FILES ${shell_dir}/kvplan DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
  install(FILES ${shell_dir}/_kvplan DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT runtime)
  install(FILES ${shell_dir}/kvplan.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
endif()

# The Python wheel (pyproject.toml): the program is its script.
if(SKBUILD)
  install(TARGETS kvplan RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
endif()

# The library: only the headers of include/, which need no other package.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kvplan)
set_target_properties(kvplan_core PROPERTIES OUTPUT_NAME kvplan EXPORT_NAME kvplan)
target_compile_features(kvplan_core PUBLIC cxx_std_20)
install(TARGETS kvplan_core EXPORT kvplan_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY include/kvplan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN *.h)
install(EXPORT kvplan_targets FILE kvplanTargets.cmake NAMESPACE kvplan:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/kvplanConfig.cmake.in kvplanConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(kvplanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kvplanConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/kvplanConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)
