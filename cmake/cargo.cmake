# Builds libternlease.so and libternlease.a with cargo. Sets tern_made_in to where they are, and TERN_NATIVE_LIBS_TOLD to a file
# in which rustc tells what the static one needs.

if(CMAKE_CROSSCOMPILING)
  message(FATAL_ERROR "ternlease: to compile for another machine, build the library with
  cargo build --locked --release -p ternlease-c --lib --features cluster --target TRIPLE
and set TERN_PREBUILT_DIR to target/TRIPLE/release")
endif()

find_program(TERN_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "Builds the Rust part of ternlease")
mark_as_advanced(TERN_CARGO)
set(tern_cargo_says "")
if(TERN_CARGO)
  execute_process(COMMAND "${TERN_CARGO}" -vV WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    OUTPUT_VARIABLE tern_cargo_says ERROR_VARIABLE tern_cargo_says)
endif()
if(NOT tern_cargo_says MATCHES "\nhost: ([^\n]+)")
  message(FATAL_ERROR "ternlease: no cargo that works was found, and the library is written in Rust.
${tern_cargo_says}Do one of these:
  install Rust, in the version that Cargo.toml names or later;
  if you have it, set TERN_CARGO to the path of cargo;
  if you have libternlease.so and libternlease.a, set TERN_PREBUILT_DIR to their directory.")
endif()
set(tern_host "${CMAKE_MATCH_1}")

set(tern_cargo_dir "${CMAKE_CURRENT_BINARY_DIR}/cargo")
set(tern_made_in "${tern_cargo_dir}/${tern_host}/release")
set(TERN_NATIVE_LIBS_TOLD "${tern_cargo_dir}/native-static-libs.txt")
set(tern_features ${TERN_FEATURES})
if(TERN_CLUSTER)
  list(APPEND tern_features cluster)
endif()
list(JOIN tern_features "," tern_features)

# Directory and target are given, so that no setting of the user's makes cargo put the files elsewhere.
# Cargo leaves alone what it finds up to date: touched, so that make and ninja do so too.
add_custom_command(
  OUTPUT "${tern_made_in}/libternlease.a" "${tern_made_in}/libternlease.so"
  BYPRODUCTS "${TERN_NATIVE_LIBS_TOLD}"
  COMMAND "${TERN_CARGO}" rustc --locked --release -p ternlease-c --lib "--features=${tern_features}"
    --target-dir "${tern_cargo_dir}" --target "${tern_host}"
    -- "--print=native-static-libs=${TERN_NATIVE_LIBS_TOLD}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${tern_made_in}/libternlease.a" "${tern_made_in}/libternlease.so"
  DEPENDS Cargo.toml Cargo.lock bindings/c/Cargo.toml
  DEPFILE "${tern_made_in}/libternlease.d"
  WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
  COMMENT "Building the ternlease library with cargo"
  USES_TERMINAL VERBATIM)
