/* Marks what the shared library exports; everything else in it stays hidden. For C and C++. */
#ifndef KERNELWRIGHT_EXPORT_H
#define KERNELWRIGHT_EXPORT_H

#define KW_API __attribute__((visibility("default")))

#endif
