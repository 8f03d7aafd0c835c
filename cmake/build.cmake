# Makes the library, with cargo or from TERN_PREBUILT_DIR, and puts it into lib/ of the build directory under the names that it has when
# it is installed. There is one library for all configurations, with optimisation and line numbers.

# As bindings/c/build.rs has it: before 1.0 each minor version may break what was there before.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(TERN_SOVERSION "0.${PROJECT_VERSION_MINOR}")
else()
  set(TERN_SOVERSION "${PROJECT_VERSION_MAJOR}")
endif()

if(TERN_PREBUILT_DIR)
  get_filename_component(tern_made_in "${TERN_PREBUILT_DIR}" ABSOLUTE)
  foreach(name libternlease.so libternlease.a)
    if(NOT EXISTS "${tern_made_in}/${name}")
      message(FATAL_ERROR "ternlease: TERN_PREBUILT_DIR is ${TERN_PREBUILT_DIR}, but has no ${name}")
    endif()
  endforeach()
else()
  include("${CMAKE_CURRENT_LIST_DIR}/cargo.cmake")
endif()

set(TERN_LIB_DIR "${CMAKE_CURRENT_BINARY_DIR}/lib")
set(tern_so "libternlease.so.${PROJECT_VERSION}")
set(tern_links "libternlease.so.${TERN_SOVERSION}" libternlease.so)
set(tern_so_path "${TERN_LIB_DIR}/${tern_so}")
list(TRANSFORM tern_links PREPEND "${TERN_LIB_DIR}/" OUTPUT_VARIABLE tern_link_paths)
list(GET tern_links 0 tern_soname)

add_custom_command(
  OUTPUT "${tern_so_path}" "${TERN_LIB_DIR}/libternlease.a"
  BYPRODUCTS ${tern_link_paths}
  COMMAND "${CMAKE_COMMAND}" -E copy "${tern_made_in}/libternlease.so" "${tern_so_path}"
  COMMAND "${CMAKE_COMMAND}" -E copy "${tern_made_in}/libternlease.a" "${TERN_LIB_DIR}/libternlease.a"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "${tern_so}" "${TERN_LIB_DIR}/${tern_soname}"
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "${tern_soname}" "${TERN_LIB_DIR}/libternlease.so"
  DEPENDS "${tern_made_in}/libternlease.so" "${tern_made_in}/libternlease.a"
  COMMENT "Naming the ternlease library"
  VERBATIM)
add_custom_target(ternlease_library ALL DEPENDS "${tern_so_path}" "${TERN_LIB_DIR}/libternlease.a")

tern_add_targets("${PROJECT_VERSION}" "${TERN_SOVERSION}"
  "${CMAKE_CURRENT_SOURCE_DIR}/include" "${TERN_LIB_DIR}" "${TERN_NATIVE_LIBS}" GLOBAL)
add_dependencies(ternlease::shared ternlease_library)
add_dependencies(ternlease::static ternlease_library)
