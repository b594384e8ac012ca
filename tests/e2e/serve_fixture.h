// ServeFixture: a test with a running server, which is looked over after each test.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "tests/e2e/server.h"
#include "tests/support/capability.h"

namespace tests {

class ServeFixture : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(root);
    REQUIRE_CAPABILITY(userns);
    REQUIRE_CAPABILITY(overlayfs);
    REQUIRE_CAPABILITY(cgroup);
    REQUIRE_CAPABILITY(seccomp);
    REQUIRE_CAPABILITY(git);
    server_ = std::make_unique<Server>(config());
    server_->start();
  }

  void TearDown() override {
    if (server_) server_->expect_clean_end();
  }

  // Further lines of serve's configuration.
  virtual std::string config() const { return {}; }

  Server& server() { return *server_; }
  SampleRepository& sample() { return server_->sample(); }

  // Posts a change of the sample to be promoted.
  std::string post_change(const FileEdits& edits) {
    TaskBody body;
    body.patch = sample().patch(edits);
    return server_->post(body);
  }

 private:
  std::unique_ptr<Server> server_;
};

}  // namespace tests
