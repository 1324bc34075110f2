/* Checks of the C interface, written and compiled as C99. Each returns null, or what failed. */
#ifndef KW_TESTS_C_ABI_CLIENT_H
#define KW_TESTS_C_ABI_CLIENT_H

#ifdef __cplusplus
extern "C" {
#endif

const char* c_abi_product(void);
const char* c_abi_column_major_product(void);
const char* c_abi_strided_batched(void);
const char* c_abi_pointer_batched(void);
const char* c_abi_pointer_mode(void);
const char* c_abi_math(void);
const char* c_abi_batched_errors(void);
const char* c_abi_scale_add(void);
const char* c_abi_out_of_core(void);
const char* c_abi_distributed(void);
const char* c_abi_reduce(void);
const char* c_abi_reduce_options(void);
const char* c_abi_reduce_errors(void);
const char* c_abi_errors(void);
const char* c_abi_handles(void);
const char* c_abi_tune_cache(void);

#ifdef __cplusplus
}
#endif

#endif
