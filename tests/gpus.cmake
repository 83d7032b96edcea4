# A management library without a driver, for the test of --gpu auto.
add_library(fake_nvml MODULE ${CMAKE_CURRENT_SOURCE_DIR}/fakes/fake_nvml.cpp)
add_dependencies(kvplan_tests fake_nvml)
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/measure/detect_test.cpp APPEND PROPERTY
  COMPILE_DEFINITIONS KVPLAN_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
