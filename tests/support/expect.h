// Expectations that more than one test file uses.
#pragma once

#include <string>

#include <gtest/gtest.h>

// That a text has a part; a failure shows the whole text.
#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "got: " << (text)
