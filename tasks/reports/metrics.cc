#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// Reads objects within objects; their keys are joined by dots.
class MetricsReader {
 public:
  os::Result<std::vector<Metric>> read(std::string_view bytes) {
    JsonScanner scanner(bytes);
    read_object(scanner, "");
    scanner.finish();
    if (scanner.failed()) return os::fail(os::Code::invalid, scanner.error());
    std::ranges::sort(metrics_, {}, &Metric::name);
    const auto same = std::ranges::adjacent_find(metrics_, {}, &Metric::name);
    if (same != metrics_.end())
      return os::fail(os::Code::invalid, fmt::format("'{}' stands twice", same->name));
    return std::move(metrics_);
  }

 private:
  void read_object(JsonScanner& scanner, const std::string& prefix) {
    std::string key;
    if (!scanner.enter('{')) return;
    while (scanner.next_key(key)) {
      const std::string name = prefix + clean_text(key, kMaxId + 16);
      if (key.empty() || name.size() > kMaxId) {
        scanner.fail("a metric's name is empty or over 1024 bytes");
        return;
      }
      read_value(scanner, name);
    }
  }

  void read_value(JsonScanner& scanner, const std::string& name) {
    switch (scanner.kind()) {
      case '{':
        read_object(scanner, name + ".");
        break;
      case 't':
      case 'f':
        add(scanner, {name, scanner.boolean() ? "1" : "0", ""});
        break;
      case '0':
      case 'n':
        // A score that is not there is no score.
        if (scanner.take_null())
          add(scanner, {name, "", "is null"});
        else
          read_number(scanner, name);
        break;
      default:
        // Words and lists are no figures.
        scanner.skip();
        break;
    }
  }

  void read_number(JsonScanner& scanner, const std::string& name) {
    const std::optional<double> value = scanner.number();
    if (value)
      add(scanner, {name, fmt::format("{}", *value), ""});
    else
      add(scanner, {name, "", "is no finite number"});
  }

  void add(JsonScanner& scanner, Metric metric) {
    if (scanner.failed()) return;
    if (metrics_.size() == kMaxMetrics) return scanner.fail("over 10,000 metrics");
    metrics_.push_back(std::move(metric));
  }

  std::vector<Metric> metrics_;
};

}  // namespace

os::Result<std::vector<Metric>> read_metrics(std::string_view bytes) {
  return MetricsReader().read(bytes);
}

}  // namespace tasks::reports
