// In the place of libkernelwright: a library of another version.
extern "C" __attribute__((visibility("default"))) const char* kwVersion() { return "99.7.0"; }
