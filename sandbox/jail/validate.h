// Validate: refuses requests that are malformed or go beyond the jail's bounds, before anything is
// done. Each answers invalid with the field's name.
#pragma once

#include "sandbox/request.h"

namespace sandbox::jail {

os::Result<void> validate(const Bounds& bounds);
os::Result<void> validate(const WorkspaceRequest& request, const Bounds& bounds);
os::Result<void> validate(const RunRequest& request, const Bounds& bounds);
os::Result<void> validate(const PublishRequest& request);
os::Result<void> validate(const KeepLayerRequest& request);

}  // namespace sandbox::jail
