# The targets of ternlease, the same from the checkout as from an installed package.
#
#   ternlease::shared     libternlease.so
#   ternlease::static     libternlease.a, and what it needs
#   ternlease::ternlease  one of the two: the static one if BUILD_SHARED_LIBS is off
#   ternlease::cpp        the C++ header on top of ternlease::ternlease

# tern_add_targets(VERSION SOVERSION INCLUDE_DIR LIB_DIR NATIVE_LIBS [GLOBAL])
function(tern_add_targets version soversion include_dir lib_dir native_libs)
  add_library(ternlease::shared SHARED IMPORTED ${ARGN})
  set_target_properties(ternlease::shared PROPERTIES
    IMPORTED_LOCATION "${lib_dir}/libternlease.so.${version}"
    IMPORTED_SONAME "libternlease.so.${soversion}"
    INTERFACE_INCLUDE_DIRECTORIES "${include_dir}")

  add_library(ternlease::static STATIC IMPORTED ${ARGN})
  set_target_properties(ternlease::static PROPERTIES
    IMPORTED_LOCATION "${lib_dir}/libternlease.a"
    INTERFACE_INCLUDE_DIRECTORIES "${include_dir}"
    INTERFACE_LINK_LIBRARIES "${native_libs}")

  set(kind shared)
  if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
    set(kind static)
  endif()
  add_library(ternlease::ternlease INTERFACE IMPORTED ${ARGN})
  set_target_properties(ternlease::ternlease PROPERTIES INTERFACE_LINK_LIBRARIES ternlease::${kind})

  add_library(ternlease::cpp INTERFACE IMPORTED ${ARGN})
  set_target_properties(ternlease::cpp PROPERTIES
    INTERFACE_LINK_LIBRARIES ternlease::ternlease
    INTERFACE_COMPILE_FEATURES cxx_std_17)
endfunction()
