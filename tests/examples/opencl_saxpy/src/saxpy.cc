#include "saxpy.h"

#include <cstddef>

#include <CL/cl.h>

namespace {

constexpr const char* kSource = R"(
kernel void saxpy(float a, global const float* x, global float* y) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
)";

// Releases an OpenCL object with its owner.
template <class Object, cl_int (*release)(Object)>
struct Owned {
  Object object = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object != nullptr) release(object);
  }
};

std::string failed(const char* what, cl_int code) {
  return std::string(what) + ": OpenCL error " + std::to_string(code);
}

}  // namespace

std::string saxpy(float a, const std::vector<float>& x, std::vector<float>& y) {
  if (x.size() != y.size()) return "x and y differ in length";
  if (x.empty()) return {};
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (const cl_int code = clGetPlatformIDs(1, &platform, nullptr)) return failed("platform", code);
  if (const cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr))
    return failed("device", code);
  cl_int code = 0;
  Owned<cl_context, clReleaseContext> context;
  context.object = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  if (code != 0) return failed("context", code);
  Owned<cl_command_queue, clReleaseCommandQueue> queue;
  queue.object = clCreateCommandQueue(context.object, device, 0, &code);
  if (code != 0) return failed("queue", code);
  Owned<cl_program, clReleaseProgram> program;
  const char* source = kSource;
  program.object = clCreateProgramWithSource(context.object, 1, &source, nullptr, &code);
  if (code != 0) return failed("program", code);
  if ((code = clBuildProgram(program.object, 1, &device, "", nullptr, nullptr)) != 0)
    return failed("build", code);
  Owned<cl_kernel, clReleaseKernel> kernel;
  kernel.object = clCreateKernel(program.object, "saxpy", &code);
  if (code != 0) return failed("kernel", code);
  const std::size_t bytes = x.size() * sizeof(float);
  Owned<cl_mem, clReleaseMemObject> in;
  Owned<cl_mem, clReleaseMemObject> out;
  in.object = clCreateBuffer(context.object, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
                             const_cast<float*>(x.data()), &code);
  if (code != 0) return failed("buffer", code);
  out.object = clCreateBuffer(context.object, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
                              y.data(), &code);
  if (code != 0) return failed("buffer", code);
  clSetKernelArg(kernel.object, 0, sizeof a, &a);
  clSetKernelArg(kernel.object, 1, sizeof in.object, &in.object);
  clSetKernelArg(kernel.object, 2, sizeof out.object, &out.object);
  const std::size_t size = x.size();
  code = clEnqueueNDRangeKernel(queue.object, kernel.object, 1, nullptr, &size, nullptr, 0, nullptr,
                                nullptr);
  if (code != 0) return failed("run", code);
  code = clEnqueueReadBuffer(queue.object, out.object, CL_TRUE, 0, bytes, y.data(), 0, nullptr,
                             nullptr);
  return code != 0 ? failed("read", code) : std::string();
}
