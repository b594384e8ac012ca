// Assets: style, script and icon, embedded in the program. Their names carry their digest, so that
// browsers may keep them for ever.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace runner::web {

struct Asset {
  std::string_view name;    // "style.css"
  std::string_view hashed;  // "style.0123456789ab.css"
  std::string_view type;    // of its content
  std::string_view bytes;
};

// All of them (made by embed.cmake).
std::span<const Asset> all_assets();

// "/assets/style.0123456789ab.css"; `name` is one of ours.
std::string asset_path(std::string_view name);
// By its hashed name; nullptr: there is none.
const Asset* find_asset(std::string_view hashed);

}  // namespace runner::web
