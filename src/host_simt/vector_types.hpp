// CUDA's built-in vector types, in the global namespace and with CUDA's alignment.
#pragma once

// In kernels that are traced (src/trace) a vector is copied by one instruction, as on a GPU, where
// g++ would else load and store its elements one by one.
#if defined(KW_TRACED)
#define KW_COPIED_WHOLE(Vector, T, n)                                          \
  using Whole = char __attribute__((vector_size(n * sizeof(T)), may_alias));   \
  Vector() = default;                                                          \
  Vector(const Vector& other) { *this = other; }                               \
  Vector& operator=(const Vector& other) {                                     \
    *reinterpret_cast<Whole*>(this) = *reinterpret_cast<const Whole*>(&other); \
    return *this;                                                              \
  }
#define KW_COPIED_WHOLE_2(Vector, T)             \
  constexpr Vector(T x_, T y_) : x(x_), y(y_) {} \
  KW_COPIED_WHOLE(Vector, T, 2)
#define KW_COPIED_WHOLE_4(Vector, T)                                       \
  constexpr Vector(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {} \
  KW_COPIED_WHOLE(Vector, T, 4)
#else
#define KW_COPIED_WHOLE_2(Vector, T)
#define KW_COPIED_WHOLE_4(Vector, T)
#endif

struct int2 {
  int x, y;
  KW_COPIED_WHOLE_2(int2, int)
} __attribute__((aligned(8)));
struct int4 {
  int x, y, z, w;
  KW_COPIED_WHOLE_4(int4, int)
} __attribute__((aligned(16)));
struct uint2 {
  unsigned x, y;
  KW_COPIED_WHOLE_2(uint2, unsigned)
} __attribute__((aligned(8)));
struct uint3 {
  unsigned x, y, z;
};
struct uint4 {
  unsigned x, y, z, w;
  KW_COPIED_WHOLE_4(uint4, unsigned)
} __attribute__((aligned(16)));
struct float2 {
  float x, y;
  KW_COPIED_WHOLE_2(float2, float)
} __attribute__((aligned(8)));
struct float3 {
  float x, y, z;
};
struct float4 {
  float x, y, z, w;
  KW_COPIED_WHOLE_4(float4, float)
} __attribute__((aligned(16)));
struct double2 {
  double x, y;
  KW_COPIED_WHOLE_2(double2, double)
} __attribute__((aligned(16)));

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float3 make_float3(float x, float y, float z) { return {x, y, z}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }

#undef KW_COPIED_WHOLE
#undef KW_COPIED_WHOLE_2
#undef KW_COPIED_WHOLE_4
