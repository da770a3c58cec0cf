"""The work audit's HLO parser on programs written by hand."""

from benchmarks.audits import hlo

DOT = """HloModule jit_f

ENTRY %main.4 (a.1: f32[64,512], b.2: f32[512,256]) -> f32[64,256] {
  %a.1 = f32[64,512]{1,0} parameter(0)
  %b.2 = f32[512,256]{1,0} parameter(1)
  ROOT %dot.3 = f32[64,256]{1,0} dot(%a.1, %b.2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

LOOP = """HloModule jit_f

%body.1 (p.1: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %p.1 = (s32[], f32[8,8]{1,0}) parameter(0)
  %i.2 = s32[] get-tuple-element(%p.1), index=0
  %x.3 = f32[8,8]{1,0} get-tuple-element(%p.1), index=1
  %y.4 = f32[8,8]{1,0} dot(%x.3, %x.3), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %t.5 = (s32[], f32[8,8]{1,0}) tuple(%i.2, %y.4)
}

%condition.6 (p.7: (s32[], f32[8,8])) -> pred[] {
  %p.7 = (s32[], f32[8,8]{1,0}) parameter(0)
  %i.8 = s32[] get-tuple-element(%p.7), index=0
  CONSTANT
  ROOT %less.10 = pred[] compare(%i.8, %bound.9), direction=LT
}

ENTRY %main.11 (t.12: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %t.12 = (s32[], f32[8,8]{1,0}) parameter(0)
  ROOT %while.13 = (s32[], f32[8,8]{1,0}) while(%t.12), condition=%condition.6, body=%body.1TRIPS
}
"""

CALL = """HloModule jit_f

ENTRY %main.4 (a.1: bf16[64,512], b.2: bf16[512,256]) -> bf16[64,256] {
  %a.1 = bf16[64,512]{1,0} parameter(0)
  %b.2 = bf16[512,256]{1,0} parameter(1)
  %gemm.3 = (bf16[64,256]{1,0}, s8[1024]{0}) custom-call(%a.1, %b.2), custom_call_target="__cublas$lt$matmul", \
backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}
  ROOT %out.4 = bf16[64,256]{1,0} get-tuple-element(%gemm.3), index=0
}
"""

CONVOLUTION = """HloModule jit_f

ENTRY %main.4 (a.1: f32[4,16,16,8], k.2: f32[3,3,8,32]) -> f32[4,16,16,32] {
  %a.1 = f32[4,16,16,8]{3,2,1,0} parameter(0)
  %k.2 = f32[3,3,8,32]{3,2,1,0} parameter(1)
  ROOT %c.3 = f32[4,16,16,32]{3,2,1,0} convolution(%a.1, %k.2), window={size=3x3}, dim_labels=b01f_01io->b01f
}
"""


def test_a_product_counts_two_flops_a_term():
    assert hlo.count_products(DOT) == hlo.Products(2 * 64 * 512 * 256, True)


def test_a_library_call_counts_like_the_product_it_stands_for():
    assert hlo.count_products(CALL) == hlo.Products(2 * 64 * 512 * 256, True)


def test_a_convolution_counts_its_window_and_input_features():
    assert hlo.count_products(CONVOLUTION) == hlo.Products(2 * 4 * 16 * 16 * 32 * 3 * 3 * 8, True)


def test_a_loop_is_multiplied_by_the_trip_count_that_the_compiler_knows():
    text = LOOP.replace("CONSTANT", "%bound.9 = s32[] parameter(1)").replace(
        "TRIPS", ', backend_config={"known_trip_count":{"n":"10"}}'
    )
    assert hlo.count_products(text) == hlo.Products(10 * 2 * 8**3, True)


def test_a_loop_is_multiplied_by_the_constant_that_its_condition_compares_with():
    text = LOOP.replace("CONSTANT", "%bound.9 = s32[] constant(7)").replace("TRIPS", "")
    assert hlo.count_products(text) == hlo.Products(7 * 2 * 8**3, True)


def test_a_loop_without_a_known_trip_count_makes_the_count_incomplete():
    text = LOOP.replace("CONSTANT", "%bound.9 = s32[] parameter(1)").replace("TRIPS", "")
    assert not hlo.count_products(text).complete


def test_text_that_is_no_program_counts_nothing():
    assert hlo.count_products("").flops == 0
    assert hlo.count_products("ENTRY %x () -> f32[] {\n  garbage\n}\n").flops == 0
