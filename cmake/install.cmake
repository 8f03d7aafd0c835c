# Installs headers, both libraries, licences, the list of what is linked, the package for find_package and two files for pkg-config. All of it may be moved afterwards.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(tern_package_dir "${CMAKE_CURRENT_BINARY_DIR}/package")
set(tern_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ternlease")

install(DIRECTORY include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES LICENSE-APACHE LICENSE-MIT sbom/THIRD-PARTY.txt DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# What is linked is known of what was built here, with the usual features.
if(NOT TERN_PREBUILT_DIR AND NOT TERN_FEATURES)
  set(tern_sbom libternlease-without-cluster.cdx.json)
  if(TERN_CLUSTER)
    set(tern_sbom libternlease.cdx.json)
  endif()
  install(FILES "sbom/${tern_sbom}" DESTINATION "${CMAKE_INSTALL_DATADIR}/ternlease" RENAME sbom.cdx.json)
endif()
install(PROGRAMS "${tern_so_path}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES ${tern_link_paths} "${TERN_LIB_DIR}/libternlease.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}")

# CMake strips only what it has linked itself.
set(tern_installed_in "\${CMAKE_INSTALL_PREFIX}")
cmake_path(APPEND tern_installed_in "${CMAKE_INSTALL_LIBDIR}")
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" \"\$ENV{DESTDIR}${tern_installed_in}/${tern_so}\" COMMAND_ERROR_IS_FATAL ANY)
endif()")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/ternlease-config.cmake.in" "${tern_package_dir}/ternlease-config.cmake"
  INSTALL_DESTINATION "${tern_cmake_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
set(tern_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(tern_compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${tern_package_dir}/ternlease-config-version.cmake" COMPATIBILITY ${tern_compatibility})
install(FILES
  "${tern_package_dir}/ternlease-config.cmake"
  "${tern_package_dir}/ternlease-config-version.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/ternlease-targets.cmake"
  DESTINATION "${tern_cmake_dir}")

# The way from a .pc file up to the prefix. With an absolute library directory there is none.
set(tern_pc_prefix "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH tern_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" tern_up "${tern_up}")
  set(tern_pc_prefix "\${pcfiledir}/${tern_up}")
endif()
set(tern_pc_includedir "\${prefix}")
cmake_path(APPEND tern_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
set(tern_pc_libdir "\${prefix}")
cmake_path(APPEND tern_pc_libdir "${CMAKE_INSTALL_LIBDIR}")
string(REPLACE ";" " " tern_pc_native_libs "${TERN_NATIVE_LIBS}")
foreach(name ternlease ternlease-static)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${tern_package_dir}/${name}.pc" @ONLY)
  install(FILES "${tern_package_dir}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
