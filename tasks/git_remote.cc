#include "tasks/git_remote.h"

#include <git2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tasks/git_handle.h"
#include "tasks/git_history.h"
#include "tasks/git_pack.h"

namespace tasks::git {
namespace {

constexpr std::string_view kFile = "file://";
constexpr std::size_t kMaxCredential = 16U << 10U;

// What the callbacks of one conversation share.
struct Conversation {
  std::string credential_file{};
  bool is_private = false;     // nobody on the way reads what is said
  int attempts = 0;            // at credentials
  std::string push_refusal{};  // the remote's word
  std::string ref{};           // that is pushed
  CommitId expected{};         // what it must be at
  bool is_elsewhere = false;
  bool is_too_large = false;
};

int give_credential(git_credential** out, const char* /*url*/, const char* user,
                    unsigned int allowed, void* payload) {
  auto* const talk = static_cast<Conversation*>(payload);
  // The library asks again after a refusal.
  if (++talk->attempts > 2) return GIT_EAUTH;
  if ((allowed & GIT_CREDENTIAL_USERNAME) != 0)
    return git_credential_username_new(out, user == nullptr ? "git" : user);
  if ((allowed & GIT_CREDENTIAL_SSH_KEY) != 0) {
    const char* const name = user == nullptr ? "git" : user;
    if (talk->credential_file.empty()) return git_credential_ssh_key_from_agent(out, name);
    return git_credential_ssh_key_new(out, name, nullptr, talk->credential_file.c_str(), nullptr);
  }
  if ((allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) == 0 || talk->credential_file.empty())
    return GIT_EAUTH;
  if (!talk->is_private) return GIT_EAUTH;
  os::Result<std::string> line = os::read_file(talk->credential_file, kMaxCredential);
  if (!line) return GIT_EAUTH;
  while (line->ends_with('\n')) line->pop_back();
  const std::size_t colon = line->find(':');
  if (colon == line->npos) return GIT_EAUTH;
  return git_credential_userpass_plaintext_new(out, line->substr(0, colon).c_str(),
                                               line->substr(colon + 1).c_str());
}

int watch_size(const git_indexer_progress* progress, void* payload) {
  auto* const talk = static_cast<Conversation*>(payload);
  talk->is_too_large = progress->received_bytes > kMaxFetch;
  return talk->is_too_large ? GIT_EUSER : 0;
}

int note_refusal(const char* /*ref*/, const char* status, void* payload) {
  if (status != nullptr) static_cast<Conversation*>(payload)->push_refusal = printable(status);
  return 0;
}

// Called with what the remote advertised in this very connection; it compares with the same.
int compare_advertised(const git_push_update** updates, std::size_t count, void* payload) {
  auto* const talk = static_cast<Conversation*>(payload);
  const git_oid expected = to_oid(talk->expected.hex());
  const bool is_expected = count == 1 && talk->ref == updates[0]->dst_refname &&
                           git_oid_equal(&updates[0]->src, &expected);
  talk->is_elsewhere = !is_expected;
  return is_expected ? 0 : GIT_EUSER;
}

git_remote_callbacks callbacks_of(Conversation& talk) {
  git_remote_callbacks callbacks{};
  git_remote_init_callbacks(&callbacks, GIT_REMOTE_CALLBACKS_VERSION);
  callbacks.credentials = give_credential;
  callbacks.transfer_progress = watch_size;
  callbacks.push_update_reference = note_refusal;
  callbacks.push_negotiation = compare_advertised;
  callbacks.payload = &talk;
  return callbacks;
}

std::unexpected<os::Error> fail_remote(int code, const Conversation& talk,
                                       const std::string& what) {
  os::Error error = fail_git(code, what).error();
  if (talk.is_too_large)
    error = {os::Code::exhausted, what + ": over " + std::to_string(kMaxFetch) + " bytes", 0};
  // Networks and hosts fail for a while; the library calls that a plain error.
  if (error.code == os::Code::internal) error.code = os::Code::unavailable;
  return std::unexpected(std::move(error));
}

bool is_https(const Remote& remote) { return remote.url.starts_with("https://"); }

std::string path_of(const std::string& url) {
  return url.starts_with(kFile) ? url.substr(kFile.size()) : url;
}

bool is_local(const std::string& url) { return url.starts_with('/') || url.starts_with(kFile); }

os::Result<RemoteHandle> make_remote(git_repository* repository, const Remote& remote) {
  return make<RemoteHandle>("remote " + printable(remote.url), [&](git_remote** out) {
    return repository == nullptr ? git_remote_create_detached(out, remote.url.c_str())
                                 : git_remote_create_anonymous(out, repository, remote.url.c_str());
  });
}

os::Result<void> fetch_refspec(git_repository* repository, const Remote& remote,
                               const std::string& refspec) {
  const RemoteHandle handle = TRY(make_remote(repository, remote));
  Conversation talk{.credential_file = remote.credential_file, .is_private = is_https(remote)};
  git_fetch_options options{};
  git_fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION);
  options.callbacks = callbacks_of(talk);
  options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
  options.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
  options.update_fetchhead = 0;
  std::string spec = refspec;
  char* specs[] = {spec.data()};
  const git_strarray list{specs, 1};
  const int code = git_remote_fetch(handle.get(), &list, &options, "proofhouse: fetch");
  if (code < 0) return fail_remote(code, talk, "fetch " + printable(remote.url));
  return {};
}

os::Result<void> push_to_path(const Repository& repository, const std::string& path,
                              const RefMove& move) {
  const Repository target = TRY(Repository::open(path));
  const Tip now = TRY(read_tip(target, move.ref));
  if (now.commit != move.from)
    return os::fail(os::Code::conflict,
                    move.ref + " is at " + now.commit.hex() + ", not at " + move.from.hex());
  const std::string folder = TRY(repository_paths(target)).git_dir + "/objects/pack";
  TRY(os::make_directories(folder));
  TRY(write_pack(repository, {move.to, {move.from}}, folder));
  // Opened again: it must see the new pack.
  return move_ref(TRY(Repository::open(path)), move);
}

os::Result<void> fill(const CloneSpec& spec, const std::string& path) {
  git_repository_init_options options{};
  git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
  options.flags =
      GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_NO_REINIT | GIT_REPOSITORY_INIT_MKDIR;
  options.mode = GIT_REPOSITORY_INIT_SHARED_UMASK;
  const std::string branch = spec.ref.substr(kHeads.size());
  options.initial_head = branch.c_str();
  const RepositoryHandle made =
      TRY(make<RepositoryHandle>("make " + path, [&](git_repository** out) {
        return git_repository_init_ext(out, path.c_str(), &options);
      }));
  const bool is_ours = spec.branches == CloneSpec::Branches::ours;
  TRY(fetch_refspec(
      made.get(), spec.remote,
      is_ours ? "+refs/heads/*:refs/heads/*" : "+refs/heads/*:refs/remotes/origin/*"));
  const Repository copy = TRY(Repository::open(path));
  TRY_CONTEXT(read_tip(copy, is_ours ? spec.ref : tracking_ref(spec.ref)),
              printable(spec.remote.url));
  return {};
}

bool is_host(std::string_view host) {
  return !host.empty() && !host.starts_with('-') && std::ranges::all_of(host, [](char c) {
    return std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]")
        .contains(c);
  });
}

// "user@host" or "host" of a URL's authority, without a password.
bool is_authority(std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  const std::string_view user = at == authority.npos ? "" : authority.substr(0, at);
  const std::string_view host = at == authority.npos ? authority : authority.substr(at + 1);
  return !user.contains(':') && !user.starts_with('-') && is_host(host);
}

}  // namespace

os::Result<void> check_url(const std::string& url, FileUrls file_urls,
                           const std::vector<std::string>& schemes) {
  const auto is_allowed = [&](std::string_view scheme) {
    return std::ranges::find(schemes, scheme) != schemes.end();
  };
  const bool is_clean =
      url.size() < 2'000 &&
      std::ranges::none_of(
          url, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
  bool is_known = false;
  if (is_local(url)) {
    is_known = file_urls == FileUrls::allow && path_of(url).starts_with('/');
  } else if (const std::size_t scheme = url.find("://"); scheme != url.npos) {
    const std::string name = url.substr(0, scheme);
    const std::string_view rest = std::string_view(url).substr(scheme + 3);
    is_known = is_allowed(name) && is_authority(rest.substr(0, rest.find('/')));
  } else {
    // user@host:path; "ext::cmd" and the like have no '@' before the colon.
    const std::size_t colon = url.find(':');
    is_known = is_allowed("ssh") && colon != url.npos && !url.substr(colon).starts_with("::") &&
               url.substr(0, colon).contains('@') && is_authority(url.substr(0, colon));
  }
  if (is_clean && is_known) return {};
  std::string allowed;
  for (const std::string& scheme : schemes)
    allowed += scheme + (scheme == "ssh" ? "://, user@host:path, " : "://, ");
  return os::fail(os::Code::invalid,
                  "'" + printable(url) + "' is not taken: allowed are " + allowed +
                      "without a password" +
                      (file_urls == FileUrls::allow ? " and absolute paths"
                                                    : "; paths and file:// by an admin only"));
}

std::string tracking_ref(const std::string& ref) {
  return "refs/remotes/origin/" + ref.substr(std::min(kHeads.size(), ref.size()));
}

os::Result<CommitId> fetch(const Repository& repository, const Remote& remote,
                           const std::string& ref) {
  TRY(check_target_name(ref));
  const std::string tracked = tracking_ref(ref);
  // Asked first: a branch that is gone must not leave its old commit as the answer.
  TRY(remote_tip(remote, ref));
  TRY(fetch_refspec(repository.handle(), remote, "+" + ref + ":" + tracked));
  return TRY(read_tip(TRY(Repository::open(git_repository_path(repository.handle()))), tracked))
      .commit;
}

os::Result<CommitId> remote_tip(const Remote& remote, const std::string& ref) {
  const RemoteHandle handle = TRY(make_remote(nullptr, remote));
  Conversation talk{.credential_file = remote.credential_file, .is_private = is_https(remote)};
  git_remote_connect_options options{};
  git_remote_connect_options_init(&options, GIT_REMOTE_CONNECT_OPTIONS_VERSION);
  options.callbacks = callbacks_of(talk);
  options.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
  int code = git_remote_connect_ext(handle.get(), GIT_DIRECTION_FETCH, &options);
  const git_remote_head** heads = nullptr;
  std::size_t count = 0;
  if (code == 0) code = git_remote_ls(&heads, &count, handle.get());
  if (code < 0) return fail_remote(code, talk, "ask " + printable(remote.url));
  for (std::size_t i = 0; i < count; ++i)
    if (ref == heads[i]->name) return CommitId::parse(to_text(heads[i]->oid));
  return os::fail(os::Code::not_found, printable(remote.url) + " has no " + ref);
}

os::Result<void> push(const Repository& repository, const Remote& remote, const RefMove& move) {
  TRY(check_target_name(move.ref));
  TRY(repository.commit(move.to));
  if (!TRY(descends_from(repository, move.to, move.from)))
    return os::fail(os::Code::conflict,
                    move.to.hex() + " does not descend from " + move.from.hex());
  if (is_local(remote.url)) return push_to_path(repository, path_of(remote.url), move);
  const RemoteHandle handle = TRY(make_remote(repository.handle(), remote));
  Conversation talk{.credential_file = remote.credential_file,
                    .is_private = is_https(remote),
                    .ref = move.ref,
                    .expected = move.from};
  git_push_options options{};
  git_push_options_init(&options, GIT_PUSH_OPTIONS_VERSION);
  options.callbacks = callbacks_of(talk);
  options.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
  options.pb_parallelism = 1;
  // The library pushes references only; this one is gone again below.
  const std::string source = "refs/proofhouse/push-" + os::random_hex(8);
  const git_oid to = to_oid(move.to.hex());
  const ReferenceHandle pushed = TRY(make<ReferenceHandle>(source, [&](git_reference** out) {
    return git_reference_create(out, repository.handle(), source.c_str(), &to, 0, nullptr);
  }));
  std::string spec = source + ":" + move.ref;
  char* specs[] = {spec.data()};
  const git_strarray list{specs, 1};
  const int code = git_remote_push(handle.get(), &list, &options);
  git_reference_delete(pushed.get());
  if (talk.is_elsewhere)
    return os::fail(os::Code::conflict, move.ref + " of the remote is not at " + move.from.hex());
  if (code < 0) return fail_remote(code, talk, "push to " + printable(remote.url));
  if (!talk.push_refusal.empty())
    return os::fail(os::Code::conflict,
                    "the remote refused " + move.ref + ": " + talk.push_refusal);
  return {};
}

os::Result<void> clone_bare(const CloneSpec& spec) {
  TRY(check_target_name(spec.ref));
  struct stat status{};
  if (::lstat(spec.destination.c_str(), &status) == 0)
    return os::fail(os::Code::conflict, spec.destination + " exists already");
  const std::string aside = spec.destination + ".new-" + os::random_hex(8);
  os::Result<void> done = fill(spec, aside);
  if (done && std::rename(aside.c_str(), spec.destination.c_str()) != 0)
    done = os::fail_errno("name " + spec.destination);
  if (!done) {
    const os::Result<void> removed = os::remove_tree(aside);
    if (!removed) done.error().message += "; also: " + removed.error().message;
  }
  return done;
}

}  // namespace tasks::git
