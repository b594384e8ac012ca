# Writes OUT, a C++ file with the files of DIRECTORY named in NAMES ("a.css;b.js") as arrays.
# cmake -DOUT=… -DDIRECTORY=… -DNAMES=… -P embed.cmake
set(arrays "")
set(rows "")
set(count 0)
foreach(name IN LISTS NAMES)
  file(READ "${DIRECTORY}/${name}" hex HEX)
  file(SHA256 "${DIRECTORY}/${name}" digest)
  string(SUBSTRING "${digest}" 0 12 digest)
  get_filename_component(stem "${name}" NAME_WE)
  get_filename_component(extension "${name}" LAST_EXT)
  if(extension STREQUAL ".css")
    set(type "text/css; charset=utf-8")
  elseif(extension STREQUAL ".js")
    set(type "text/javascript; charset=utf-8")
  elseif(extension STREQUAL ".svg")
    set(type "image/svg+xml")
  else()
    message(FATAL_ERROR "no content type is known for ${name}")
  endif()
  # Pieces, so that no literal is longer than compilers have to take.
  set(bytes "")
  string(REGEX MATCHALL "................................................................|..+"
    pieces "${hex}")
  foreach(piece IN LISTS pieces)
    string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
    string(APPEND bytes "\n    \"${piece}\"")
  endforeach()
  string(LENGTH "${hex}" length)
  math(EXPR length "${length} / 2")
  string(APPEND arrays "constexpr char kBytes${count}[] =${bytes};\n")
  string(APPEND rows "    {\"${name}\", \"${stem}.${digest}${extension}\", \"${type}\",\n"
    "     {kBytes${count}, ${length}}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUT}" "// Made by runner/web/embed.cmake.
#include \"runner/web/assets.h\"

namespace runner::web {
namespace {

${arrays}
constexpr Asset kAssets[] = {
${rows}};

}  // namespace

std::span<const Asset> all_assets() { return kAssets; }

}  // namespace runner::web
")
