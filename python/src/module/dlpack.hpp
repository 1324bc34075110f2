// The part of DLPack's binary interface that the module speaks (dmlc.github.io/dlpack, version 1):
// arrays by their methods, and the table of C functions that a type may offer.
#pragma once

#include <cstdint>

namespace kw::python::dlpack {

constexpr std::int32_t cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, cuda_managed = 13;

struct Device {
  std::int32_t type, id;
};

constexpr std::uint8_t kind_int = 0, kind_uint = 1, kind_float = 2, kind_bfloat = 4,
                       kind_complex = 5;

struct DataType {
  std::uint8_t kind, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType type;
  std::int64_t* size;
  std::int64_t* stride;  // in elements; null: dense
  std::uint64_t byte_offset;
};

// As capsules "dltensor" hold it.
struct Managed {
  Tensor tensor;
  void* context;
  void (*destroy)(Managed*);
};

struct Version {
  std::uint32_t major, minor;
};

constexpr std::uint64_t flag_read_only = 1;

// As capsules "dltensor_versioned" hold it.
struct ManagedVersioned {
  Version version;
  void* context;
  void (*destroy)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

// What a type's attribute __dlpack_c_exchange_api__ holds. A result of 0 is success.
struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};
struct Exchange {
  ExchangeHeader header;
  int (*allocate)(Tensor* prototype, ManagedVersioned** out, void* error_context,
                  void (*set_error)(void*, const char* kind, const char* message));
  int (*export_managed)(void* object, ManagedVersioned** out);
  int (*import_managed)(ManagedVersioned* tensor, void** object);
  int (*export_view)(void* object, Tensor* out);  // null: the type lacks it
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

}  // namespace kw::python::dlpack
