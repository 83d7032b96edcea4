// A kernel that only reads a block of a GPU's memory, for any GPU since Maxwell: the driver compiles it. It was
// assembled for sm_75 to sm_120 and never run on a GPU.
#pragma once

namespace kvplan {

// Reads n16 vectors of 16 bytes from p, grid-stride; writes only if their XOR is a magic number, so that the reads are
// not optimized away.
inline constexpr char kReadKernelName[] = "kvread";
inline constexpr char kReadKernel[] = R"PTX(
.version 6.5
.target sm_50
.address_size 64
.visible .entry kvread(.param .u64 p, .param .u64 n16, .param .u64 out)
{
  .reg .pred %q<2>;
  .reg .b32 %r<9>;
  .reg .b64 %d<7>;
  ld.param.u64 %d0, [p];
  ld.param.u64 %d1, [n16];
  ld.param.u64 %d2, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  cvt.u64.u32 %d4, %r2;
  mad.wide.u32 %d3, %r0, %r1, %d4;  // index
  mul.wide.u32 %d5, %r1, %r3;       // stride
  mov.u32 %r4, 0;
LOOP:
  setp.ge.u64 %q0, %d3, %d1;
  @%q0 bra DONE;
  shl.b64 %d6, %d3, 4;
  add.u64 %d6, %d0, %d6;
  ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%d6];
  xor.b32 %r4, %r4, %r5;
  xor.b32 %r4, %r4, %r6;
  xor.b32 %r4, %r4, %r7;
  xor.b32 %r4, %r4, %r8;
  add.u64 %d3, %d3, %d5;
  bra LOOP;
DONE:
  setp.ne.u32 %q0, %r4, 0x5bd1e995;
  @%q0 bra END;
  st.global.u32 [%d2], %r4;
END:
  ret;
}
)PTX";

}  // namespace kvplan
