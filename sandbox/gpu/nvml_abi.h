// The part of NVML's documented C ABI that is used here: layouts and numbers, by their public
// names. Shared with the fake library of the tests, so that both ends agree by construction.
#pragma once

// The library's own names and C types are kept, so that each line can be found in its manual.
// NOLINTBEGIN(readability-identifier-naming, modernize-use-using)
struct nvmlDevice_st;
struct nvmlEventSet_st;

namespace sandbox::gpu::abi {

using nvmlDevice_t = nvmlDevice_st*;
using nvmlEventSet_t = nvmlEventSet_st*;

// nvmlReturn_t
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidArgument = 2;
inline constexpr int kNotSupported = 3;
inline constexpr int kNotFound = 6;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kDriverNotLoaded = 9;
inline constexpr int kTimeout = 10;
inline constexpr int kGpuIsLost = 15;

inline constexpr unsigned kClockSm = 1;  // nvmlClockType_t
inline constexpr unsigned kClockMemory = 2;
inline constexpr unsigned kTemperatureGpu = 0;  // nvmlTemperatureSensors_t
inline constexpr unsigned kEccCorrected = 0;    // nvmlMemoryErrorType_t
inline constexpr unsigned kEccUncorrected = 1;
inline constexpr unsigned kEccVolatile = 0;            // nvmlEccCounterType_t: since the last reset
inline constexpr unsigned long long kEventXid = 0x8;   // nvmlEventTypeXidCriticalError
inline constexpr unsigned kNoInstance = 0xffffffffU;   // an event of the whole GPU
inline constexpr unsigned kFieldRecoveryAction = 230;  // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION

struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlUtilization_t {
  unsigned gpu, memory;
};
// The layout of nvmlDeviceGet*RunningProcesses_v3.
struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};
struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType, eventData;
  unsigned gpuInstanceId, computeInstanceId;
};
struct nvmlFieldValue_t {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  unsigned valueType;
  int nvmlReturn;
  union {
    double dVal;
    unsigned uiVal;
    unsigned long long ullVal;
  } value;
};

}  // namespace sandbox::gpu::abi
// NOLINTEND(readability-identifier-naming, modernize-use-using)
