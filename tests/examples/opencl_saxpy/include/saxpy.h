// y = a·x + y on the first OpenCL device.
#pragma once

#include <string>
#include <vector>

// x and y have one length; y is replaced. The reason why it could not be done; empty: it was, and
// then y differs from the exact result by at most one rounding of the product and one of the sum.
std::string saxpy(float a, const std::vector<float>& x, std::vector<float>& y);
