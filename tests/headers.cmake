# The suites of the C++ header, and each header by itself with each compiler in each standard.

file(GLOB tern_sources CONFIGURE_DEPENDS cpp/*.cpp)
tern_add_programs(cpp ${tern_sources})
target_compile_options(cpp.no_exceptions PRIVATE -fno-exceptions -fno-rtti)
target_include_directories(cpp.cuda BEFORE PRIVATE cpp/fake_cuda)

# One more unit of cpp.headers for each C++ header.
file(GLOB tern_headers RELATIVE "${tern_include_dir}" CONFIGURE_DEPENDS "${tern_include_dir}/ternlease/*.hpp")
# (But those for CUDA, which need CUDA's: cpp/cuda.cpp has one of its own, scripts/test-cuda the real one.)
list(FILTER tern_headers EXCLUDE REGEX "/cuda_[a-z_]*\\.hpp$")
foreach(header IN LISTS tern_headers)
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/${header}.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "#include <${header}>\n#include <${header}>\n")
  target_sources(cpp.headers PRIVATE "${unit}")
endforeach()

# The headers alone, and twice, with each compiler in each standard.
file(CONFIGURE OUTPUT header.c CONTENT "#include <ternlease.h>\n#include <ternlease.h>\n")
file(CONFIGURE OUTPUT header.cpp CONTENT "#include <ternlease.hpp>\n#include <ternlease.h>\n#include <ternlease.hpp>\n")

# tern_add_header_checks(COMPILER LANGUAGE SOURCE STANDARD...)
function(tern_add_header_checks compiler language source)
  find_program(TERN_PATH_OF_${compiler} ${compiler})
  mark_as_advanced(TERN_PATH_OF_${compiler})
  set(path "${TERN_PATH_OF_${compiler}}")
  set(importance STATUS)
  if("$ENV{CI}" STREQUAL "true")
    set(importance FATAL_ERROR)
  endif()
  if(NOT path)
    message(${importance} "ternlease: ${compiler} is missing, with which the headers are to be checked")
    return()
  endif()
  foreach(standard IN LISTS ARGN)
    execute_process(COMMAND "${path}" -std=${standard} -fsyntax-only -x ${language} /dev/null
      RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
    if(refused)
      message(${importance} "ternlease: ${compiler} does not know ${standard}, in which the headers are to be checked")
      continue()
    endif()
    add_test(NAME header.${compiler}.${standard} COMMAND "${path}" -std=${standard} ${tern_warnings}
      "-I${tern_include_dir}"
      -S "${CMAKE_CURRENT_BINARY_DIR}/${source}" -o "${CMAKE_CURRENT_BINARY_DIR}/header.${compiler}.${standard}.s")
  endforeach()
endfunction()

tern_add_header_checks(gcc c header.c c99 c11 c17 c2x)
tern_add_header_checks(clang c header.c c99 c11 c17 c2x)
tern_add_header_checks(g++ c++ header.cpp c++17 c++20)
tern_add_header_checks(clang++ c++ header.cpp c++17 c++20)
