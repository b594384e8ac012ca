#include "sandbox/gpu/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sandbox/gpu/nvml_abi.h"

namespace sandbox::gpu {

using abi::nvmlDevice_t;

namespace {

constexpr std::size_t kMostDevices = 64;
constexpr std::size_t kMostProcesses = 4096;

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace

// Every function may be missing (null) but those that load() insists on: drivers differ in age.
struct Nvml::Calls {
  std::unique_ptr<void, CloseLibrary> library;
  abi::nvmlEventSet_t events = nullptr;
  std::vector<nvmlDevice_t> watched;
  bool is_started = false;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, nvmlDevice_t*) = nullptr;
  int (*uuid)(nvmlDevice_t, char*, unsigned) = nullptr;
  int (*name)(nvmlDevice_t, char*, unsigned) = nullptr;
  int (*minor_number)(nvmlDevice_t, unsigned*) = nullptr;
  int (*memory)(nvmlDevice_t, abi::nvmlMemory_t*) = nullptr;
  int (*utilization)(nvmlDevice_t, abi::nvmlUtilization_t*) = nullptr;
  int (*power)(nvmlDevice_t, unsigned*) = nullptr;
  int (*energy)(nvmlDevice_t, unsigned long long*) = nullptr;
  int (*clock)(nvmlDevice_t, unsigned, unsigned*) = nullptr;
  int (*throttle)(nvmlDevice_t, unsigned long long*) = nullptr;
  int (*throttle_old)(nvmlDevice_t, unsigned long long*) = nullptr;
  int (*temperature)(nvmlDevice_t, unsigned, unsigned*) = nullptr;
  int (*ecc)(nvmlDevice_t, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*remapped)(nvmlDevice_t, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*fields)(nvmlDevice_t, int, abi::nvmlFieldValue_t*) = nullptr;
  int (*compute)(nvmlDevice_t, unsigned*, abi::nvmlProcessInfo_t*) = nullptr;
  int (*graphics)(nvmlDevice_t, unsigned*, abi::nvmlProcessInfo_t*) = nullptr;
  int (*mps)(nvmlDevice_t, unsigned*, abi::nvmlProcessInfo_t*) = nullptr;
  int (*mig_mode)(nvmlDevice_t, unsigned*, unsigned*) = nullptr;
  int (*mig_count)(nvmlDevice_t, unsigned*) = nullptr;
  int (*mig_device)(nvmlDevice_t, unsigned, nvmlDevice_t*) = nullptr;
  int (*gpu_instance)(nvmlDevice_t, unsigned*) = nullptr;
  int (*event_set_create)(abi::nvmlEventSet_t*) = nullptr;
  int (*event_set_free)(abi::nvmlEventSet_t) = nullptr;
  int (*event_register)(nvmlDevice_t, unsigned long long, abi::nvmlEventSet_t) = nullptr;
  int (*event_wait)(abi::nvmlEventSet_t, abi::nvmlEventData_t*, unsigned) = nullptr;

  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() {
    if (events != nullptr && event_set_free != nullptr) event_set_free(events);
    if (is_started) shutdown();
  }

  void find_all();
  std::string text(int code) const;
  os::Result<NvmlDevice> describe(nvmlDevice_t handle, nvmlDevice_t physical) const;
  void add_instances(const NvmlDevice& gpu, std::vector<NvmlDevice>& devices) const;

  template <class Function>
  void find(Function& function, const char* symbol) const {
    // dlsym(3): a function's address comes as void*.
    function = reinterpret_cast<Function>(::dlsym(library.get(), symbol));
  }
};

void Nvml::Calls::find_all() {
  find(init, "nvmlInit_v2");
  find(shutdown, "nvmlShutdown");
  find(error_string, "nvmlErrorString");
  find(driver_version, "nvmlSystemGetDriverVersion");
  find(count, "nvmlDeviceGetCount_v2");
  find(by_index, "nvmlDeviceGetHandleByIndex_v2");
  find(uuid, "nvmlDeviceGetUUID");
  find(name, "nvmlDeviceGetName");
  find(minor_number, "nvmlDeviceGetMinorNumber");
  find(memory, "nvmlDeviceGetMemoryInfo");
  find(utilization, "nvmlDeviceGetUtilizationRates");
  find(power, "nvmlDeviceGetPowerUsage");
  find(energy, "nvmlDeviceGetTotalEnergyConsumption");
  find(clock, "nvmlDeviceGetClockInfo");
  find(throttle, "nvmlDeviceGetCurrentClocksEventReasons");
  find(throttle_old, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(temperature, "nvmlDeviceGetTemperature");
  find(ecc, "nvmlDeviceGetTotalEccErrors");
  find(remapped, "nvmlDeviceGetRemappedRows");
  find(fields, "nvmlDeviceGetFieldValues");
  find(compute, "nvmlDeviceGetComputeRunningProcesses_v3");
  find(graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3");
  find(mps, "nvmlDeviceGetMPSComputeRunningProcesses_v3");
  find(mig_mode, "nvmlDeviceGetMigMode");
  find(mig_count, "nvmlDeviceGetMaxMigDeviceCount");
  find(mig_device, "nvmlDeviceGetMigDeviceHandleByIndex");
  find(gpu_instance, "nvmlDeviceGetGpuInstanceId");
  find(event_set_create, "nvmlEventSetCreate");
  find(event_set_free, "nvmlEventSetFree");
  find(event_register, "nvmlDeviceRegisterEvents");
  find(event_wait, "nvmlEventSetWait_v2");
}

std::string Nvml::Calls::text(int code) const {
  const char* const words = error_string != nullptr ? error_string(code) : nullptr;
  return words != nullptr ? words : fmt::format("NVML error {}", code);
}

os::Result<NvmlDevice> Nvml::Calls::describe(nvmlDevice_t handle, nvmlDevice_t physical) const {
  NvmlDevice device;
  device.handle = handle;
  device.physical = physical;
  std::array<char, 96> text_buffer{};
  const auto size = static_cast<unsigned>(text_buffer.size());
  if (const int code = uuid(handle, text_buffer.data(), size); code != abi::kSuccess)
    return os::fail(os::Code::unavailable, "UUID of a GPU: " + text(code));
  device.uuid = text_buffer.data();
  if (name(handle, text_buffer.data(), size) == abi::kSuccess) device.name = text_buffer.data();
  unsigned number = 0;
  if (minor_number(physical, &number) == abi::kSuccess) device.minor = static_cast<int>(number);
  abi::nvmlMemory_t bytes{};
  if (memory(handle, &bytes) == abi::kSuccess) device.memory = os::Bytes{bytes.total};
  return device;
}

void Nvml::Calls::add_instances(const NvmlDevice& gpu, std::vector<NvmlDevice>& devices) const {
  unsigned most = 0;
  if (mig_count == nullptr || mig_device == nullptr) return;
  if (mig_count(gpu.handle, &most) != abi::kSuccess) return;
  for (unsigned index = 0; index < most && devices.size() < kMostDevices; ++index) {
    nvmlDevice_t handle = nullptr;
    if (mig_device(gpu.handle, index, &handle) != abi::kSuccess) continue;
    os::Result<NvmlDevice> instance = describe(handle, gpu.handle);
    if (!instance) continue;
    instance->parent = gpu.uuid;
    instance->index = gpu.index;
    instance->mig_index = static_cast<int>(index);
    if (gpu_instance != nullptr) gpu_instance(handle, &instance->gpu_instance);
    devices.push_back(std::move(*instance));
  }
}

Nvml::Nvml(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}
Nvml::~Nvml() = default;

os::Result<std::unique_ptr<Nvml>> Nvml::load(const std::string& path) {
  const std::string name = path.empty() ? "libnvidia-ml.so.1" : path;
  auto calls = std::make_unique<Calls>();
  calls->library.reset(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (calls->library == nullptr) {
    const char* const why = ::dlerror();
    return os::fail(os::Code::not_found, why != nullptr ? why : name);
  }
  calls->find_all();
  const bool is_whole =
      calls->init != nullptr && calls->shutdown != nullptr && calls->count != nullptr &&
      calls->by_index != nullptr && calls->uuid != nullptr && calls->name != nullptr &&
      calls->minor_number != nullptr && calls->memory != nullptr && calls->compute != nullptr;
  if (!is_whole) return os::fail(os::Code::unavailable, name + " lacks functions of NVML 11");
  if (const int code = calls->init(); code != abi::kSuccess)
    return os::fail(os::Code::unavailable, name + ": " + calls->text(code));
  calls->is_started = true;
  return std::unique_ptr<Nvml>(new Nvml(std::move(calls)));
}

os::Result<std::string> Nvml::driver_version() const {
  std::array<char, 80> version{};
  const int code = calls_->driver_version != nullptr
                       ? calls_->driver_version(version.data(), version.size())
                       : abi::kNotSupported;
  if (code != abi::kSuccess) return os::fail(os::Code::unavailable, calls_->text(code));
  return std::string(version.data());
}

os::Result<std::vector<NvmlDevice>> Nvml::devices() const {
  unsigned count = 0;
  if (const int code = calls_->count(&count); code != abi::kSuccess)
    return os::fail(os::Code::unavailable, "count GPUs: " + calls_->text(code));
  std::vector<NvmlDevice> devices;
  for (unsigned index = 0; index < count && devices.size() < kMostDevices; ++index) {
    nvmlDevice_t handle = nullptr;
    if (calls_->by_index(index, &handle) != abi::kSuccess) continue;
    os::Result<NvmlDevice> gpu = calls_->describe(handle, handle);
    if (!gpu) continue;
    gpu->index = static_cast<int>(index);
    unsigned mode = 0;
    unsigned pending = 0;
    if (calls_->mig_mode != nullptr && calls_->mig_mode(handle, &mode, &pending) == abi::kSuccess &&
        mode == 1)
      calls_->add_instances(*gpu, devices);
    else
      devices.push_back(std::move(*gpu));
  }
  return devices;
}

HealthReading Nvml::read_health(const NvmlDevice& device) const {
  HealthReading reading;
  abi::nvmlMemory_t memory{};
  // The cheapest call that has to reach the GPU.
  if (calls_->memory(device.physical, &memory) == abi::kGpuIsLost) {
    reading.is_lost = true;
    return reading;
  }
  const auto ecc = [&](unsigned kind) -> std::int64_t {
    unsigned long long count = 0;
    if (calls_->ecc == nullptr ||
        calls_->ecc(device.physical, kind, abi::kEccVolatile, &count) != abi::kSuccess)
      return 0;
    return static_cast<std::int64_t>(count);
  };
  reading.ecc_corrected = ecc(abi::kEccCorrected);
  reading.ecc_uncorrected = ecc(abi::kEccUncorrected);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (calls_->remapped != nullptr && calls_->remapped(device.physical, &corrected, &uncorrected,
                                                      &pending, &failed) == abi::kSuccess) {
    reading.remapped_rows = std::int64_t{corrected} + uncorrected;
    reading.is_remap_pending = pending != 0;
    reading.has_remap_failed = failed != 0;
  }
  abi::nvmlFieldValue_t field{};
  field.fieldId = abi::kFieldRecoveryAction;
  if (calls_->fields != nullptr && calls_->fields(device.physical, 1, &field) == abi::kSuccess &&
      field.nvmlReturn == abi::kSuccess)
    reading.recovery_action = static_cast<int>(field.value.uiVal);
  return reading;
}

Sample Nvml::read_sample(const NvmlDevice& device) const {
  Sample sample;
  abi::nvmlUtilization_t rates{};
  if (calls_->utilization != nullptr &&
      calls_->utilization(device.handle, &rates) == abi::kSuccess) {
    sample.utilisation_percent = rates.gpu;
    sample.memory_percent = rates.memory;
  }
  abi::nvmlMemory_t memory{};
  if (calls_->memory(device.handle, &memory) == abi::kSuccess)
    sample.memory_used = static_cast<std::int64_t>(memory.used);
  unsigned number = 0;
  if (calls_->power != nullptr && calls_->power(device.physical, &number) == abi::kSuccess)
    sample.power_mw = number;
  unsigned long long large = 0;
  if (calls_->energy != nullptr && calls_->energy(device.physical, &large) == abi::kSuccess)
    sample.energy_mj = static_cast<std::int64_t>(large);
  if (calls_->clock != nullptr) {
    if (calls_->clock(device.physical, abi::kClockSm, &number) == abi::kSuccess)
      sample.sm_clock_mhz = number;
    if (calls_->clock(device.physical, abi::kClockMemory, &number) == abi::kSuccess)
      sample.memory_clock_mhz = number;
  }
  const auto throttle = calls_->throttle != nullptr ? calls_->throttle : calls_->throttle_old;
  if (throttle != nullptr && throttle(device.physical, &large) == abi::kSuccess)
    sample.throttle_reasons = large;
  if (calls_->temperature != nullptr &&
      calls_->temperature(device.physical, abi::kTemperatureGpu, &number) == abi::kSuccess)
    sample.temperature_c = number;
  return sample;
}

os::Result<std::vector<int>> Nvml::processes(const NvmlDevice& device) const {
  std::vector<int> pids;
  for (const auto list : {calls_->compute, calls_->graphics, calls_->mps}) {
    if (list == nullptr) continue;
    std::vector<abi::nvmlProcessInfo_t> found(kMostProcesses);
    auto count = static_cast<unsigned>(found.size());
    const int code = list(device.handle, &count, found.data());
    // Graphics and MPS need not exist on a compute GPU; the compute list has to.
    if (code != abi::kSuccess && list != calls_->compute) continue;
    if (code != abi::kSuccess)
      return os::fail(os::Code::unavailable,
                      "processes of " + device.uuid + ": " + calls_->text(code));
    for (unsigned i = 0; i < count; ++i) pids.push_back(static_cast<int>(found[i].pid));
  }
  std::ranges::sort(pids);
  pids.erase(std::ranges::unique(pids).begin(), pids.end());
  return pids;
}

os::Result<void> Nvml::watch(const NvmlDevice& device) {
  if (calls_->event_set_create == nullptr || calls_->event_register == nullptr ||
      calls_->event_wait == nullptr)
    return os::fail(os::Code::unavailable, "this NVML reports no errors");
  if (calls_->events == nullptr)
    if (const int code = calls_->event_set_create(&calls_->events); code != abi::kSuccess)
      return os::fail(os::Code::unavailable, "watch for errors: " + calls_->text(code));
  // Instances of one GPU share its reports.
  std::vector<nvmlDevice_t>& watched = calls_->watched;
  if (std::ranges::find(watched, device.physical) != watched.end()) return {};
  const int code = calls_->event_register(device.physical, abi::kEventXid, calls_->events);
  if (code != abi::kSuccess && code != abi::kNotSupported)
    return os::fail(os::Code::unavailable, device.uuid + ": " + calls_->text(code));
  watched.push_back(device.physical);
  return {};
}

std::optional<XidEvent> Nvml::next_xid(std::chrono::milliseconds wait) const {
  if (calls_->events == nullptr) return std::nullopt;
  abi::nvmlEventData_t data{};
  const auto limit = static_cast<unsigned>(wait.count());
  if (calls_->event_wait(calls_->events, &data, limit) != abi::kSuccess) return std::nullopt;
  if (data.eventType != abi::kEventXid) return std::nullopt;
  XidEvent event{
      .physical = data.device, .xid = static_cast<int>(data.eventData), .gpu_instance = {}};
  if (data.gpuInstanceId != abi::kNoInstance) event.gpu_instance = data.gpuInstanceId;
  return event;
}

}  // namespace sandbox::gpu
