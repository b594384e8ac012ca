#include "runner/config.h"

#include <gtest/gtest.h>

namespace runner {
namespace {

TEST(Config, AnEmptyFileIsTheDefaults) {
  const auto config = read_config("", "c.yaml");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(*config, Config{});
}

TEST(Config, ReadsEveryField) {
  const auto config = read_config(R"(
listen: 0.0.0.0:9000
data: /srv/proofhouse
user: proofhouse
instance: 0123abcd
executor: /run/executor.sock
ids: {first: 1000000, slots: 16}
machine: {cpus: 3, memory: 2GiB}
caps: {queue: 5, ingests: 2, patch: 1MiB, pack: 2MiB}
retention: {attempts: 1h, evidence: 2h, events: 3h, approvals: 4h, packs: 5m, bases: 6h,
  trees: 7h}
disk: {high_water: 75%}
sandbox: {allow_gaps: [idmap], read_only_paths: [/opt/tools]}
git: {schemes: [https, git]}
environments: [host]
gpus:
  allow: [GPU-1, MIG-2]
  nvml: /opt/libnvidia-ml.so
  cdi: [/srv/cdi.yaml]
  devices: /srv/dev
  book: /srv/book
  scrub: /opt/scrub
  burn_in: /opt/burn
)",
                                  "c.yaml");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->listen, "0.0.0.0:9000");
  EXPECT_EQ(config->data, "/srv/proofhouse");
  EXPECT_EQ(instance_of(*config), "0123abcd");
  EXPECT_EQ(config->executor_socket, "/run/executor.sock");
  EXPECT_EQ(config->first_id, 1'000'000U);
  EXPECT_EQ(config->max_memory, os::Bytes{2ULL << 30U});
  EXPECT_EQ(config->caps, (Caps{5, 2, os::Bytes{1U << 20U}, os::Bytes{2U << 20U}}));
  EXPECT_EQ(config->retention.packs, std::chrono::minutes(5));
  EXPECT_EQ(config->retention.trees, std::chrono::hours(7));
  EXPECT_EQ(config->disk_high_water_millionths, 750'000);
  EXPECT_EQ(config->allow_gaps, std::vector<std::string>{"idmap"});
  EXPECT_EQ(config->read_only_paths, std::vector<std::string>{"/opt/tools"});
  EXPECT_EQ(config->git_schemes, (std::vector<std::string>{"https", "git"}));
  EXPECT_EQ(config->gpus.inventory,
            (sandbox::gpu::InventoryOptions{
                "/opt/libnvidia-ml.so", {"/srv/cdi.yaml"}, "/srv/dev", {"GPU-1", "MIG-2"}}));
  EXPECT_EQ(config->gpus.book, "/srv/book");
  EXPECT_EQ(config->gpus.scrub, "/opt/scrub");
  EXPECT_EQ(config->gpus.burn_in, "/opt/burn");
}

// What is refused, and where.
class RefusedConfig : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RefusedConfig, NamesThePlace) {
  const auto& [yaml, place] = GetParam();
  const auto config = read_config(yaml, "c.yaml");
  ASSERT_FALSE(config.has_value()) << yaml;
  EXPECT_EQ(config.error().code, os::Code::invalid);
  EXPECT_TRUE(config.error().message.starts_with(place)) << config.error().message;
}

INSTANTIATE_TEST_SUITE_P(Cases, RefusedConfig,
                         testing::Values(std::pair{"listenn: x", "c.yaml:1:1: "},
                                         std::pair{"data: relative", "c.yaml:1:7: "},
                                         std::pair{"data: /a\ndata: /b", "c.yaml:2:"},
                                         std::pair{"instance: xyz", "c.yaml:1:11: "},
                                         std::pair{"gpus:\n  scrub: relative", "c.yaml:2:10: "},
                                         std::pair{"gpus:\n  shared: yes", "c.yaml:2:3: "},
                                         std::pair{"caps:\n  queue: 0", "c.yaml:2:10: "},
                                         std::pair{"caps: {pack: 1MB}", "c.yaml:1:14: "},
                                         std::pair{"retention: {packs: 5}", "c.yaml:1:20: "},
                                         std::pair{"disk: {high_water: 5%}", "c.yaml:1:20: "},
                                         std::pair{"environments: [cuda]", "c.yaml:1:16: "},
                                         std::pair{"git: {schemes: [ftp]}", "c.yaml:1:17: "},
                                         std::pair{"cgroup: /x", "c.yaml:1:1: "},
                                         std::pair{"sandbox: {read_only_paths: [opt]}",
                                                   "c.yaml:1:29: "},
                                         std::pair{"ids: {slots: 2}", "c.yaml:1:14: "}));

TEST(Config, SaysWhatIsNotSupportedYet) {
  const auto config = read_config("cgroup: /x", "c.yaml");
  ASSERT_FALSE(config.has_value());
  EXPECT_TRUE(config.error().message.contains("not supported yet")) << config.error().message;
}

TEST(Config, TheInstanceIsThatOfTheDataDirectory) {
  Config one;
  one.data = "/a";
  Config two;
  two.data = "/b";
  EXPECT_EQ(instance_of(one).size(), 8U);
  EXPECT_NE(instance_of(one), instance_of(two));
}

}  // namespace
}  // namespace runner
