#include "sandbox/jail/ready.h"

#include <fmt/format.h>

#include "sandbox/jail/jail.h"

namespace sandbox::jail {

os::Result<std::unique_ptr<Stacks>> SpareStacks::take() {
  if (spare_.empty())
    return std::make_unique<Stacks>(Stacks{TRY(Stack::make()), TRY(Stack::make())});
  std::unique_ptr<Stacks> stacks = std::move(spare_.back());
  spare_.pop_back();
  return stacks;
}

os::Result<Place> Jail::place_of(Domain domain, const Ready& ready) {
  Place place;
  place.root = TRY(stage_.root(domain, spaces_));
  for (const os::Fd& descriptor : ready.join) place.join.push_back(descriptor.get());
  place.network = ready.network.is_open() ? ready.network.get() : -1;
  place.user_namespace = TRY(spaces_.sandbox(domain));
  place.root_id = spaces_.outside(domain, 0);
  place.user_id = spaces_.outside(domain, kInnerUid);
  return place;
}

// Without a network namespace and processes.
os::Result<Ready> Jail::make_ready() {
  Cgroup group = TRY(Cgroup::create(cgroups_, fmt::format("{}/{}", bounds_.cgroup, groups_++)));
  std::vector<os::Fd> join = TRY(group.join_descriptors());
  return Ready{std::move(group), std::move(join), {}, nullptr};
}

os::Result<Ready> Jail::take_ready(Domain domain) {
  const auto found = ready_.find(domain);
  if (found == ready_.end()) return make_ready();
  Ready ready = std::move(found->second);
  ready_.erase(found);
  return ready;
}

os::Result<void> Jail::get_ready(Domain domain) {
  if (bounds_.ahead == Ahead::nothing || ready_.contains(domain)) return {};
  Ready ready = TRY(make_ready());
  std::unique_ptr<Stacks> stacks = TRY(spare_stacks_.take());
  if (bounds_.ahead == Ahead::namespaces) {
    ready.network = TRY(make_network_namespace(*stacks));
    spare_stacks_.give(std::move(stacks));
  } else {
    ready.launch = TRY(Launch::ahead(TRY(place_of(domain, ready)), std::move(stacks)));
  }
  ready_.emplace(domain, std::move(ready));
  return {};
}

}  // namespace sandbox::jail
