# Programs of the release tree other than trainit. sim_test is the part simulation, in this tree because
# it needs optimized code. The other programs measure; ctest does not run them.
# The table of `make behaviour`: answers of trainit and other inits to checks of a PID 1.
add_executable(behaviour EXCLUDE_FROM_ALL behaviour/table.cc)
target_link_libraries(behaviour PRIVATE behaviour_rows)
add_dependencies(behaviour trainit payload)

# Measures the cost of node 0's link worker with ten thousand nodes.
add_executable(link_load EXCLUDE_FROM_ALL load/link_load.cc)
target_link_libraries(link_load PRIVATE init_engine)

# The bench, and the programs whose start it compares.
file(GLOB_RECURSE bench_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*.cc)
list(FILTER bench_sources EXCLUDE REGEX "/started/")
trainit_batches(bench_sources bench ${TRAINIT_BATCH} ${bench_sources})
add_executable(bench EXCLUDE_FROM_ALL ${bench_sources})
target_link_libraries(bench PRIVATE envgen)
target_link_options(bench PRIVATE -static)
target_compile_definitions(bench PRIVATE TRAINIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
foreach(program nop nap floor floor_raw)
  add_executable(bench_${program} EXCLUDE_FROM_ALL bench/started/${program}.cc)
  add_dependencies(bench bench_${program})
  target_link_options(bench_${program} PRIVATE -static -s)
endforeach()
foreach(program nop nap floor_raw)
  target_compile_options(bench_${program} PRIVATE -ffreestanding -fno-stack-protector -fno-exceptions
                         -fno-asynchronous-unwind-tables)
  target_link_options(bench_${program} PRIVATE -nostdlib -Wl,-z,norelro,-z,noseparate-code
                      -Wl,--build-id=none)
endforeach()
