// kernelwright: verify, time and report every kernel of this repository. See program.cpp.
#include "program.hpp"

int main(int argc, char** argv) { return kw::run_program(argc, argv); }
