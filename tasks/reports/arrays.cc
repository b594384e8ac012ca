#include <cmath>

#include <fmt/format.h>

#include "sandbox/os/digest.h"
#include "tasks/reports/array_file.h"
#include "tasks/reports/readers.h"

namespace tasks::reports {
namespace {

os::Result<ArraySummary> summarize(const ByteSource& source, const ArrayLayout& layout) {
  ArraySummary summary;
  summary.name = layout.name;
  summary.type = element_type_name(layout.type);
  summary.shape = layout.shape_text();
  summary.elements = static_cast<std::int64_t>(layout.elements);
  ElementStream stream(source, layout);
  os::Sha256Stream digest;
  std::string bytes;
  Element least{INFINITY, 0};
  Element most{-INFINITY, 0};
  for (;;) {
    const std::span<const Element> elements = TRY(stream.next());
    if (elements.empty()) break;
    for (const Element& element : elements) {
      if (std::isnan(element.real)) ++summary.nan;
      if (std::isinf(element.real)) ++summary.infinite;
      if (!std::isfinite(element.real)) continue;
      if (element.real < least.real) least = element;
      if (element.real > most.real) most = element;
    }
    bytes.clear();
    for (const Element& element : elements)
      bytes.append(reinterpret_cast<const char*>(&element.bits), element_size(layout.type));
    digest.update(bytes);
  }
  if (least.real <= most.real) {
    summary.least = element_text(layout.type, least);
    summary.most = element_text(layout.type, most);
  }
  summary.sha256 = digest.finish().hex();
  return summary;
}

os::Result<std::vector<ArraySummary>> read_arrays(ArrayFormat format, std::string_view bytes) {
  const MemorySource source(bytes);
  std::vector<ArraySummary> summaries;
  for (const ArrayLayout& layout : TRY(read_layout(format, source)))
    summaries.push_back(TRY(summarize(source, layout)));
  return summaries;
}

}  // namespace

os::Result<std::vector<ArraySummary>> read_npy(std::string_view bytes) {
  return read_arrays(ArrayFormat::npy, bytes);
}

os::Result<std::vector<ArraySummary>> read_safetensors(std::string_view bytes) {
  return read_arrays(ArrayFormat::safetensors, bytes);
}

}  // namespace tasks::reports
