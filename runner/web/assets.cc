#include "runner/web/assets.h"

#include <algorithm>

#include "sandbox/os/result.h"

namespace runner::web {

std::string asset_path(std::string_view name) {
  const std::span<const Asset> assets = all_assets();
  const auto found = std::ranges::find(assets, name, &Asset::name);
  os::check(found != assets.end(), "an asset of ours");
  return "/assets/" + std::string(found->hashed);
}

const Asset* find_asset(std::string_view hashed) {
  const std::span<const Asset> assets = all_assets();
  const auto found = std::ranges::find(assets, hashed, &Asset::hashed);
  return found == assets.end() ? nullptr : &*found;
}

}  // namespace runner::web
