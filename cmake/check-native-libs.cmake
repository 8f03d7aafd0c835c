# cmake -DTOLD=FILE -P check-native-libs.cmake
# Is native-libs.cmake what rustc told when it built the static library?

include("${CMAKE_CURRENT_LIST_DIR}/native-libs.cmake")
file(READ "${TOLD}" told)
string(STRIP "${told}" told)
string(REPLACE " " ";" told "${told}")
list(REMOVE_ITEM told -lgcc_s)
if(NOT told STREQUAL TERN_NATIVE_LIBS)
  message(FATAL_ERROR "rustc says that libternlease.a needs\n  ${told}\nbut cmake/native-libs.cmake says\n  ${TERN_NATIVE_LIBS}")
endif()
