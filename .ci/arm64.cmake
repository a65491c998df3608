# Builds for arm64 on another machine, with Debian's cross compiler (.ci/deps cross) and libraries
# (.ci/sysroot). What is built runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

cmake_path(SET sources NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/sources)
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/sysroot ${sources} arm64
                OUTPUT_VARIABLE sysroot OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
# Headers without code, such as those of nlohmann, are the machine's own.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${sysroot}/usr/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${sysroot}/usr/lib/aarch64-linux-gnu")
set(GTest_DIR ${sysroot}/usr/lib/aarch64-linux-gnu/cmake/GTest)
