// proofhouse_harness.h: what a project needs so that a judge outside can check and time its code.
// One header, no library, C++17. Copy it into a guarded folder of your project, beside
// proofhouse_harness.py, which makes the inputs and judges the answers.
//
//   #include "proofhouse_harness.h"
//   int main(int argc, char** argv) {
//     return proofhouse::work(argc, argv, [](proofhouse::Input in, proofhouse::Answer& answer) {
//       const Result result = function_under_test(in.data, in.size);
//       answer.put(&result, sizeof result);
//     });
//   }
//
// Files: a frame is its length as 4 bytes, lowest first, and so many bytes. IN/calls.bin holds one
// frame a call, OUT/answers.bin one frame an answer, in the same order.
#ifndef PROOFHOUSE_HARNESS_H
#define PROOFHOUSE_HARNESS_H

#include <sys/stat.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace proofhouse {

// What a call is given. The bytes are this call's own copy at an address aligned for any type;
// beyond them lie kPoison bytes, and they themselves become kPoison when the call has returned: an
// answer that is worked out later is worked out from nothing.
struct Input {
  unsigned char* data = nullptr;
  std::size_t size = 0;
};

inline constexpr unsigned char kPoison = 0xA5;
inline constexpr std::size_t kPoisonBytes = 64;

// A growing array of bytes. Ends the program where memory ends.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  void append(const void* bytes, std::size_t count) {
    if (size_ + count > capacity_) {
      capacity_ = 2 * (size_ + count);
      data_ = static_cast<unsigned char*>(std::realloc(data_, capacity_));
      if (data_ == nullptr) std::abort();
    }
    if (count > 0) std::memcpy(data_ + size_, bytes, count);
    size_ += count;
  }
  void clear() { size_ = 0; }
  const unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// What a call answers: copied at once, so that it cannot change any more.
class Answer {
 public:
  void put(const void* bytes, std::size_t count) { bytes_.append(bytes, count); }
  Buffer& bytes() { return bytes_; }

 private:
  Buffer bytes_;
};

namespace detail {

inline bool read_file(const char* path, Buffer& out) {
  std::FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return false;
  static unsigned char part[1 << 16];
  std::size_t got = 0;
  while ((got = std::fread(part, 1, sizeof part, file)) > 0) out.append(part, got);
  return std::fclose(file) == 0;
}

inline std::size_t length_at(const unsigned char* bytes) {
  return bytes[0] | std::size_t{bytes[1]} << 8 | std::size_t{bytes[2]} << 16 |
         std::size_t{bytes[3]} << 24;
}

inline void append_frame(Buffer& to, const void* bytes, std::size_t count) {
  const unsigned char length[4] = {
      static_cast<unsigned char>(count), static_cast<unsigned char>(count >> 8),
      static_cast<unsigned char>(count >> 16), static_cast<unsigned char>(count >> 24)};
  to.append(length, sizeof length);
  to.append(bytes, count);
}

// Every second call finds its input at one place that they share; all others at an address that no
// call has had: what remembers answers by address is wrong, or gains nothing.
class Places {
 public:
  Input place(const unsigned char* bytes, std::size_t count, bool is_shared) {
    Place fresh;
    Place& place = is_shared ? shared_ : fresh;
    if (place.capacity < count + kPoisonBytes) {
      place.capacity = 2 * count + kPoisonBytes;
      // Never freed: an address that was freed would come back.
      place.bytes = static_cast<unsigned char*>(std::malloc(place.capacity));
      if (place.bytes == nullptr) std::abort();
    }
    if (count > 0) std::memcpy(place.bytes, bytes, count);
    std::memset(place.bytes + count, kPoison, place.capacity - count);
    last_ = place;
    return {place.bytes, count};
  }
  void spoil() { std::memset(last_.bytes, kPoison, last_.capacity); }

 private:
  struct Place {
    unsigned char* bytes = nullptr;
    std::size_t capacity = 0;
  };
  Place shared_;
  Place last_;
};

}  // namespace detail

// `PROGRAM IN OUT`: calls `function(Input, Answer&)` once for each frame of IN/calls.bin, at most
// $PROOFHOUSE_CALLS times where that is set, and writes OUT/answers.bin when all calls are done.
// Returns main's result: 0, or 2 where files cannot be read or written.
template <class Function>
int work(int argc, char** argv, Function function) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s IN OUT\n", argv[0]), 2;
  char path[4096];
  std::snprintf(path, sizeof path, "%s/calls.bin", argv[1]);
  Buffer calls;
  if (!detail::read_file(path, calls)) return std::perror(path), 2;
  const char* const limit = std::getenv("PROOFHOUSE_CALLS");
  const std::size_t most =
      limit == nullptr ? static_cast<std::size_t>(-1) : std::strtoull(limit, nullptr, 10);
  detail::Places places;
  Answer answer;
  Buffer answers;
  std::size_t at = 0;
  for (std::size_t call = 0; call < most && at + 4 <= calls.size(); ++call) {
    const std::size_t length = detail::length_at(calls.data() + at);
    if (at + 4 + length > calls.size()) return std::fprintf(stderr, "%s is cut\n", path), 2;
    const Input input = places.place(calls.data() + at + 4, length, call % 2 == 1);
    answer.bytes().clear();
    function(input, answer);
    detail::append_frame(answers, answer.bytes().data(), answer.bytes().size());
    places.spoil();
    at += 4 + length;
  }
  ::mkdir(argv[2], 0755);
  std::snprintf(path, sizeof path, "%s/answers.bin", argv[2]);
  std::FILE* const out = std::fopen(path, "wb");
  if (out == nullptr) return std::perror(path), 2;
  const bool is_written = std::fwrite(answers.data(), 1, answers.size(), out) == answers.size();
  return std::fclose(out) == 0 && is_written ? 0 : 2;
}

// A step with `interact: true`: answers each frame of the standard input with one frame on the
// standard output, until the input ends. The judge sends the next only after the last answer.
template <class Function>
int interact(Function function) {
  detail::Places places;
  Answer answer;
  Buffer frame;
  unsigned char length[4];
  for (std::size_t call = 0; std::fread(length, 1, sizeof length, stdin) == sizeof length; ++call) {
    std::size_t left = detail::length_at(length);
    frame.clear();
    static unsigned char part[1 << 16];
    while (left > 0) {
      const std::size_t got = std::fread(part, 1, left < sizeof part ? left : sizeof part, stdin);
      if (got == 0) return std::fprintf(stderr, "the input is cut\n"), 2;
      frame.append(part, got);
      left -= got;
    }
    const Input input = places.place(frame.data(), frame.size(), call % 2 == 1);
    answer.bytes().clear();
    function(input, answer);
    places.spoil();
    frame.clear();
    detail::append_frame(frame, answer.bytes().data(), answer.bytes().size());
    if (std::fwrite(frame.data(), 1, frame.size(), stdout) != frame.size() ||
        std::fflush(stdout) != 0)
      return 2;
  }
  return 0;
}

}  // namespace proofhouse

#endif
