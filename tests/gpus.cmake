# A simulated NVML, for the test of --gpu auto.
add_library(fake_nvml MODULE ${CMAKE_CURRENT_SOURCE_DIR}/fakes/fake_nvml.cpp)
add_dependencies(kvplan_tests fake_nvml)
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/measure/detect_test.cpp APPEND PROPERTY
  COMPILE_DEFINITIONS KVPLAN_FAKE_NVML="$<TARGET_FILE:fake_nvml>")

# A simulated driver: it stands in for CUDA, HIP and NVML in the tests of --measure.
add_library(fake_gpu MODULE ${CMAKE_CURRENT_SOURCE_DIR}/fakes/fake_gpu.cpp)
add_dependencies(kvplan_tests fake_gpu)
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/measure/gpu_test.cpp APPEND PROPERTY
  COMPILE_DEFINITIONS KVPLAN_FAKE_GPU="$<TARGET_FILE:fake_gpu>")
set_property(TEST interrupt_test APPEND PROPERTY ENVIRONMENT KVPLAN_FAKE_GPU=$<TARGET_FILE:fake_gpu>)

# Tests on a real GPU. Without one they are skipped and say so.
add_test(NAME real_gpu COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/measure/real_gpu.sh $<TARGET_FILE:kvplan> ${PROJECT_SOURCE_DIR})
set_tests_properties(real_gpu PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 RUN_SERIAL ON)

# No test reads a calibration in the user's folder.
get_property(all_tests DIRECTORY PROPERTY TESTS)
set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT XDG_CONFIG_HOME=/nonexistent)

# A simulated engine that allocates what its log says, for tests of watched starts.
add_executable(fake_engine ${CMAKE_CURRENT_SOURCE_DIR}/fakes/fake_engine.cpp)
add_dependencies(kvplan_tests fake_engine)
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/measure/watch_test.cpp APPEND PROPERTY
  COMPILE_DEFINITIONS KVPLAN_FAKE_ENGINE="$<TARGET_FILE:fake_engine>" KVPLAN_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
