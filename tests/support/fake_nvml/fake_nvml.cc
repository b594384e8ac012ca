// A stand-in for libnvidia-ml.so.1 with the real names: what its GPUs are and do is read anew at
// each call from the file nvml.state beside the library itself, so that a test changes it while
// programs run.
//
// The file holds lines "key value". Keys of GPU n: n.uuid n.name n.minor n.memory n.used n.util
// n.power n.energy n.clock n.memory_clock n.throttle n.temperature n.ecc_corrected
// n.ecc_uncorrected n.remapped n.remap_pending n.remap_failed n.recovery n.lost (1: every call
// answers GPU_IS_LOST) n.processes (pids, comma-separated); MIG: n.mig 1, n.mig.<m>.uuid .memory
// .instance .processes. driver: its version; broken (a return code that nvmlInit answers). Critical
// errors: xid.<k> "<gpu> <xid> [<instance>]" for k = 1, 2, …: each is reported once to every event
// set, in order; those that were there when the set was made are not.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "sandbox/gpu/nvml_abi.h"

using namespace sandbox::gpu::abi;  // NOLINT(google-build-using-namespace): its names are ours

// Handles are places in two tables: GPUs, and their MIG instances.
struct nvmlDevice_st {
  int gpu;
  int instance;
};
struct nvmlEventSet_st {
  long seen;
  unsigned watched;
};

namespace {

constexpr int kMostGpus = 16;
constexpr int kMostInstances = 8;
nvmlDevice_st g_devices[kMostGpus][kMostInstances + 1];

using State = std::map<std::string, std::string>;

std::string state_path() {
  static const std::string path = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&state_path), &info);
    const std::string library = info.dli_fname;
    return library.substr(0, library.rfind('/')) + "/nvml.state";
  }();
  return path;
}

State read_state() {
  State state;
  std::ifstream file(state_path());
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) state[line.substr(0, space)] = line.substr(space + 1);
  }
  return state;
}

std::string key_of(nvmlDevice_t device, const char* name) {
  std::string key = std::to_string(device->gpu) + ".";
  if (device->instance >= 0) key += "mig." + std::to_string(device->instance) + ".";
  return key + name;
}

// The value of a key of the device; of its GPU's where an instance has none.
std::string text_of(const State& state, nvmlDevice_t device, const char* name) {
  auto found = state.find(key_of(device, name));
  if (found == state.end()) found = state.find(std::to_string(device->gpu) + "." + name);
  return found == state.end() ? std::string() : found->second;
}

unsigned long long number_of(const State& state, nvmlDevice_t device, const char* name) {
  return std::strtoull(text_of(state, device, name).c_str(), nullptr, 10);
}

bool is_lost(const State& state, nvmlDevice_t device) {
  return state.contains(std::to_string(device->gpu) + ".lost") &&
         state.at(std::to_string(device->gpu) + ".lost") == "1";
}

int copy_text(const std::string& text, char* out, unsigned length) {
  if (text.size() + 1 > length) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

template <class Number>
int give(nvmlDevice_t device, const char* name, Number* out) {
  const State state = read_state();
  if (is_lost(state, device)) return kGpuIsLost;
  if (text_of(state, device, name).empty()) return kNotSupported;
  *out = static_cast<Number>(number_of(state, device, name));
  return kSuccess;
}

long last_event(const State& state) {
  long last = 0;
  while (state.contains("xid." + std::to_string(last + 1))) ++last;
  return last;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  for (int gpu = 0; gpu < kMostGpus; ++gpu)
    for (int instance = -1; instance < kMostInstances; ++instance)
      g_devices[gpu][instance + 1] = {gpu, instance};
  const State state = read_state();
  if (state.empty()) return kDriverNotLoaded;
  return state.contains("broken") ? std::atoi(state.at("broken").c_str()) : kSuccess;
}

int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int code) {
  switch (code) {
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    case kNotSupported:
      return "Not Supported";
    default:
      return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* out, unsigned length) {
  const State state = read_state();
  return copy_text(state.contains("driver") ? state.at("driver") : "1.0", out, length);
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  const State state = read_state();
  *count = 0;
  while (state.contains(std::to_string(*count) + ".uuid")) ++*count;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  const State state = read_state();
  if (index >= kMostGpus || !state.contains(std::to_string(index) + ".uuid"))
    return kInvalidArgument;
  *device = &g_devices[index][0];
  return is_lost(state, *device) ? kGpuIsLost : kSuccess;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char* out, unsigned length) {
  return copy_text(text_of(read_state(), device, "uuid"), out, length);
}

int nvmlDeviceGetName(nvmlDevice_t device, char* out, unsigned length) {
  return copy_text(text_of(read_state(), device, "name"), out, length);
}

int nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* out) {
  return give(device, "minor", out);
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* out) {
  const State state = read_state();
  if (is_lost(state, device)) return kGpuIsLost;
  out->total = number_of(state, device, "memory");
  out->used = number_of(state, device, "used");
  out->free = out->total - out->used;
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* out) {
  const int code = give(device, "util", &out->gpu);
  out->memory = out->gpu / 2;
  return code;
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* out) {
  return give(device, "power", out);
}

int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* out) {
  return give(device, "energy", out);
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned clock, unsigned* out) {
  return give(device, clock == kClockMemory ? "memory_clock" : "clock", out);
}

int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* out) {
  return give(device, "throttle", out);
}

int nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned /*sensor*/, unsigned* out) {
  return give(device, "temperature", out);
}

int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned kind, unsigned /*counter*/,
                                unsigned long long* out) {
  return give(device, kind == kEccUncorrected ? "ecc_uncorrected" : "ecc_corrected", out);
}

int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  const State state = read_state();
  if (is_lost(state, device)) return kGpuIsLost;
  *corrected = 0;
  *uncorrected = static_cast<unsigned>(number_of(state, device, "remapped"));
  *pending = static_cast<unsigned>(number_of(state, device, "remap_pending"));
  *failed = static_cast<unsigned>(number_of(state, device, "remap_failed"));
  return kSuccess;
}

int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  for (int i = 0; i < count; ++i)
    values[i].nvmlReturn = values[i].fieldId == kFieldRecoveryAction
                               ? give(device, "recovery", &values[i].value.uiVal)
                               : kNotSupported;
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                            nvmlProcessInfo_t* infos) {
  const State state = read_state();
  if (is_lost(state, device)) return kGpuIsLost;
  std::istringstream pids(text_of(state, device, "processes"));
  unsigned found = 0;
  for (std::string pid; std::getline(pids, pid, ',') && found < *count;)
    infos[found++] = {static_cast<unsigned>(std::atoi(pid.c_str())), 0, kNoInstance, kNoInstance};
  *count = found;
  return kSuccess;
}

int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  *current = static_cast<unsigned>(number_of(read_state(), device, "mig"));
  *pending = *current;
  return kSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t /*device*/, unsigned* count) {
  *count = kMostInstances;
  return kSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t* out) {
  if (index >= kMostInstances) return kInvalidArgument;
  nvmlDevice_t instance = &g_devices[device->gpu][index + 1];
  if (!read_state().contains(key_of(instance, "uuid"))) return kNotFound;
  *out = instance;
  return kSuccess;
}

int nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* out) {
  return give(device, "instance", out);
}

int nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = new nvmlEventSet_st{last_event(read_state()), 0};
  return kSuccess;
}

int nvmlEventSetFree(nvmlEventSet_t set) {
  delete set;
  return kSuccess;
}

int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long /*types*/,
                             nvmlEventSet_t set) {
  set->watched |= 1U << static_cast<unsigned>(device->gpu);
  return kSuccess;
}

int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
  static std::mutex mutex;
  constexpr unsigned kStep = 5;
  for (unsigned waited = 0;; waited += kStep) {
    {
      const std::scoped_lock lock(mutex);
      const State state = read_state();
      while (state.contains("xid." + std::to_string(set->seen + 1))) {
        std::istringstream event(state.at("xid." + std::to_string(++set->seen)));
        int gpu = 0;
        unsigned long long xid = 0;
        unsigned instance = kNoInstance;
        event >> gpu >> xid;
        if (!(event >> instance)) instance = kNoInstance;
        if ((set->watched & (1U << static_cast<unsigned>(gpu))) == 0) continue;
        *data = {&g_devices[gpu][0], kEventXid, xid, instance, kNoInstance};
        return kSuccess;
      }
    }
    if (waited >= timeout_ms) return kTimeout;
    const timespec pause{.tv_sec = 0, .tv_nsec = kStep * 1'000'000L};
    ::nanosleep(&pause, nullptr);
  }
}

}  // extern "C"
