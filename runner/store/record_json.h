// JSON of the small values that a column holds whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/change.h"

namespace runner::store {

// {"schema":2, "text":…, "fixes":[…], "removes":[…], "faster":{…}}; format 1 has no "faster".
std::string claims_to_json(const tasks::Claims& claims);
os::Result<tasks::Claims> claims_from_json(std::string_view json);

// ["a","b"]
std::string strings_to_json(const std::vector<std::string>& strings);
os::Result<std::vector<std::string>> strings_from_json(std::string_view json);

// {"name":"value",…}: data of an event.
std::string object_json(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace runner::store
