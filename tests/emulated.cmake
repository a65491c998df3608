# The tests of a cross build, below qemu-user. It has no namespaces, filters or ptrace to give, runs
# vfork as fork, and starts only programs of the machine itself: trainit and the payload are started
# by scripts that call it.

# Of init/'s unit tests, those of what differs between machines: system calls and their structures,
# and what is compiled for one. The job below goes through the rest.
set(machine_dependent early_signs facts fd files host_address poller reap sandbox_capabilities
                      sandbox_seccomp signal_rules signals spawn state supervisor tee timers tree)
list(JOIN machine_dependent "|" names)
file(GLOB_RECURSE init_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/init/*_test.cc)
list(FILTER init_sources INCLUDE REGEX "/(${names})_test\\.cc$")
trainit_batches(init_sources init_emulated_test ${TRAINIT_BATCH} ${init_sources})
set_property(TARGET init_test PROPERTY SOURCES ${init_sources} signals_at_start.cc source_path.cc)
# Of these, what qemu-user does not do: filters and asking which of their actions there are; the last
# real-time signals and the bits of the others; faults that somebody sends; adopting orphans; clone()
# and vfork() as they are; the process's own stat, and signals 32 and 33, which a CI runner may ignore.
string(JOIN ":" not_emulated
       CloseDescriptors.GoesByProc* CloseDescriptors.CountsWhere* EnsureStandardFds.AnswersAsAClosedOne*
       ReplaceOfTheMachine.DoesWithoutAKernel* ReplaceOfTheMachine.StaysWhere* Kernel.* OciProfile.ArchitecturesStandInAList Profile.EveryActionHasItsAnswer
       Profile.NewerCallsThan* Profile.OfContradictoryRules* Profile.TwoAnswersToTheSame*
       Profile.NoProgramCouldStart* Clone3.StaysAsTheProfileSaysOtherwise
       Reap.TellsCodesAndSignalsApart TakeOverSignals.BlocksAll* TakeOverSignals.SavesMask*
       TakeOverSignals.GivesBackWhatWasIgnored* ResetSignals.LeavesNothingBlocked*
       Spawn.ExitCodesAndSignals* Spawn.TheTaskHasTheCallersSignals* */ReadSignals.GivesEachOfABurst/*
       */ReadSignals.LeavesAWorkerNoHandler* */ReadSignals.WaitsForASignal/* */ReadSignals.FaultsThatOthersSend*
       Reap.DoesWithoutWaitid Reap.SaysThatItCannotWaitAtAll BecomeSubreaper.* Reap.TakesChildrenThatEndWithoutASignalToo Spawn.SharingMemoryReports*
       Member.IsReadFromTheKernelsOwn)

list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
foreach(program trainit payload)
  set(place ${CMAKE_BINARY_DIR}/emulated/$<$<STREQUAL:${program},payload>:tests/>${program})
  file(GENERATE OUTPUT ${place}
       CONTENT "#!/bin/sh\nexec ${emulator} -0 ${program} $<TARGET_FILE:${program}> \"$@\"\n"
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                        WORLD_EXECUTE)
endforeach()

set_target_properties(init_test PROPERTIES EXCLUDE_FROM_ALL OFF)
add_test(NAME init_test COMMAND init_test)
set_tests_properties(init_test PROPERTIES ENVIRONMENT "GTEST_FILTER=-${not_emulated}")

add_test(NAME binary_is_static_small_and_hardened
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/docker/binary_test.sh $<TARGET_FILE:trainit> ${CMAKE_OBJDUMP})
# An engine would run it in an image that has no emulator.
add_test(NAME main_job
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/demo/demo.sh ${CMAKE_BINARY_DIR}/emulated)
set_tests_properties(main_job PROPERTIES ENVIRONMENT DOCKER_HOST=unix:///nonexistent TIMEOUT 600)
