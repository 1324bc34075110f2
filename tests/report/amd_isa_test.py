"""tools/amd_isa.py: what it counts in a loop, and that it sees a broken kernel."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import amd_isa  # noqa: E402

FMAS = "\tv_fmac_f32_e32 v20, v8, v12\n" * 8


def by_hand(text):
    return f"\t;;#ASMSTART\n\t{text}\n\t;;#ASMEND\n"


LOADS = by_hand("global_load_dwordx4 v[0:3], v[30:31], off offset:0") + by_hand("global_load_dwordx4 v[4:7], v[32:33], off")
STORES = (
    by_hand("s_waitcnt vmcnt(1)") + "\tds_write_b128 v40, v[0:3]\n"
    + by_hand("s_waitcnt vmcnt(0)") + "\tds_write_b128 v40, v[4:7] offset:8704\n"
)  # fmt: skip


def kernel(loop, scratch=0, vgprs=48, lds=17408):
    text = (
        f"_Zkernel:                  ; @_Zkernel\n; %bb.0:\n\ts_load_dwordx4 s[0:3], s[4:5], 0x8\n.LBB0_1:\n{loop}"
        f"\ts_cbranch_vccz .LBB0_1\n\ts_endpgm\n\t.section .rodata\n.Lfunc_end0:\n; NumVgprs: {vgprs}\n; NumAgprs: 0\n"
        f"; ScratchSize: {scratch}\n; LDSByteSize: {lds} bytes/workgroup\n; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0\n"
        f"    .max_flat_workgroup_size: 256\n    .name:           _Zkernel\n"
    )
    return amd_isa.parse(text)[0]


def complaints(loop, row="amd_07_4_gcn_double_buffer", **numbers):
    it = kernel(loop, **numbers)
    return "\n".join(amd_isa.complaints(row, it, [it]))


class Counting(unittest.TestCase):
    def test_the_loop_and_what_is_in_it(self):
        it = kernel("\tds_read_b128 v[8:11], v41\n\tds_read_b128 v[12:15], v42\n\ts_waitcnt lgkmcnt(0)\n" + LOADS + FMAS + STORES)
        shown = amd_isa.columns("row", it)
        self.assertEqual((shown["fma"], shown["fma_under_global_loads"], shown["fma_under_shared_reads"]), (8, 8, 0))
        self.assertEqual((shown["ds_read_b128"], shown["global_load_dwordx4"], shown["ds_writes"]), (2, 2, 2))
        self.assertEqual((shown["instructions"], shown["vgprs"], shown["scratch_bytes"]), (18, 48, 0))

    def test_of_two_nested_loops_the_outer_one(self):
        it = kernel(".LBB0_2:\n" + FMAS + "\ts_cbranch_scc1 .LBB0_2\n\tglobal_load_dwordx4 v[0:3], v[30:31], off\n")
        self.assertEqual((it.count(amd_isa.FMA), it.count("global_load_dwordx4")), (8, 1))

    def test_a_jump_back_to_an_end_that_lies_ahead_of_the_loop_is_no_loop(self):
        end_ahead = "\ts_branch .LBB0_3\n.LBB0_2:\n\ts_endpgm\n.LBB0_3:\n"
        it = kernel(end_ahead + LOADS + FMAS + "\ts_cbranch_scc1 .LBB0_3\n" + LOADS + "\ts_branch .LBB0_2\n")
        self.assertEqual((it.count(amd_isa.FMA), it.count("global_load_dwordx4")), (8, 2))

    def test_a_loop_without_loads_is_not_it(self):
        it = kernel(FMAS + FMAS + "\ts_cbranch_vccz .LBB0_1\n.LBB0_2:\n" + FMAS + LOADS + "\ts_cbranch_scc1 .LBB0_2\n.LBB0_1:\n")
        self.assertEqual((it.count(amd_isa.FMA), it.count("global_load_dwordx4")), (8, 2))

    def test_occupancy_by_registers_and_by_shared_memory(self):
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=48, lds=0)), 5)
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=49, lds=0)), 4)
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=48, lds=17408)), 3)
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=8, lds=0)), 10)
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=64, lds=0), 512), 4)
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=64, lds=0), 32), 4)  # half of each wavefront idle
        self.assertEqual(amd_isa.occupancy(kernel(FMAS, vgprs=48, lds=18944), 512), 4)

    def test_loads_are_under_way_from_one_round_to_the_next(self):
        it = kernel(FMAS + "\ts_waitcnt vmcnt(0)\n\tglobal_load_dwordx4 v[0:3], v[30:31], off\n")
        self.assertEqual(amd_isa.in_the_loop(it).fmas_under_global, 8)


class Checking(unittest.TestCase):
    def test_a_sound_kernel(self):
        self.assertEqual(complaints(LOADS + FMAS + STORES), "")

    def test_a_use_before_the_wait(self):
        said = complaints(LOADS + FMAS + "\tds_write_b128 v40, v[0:3]\n" + STORES)
        self.assertIn("whole tiles: ds_write_b128 v40, v[0:3] touches v0 while a load into it is under way", said)

    def test_a_copy_by_the_compiler_before_the_wait(self):
        self.assertIn("v_accvgpr_write_b32 a1, v7 touches v7", complaints(LOADS + "\tv_accvgpr_write_b32 a1, v7\n" + FMAS + STORES))

    def test_a_wait_that_leaves_one_load_too_many(self):
        said = complaints(LOADS + FMAS + STORES.replace("vmcnt(0)", "vmcnt(1)"))
        self.assertIn("ds_write_b128 v40, v[4:7] offset:8704 touches v4", said)

    def test_the_second_of_two_loads_into_one_register_arrives_last(self):
        loads = "\tglobal_load_dword v1, v[30:31], off\n\tglobal_load_dword v1, v[32:33], off\n\ts_waitcnt vmcnt(0)\n"
        self.assertEqual(complaints(loads + FMAS, row="amd_05_registers_first"), "")
        self.assertIn("touches v1", complaints(loads.replace("v[32:33]", "v[1:2]") + FMAS, row="amd_05_registers_first"))

    def test_a_wait_ahead_of_the_multiplications(self):
        said = complaints(LOADS + STORES + FMAS)
        self.assertIn("0 of 8 FMAs run while the next tile's loads are under way", said)

    def test_waits_for_everything(self):
        self.assertIn("every wait is for all loads", complaints(LOADS + FMAS + STORES.replace("vmcnt(1)", "vmcnt(0)")))

    def test_loads_that_the_compiler_made(self):
        plain = (LOADS + FMAS + STORES).replace("\t;;#ASMSTART\n", "").replace("\t;;#ASMEND\n", "")
        self.assertIn("not two loads of global memory in assembly", complaints(plain))

    def test_fragments_read_by_the_compiler(self):
        said = complaints("\tds_read_b128 v[8:11], v41\n" + LOADS + FMAS + STORES, row="amd_07_6_gcn_fragments_ahead")
        self.assertIn("the compiler reads shared memory itself", said)

    def test_fragments_that_are_waited_for_at_once(self):
        read = by_hand("ds_read_b128 v[8:11], v41 offset:0") + by_hand("s_waitcnt lgkmcnt(0)")
        said = complaints(LOADS + read + FMAS + STORES, row="amd_07_6_gcn_fragments_ahead")
        self.assertIn("0 of 8 FMAs run while fragments are under way", said)

    def test_a_matrix_rung_without_matrix_instructions(self):
        self.assertIn("no matrix instruction", complaints(FMAS, row="amd_11_matrix_core"))
        products = "\tv_mfma_f32_32x32x2f32 a[0:15], v1, v2, a[0:15]\n\tglobal_load_dword v9, v[30:31], off\n\ts_waitcnt vmcnt(0)\n"
        self.assertEqual(complaints(FMAS + products, row="amd_11_matrix_core"), "")

    def test_scratch_memory(self):
        self.assertIn("40 bytes of scratch memory", complaints(FMAS, row="amd_05_registers_first", scratch=40))
        allowed = next(iter(amd_isa.SCRATCH_ALLOWED))
        self.assertEqual(complaints(FMAS, row=allowed, scratch=40), "")

    def test_every_assembly_rung_has_a_row(self):
        names = amd_isa.rows()
        self.assertEqual([p for p in amd_isa.ASSEMBLY if not any(name.startswith(p) for name in names)], [])
        self.assertTrue({*amd_isa.SCRATCH_ALLOWED, *amd_isa.BLOCK_THREADS} <= set(names))

    def test_round_the_loop_only_loads_written_by_hand(self):
        late = "\tv_mov_b32_e32 v60, v1\n" + FMAS + "\tglobal_load_dword v1, v[30:31], off\n"
        self.assertEqual(complaints(late, row="amd_05_registers_first"), "")  # the compiler's own, on another path
        self.assertIn("touches v1", complaints(late.replace("\tglobal_load_dword v1, v[30:31], off\n",
                                               by_hand("global_load_dword v1, v[30:31], off"))))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
