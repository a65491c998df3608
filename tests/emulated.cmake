# The tests of a cross build, below qemu-user. It has no namespaces, filters or ptrace to give, runs
# vfork as fork, and starts only programs of the machine itself: trainit and the payload are started
# by scripts that call it.

# Each of these needs what qemu-user does not do.
set(not_emulated "")

list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
foreach(program trainit payload)
  set(place ${CMAKE_BINARY_DIR}/emulated/$<$<STREQUAL:${program},payload>:tests/>${program})
  file(GENERATE OUTPUT ${place}
       CONTENT "#!/bin/sh\nexec ${emulator} -0 ${program} $<TARGET_FILE:${program}> \"$@\"\n"
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                        WORLD_EXECUTE)
endforeach()

# It is ten times as slow: a part of the seeds, and no limit on the time of one test.
set_tests_properties(sim_test PROPERTIES ENVIRONMENT "TRAINIT_SIM_STEPS=20000" TIMEOUT 900)
set_tests_properties(init_test PROPERTIES ENVIRONMENT "GTEST_FILTER=-${not_emulated}" TIMEOUT 900)

add_test(NAME binary_is_static_and_small
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/docker/binary_test.sh $<TARGET_FILE:trainit>)
# An engine would run it in an image that has no emulator.
add_test(NAME main_job
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/demo/demo.sh ${CMAKE_BINARY_DIR}/emulated)
set_tests_properties(main_job PROPERTIES ENVIRONMENT DOCKER_HOST=unix:///nonexistent TIMEOUT 600)
