#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/git.h"
#include "tasks/ids.h"

// Repositories made object by object, so that a test can hold what no git would write.
namespace tests {

// A file of a tree; a mode is text as in the raw object.
struct GitFile {
  std::string content;
  std::string mode = "100644";
};
using GitFiles = std::map<std::string, GitFile>;

// A raw entry of a tree object.
struct GitEntry {
  std::string mode, name, id;
};

// A bare repository on disk. Fails the test (and ends the program) when something cannot be made.
class GitRepository {
 public:
  // Makes it; the parent exists.
  explicit GitRepository(const std::string& path);
  const std::string& path() const { return path_; }

  std::string blob(std::string_view content) const;
  // The tree object of exactly these entries, in their order, unchecked.
  std::string raw_tree(const std::vector<GitEntry>& entries) const;
  // The tree of these paths, as git would write it.
  tasks::TreeId tree(const GitFiles& files) const;
  tasks::CommitId commit(const tasks::TreeId& tree, const std::vector<tasks::CommitId>& parents,
                         std::string_view message = "A change\n") const;
  tasks::CommitId commit(const GitFiles& files, const std::vector<tasks::CommitId>& parents = {},
                         std::string_view message = "A change\n") const;
  void set(const std::string& ref, const tasks::CommitId& commit) const;
  // 40 digits; empty: there is no such reference.
  std::string get(const std::string& ref) const;
  // Takes an object away.
  void remove_object(const std::string& id) const;

 private:
  std::string write(std::string_view bytes, int type) const;
  std::string path_;
};

// The library's session of this test program, for posted packs.
void start_git();

tasks::TreeId tree_id(std::string_view hex);

}  // namespace tests
