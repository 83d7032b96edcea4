// A kernel that only reads a block of a card's memory, for any card since Maxwell: the driver compiles it. Never run on
// a card yet; it assembles for sm_75 to sm_120.
#ifndef KVPLAN_MEASURE_READ_KERNEL_H_
#define KVPLAN_MEASURE_READ_KERNEL_H_

namespace kvplan {

inline constexpr char kReadKernelName[] = "kvread";
inline constexpr char kReadKernel[] = R"PTX(
.version 6.5
.target sm_50
.address_size 64
// Reads n16 vectors of 16 bytes from p, grid-stride, four loads in flight; writes only where the fold is a magic number.
.visible .entry kvread(.param .u64 p, .param .u64 n16, .param .u64 out)
{
  .reg .pred %q<4>;
  .reg .b32 %r<40>;
  .reg .b64 %d<20>;
  ld.param.u64 %d0, [p];
  ld.param.u64 %d1, [n16];
  ld.param.u64 %d2, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d3, %r0, %r1;
  cvt.u64.u32 %d4, %r2;
  add.u64 %d3, %d3, %d4;          // index
  mul.wide.u32 %d5, %r1, %r3;     // stride
  mul.lo.u64 %d6, %d5, 4;         // four strides
  mov.u32 %r4, 0;
LOOP:
  setp.ge.u64 %q0, %d3, %d1;
  @%q0 bra DONE;
  shl.b64 %d7, %d3, 4;
  add.u64 %d7, %d0, %d7;
  ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%d7];
  add.u64 %d8, %d3, %d5;
  setp.ge.u64 %q1, %d8, %d1;
  @%q1 bra ONE;
  shl.b64 %d9, %d8, 4;
  add.u64 %d9, %d0, %d9;
  ld.global.v4.u32 {%r9,%r10,%r11,%r12}, [%d9];
  xor.b32 %r5, %r5, %r9;
  xor.b32 %r6, %r6, %r10;
  xor.b32 %r7, %r7, %r11;
  xor.b32 %r8, %r8, %r12;
  add.u64 %d10, %d8, %d5;
  setp.ge.u64 %q2, %d10, %d1;
  @%q2 bra ONE;
  shl.b64 %d11, %d10, 4;
  add.u64 %d11, %d0, %d11;
  ld.global.v4.u32 {%r13,%r14,%r15,%r16}, [%d11];
  add.u64 %d12, %d10, %d5;
  setp.ge.u64 %q3, %d12, %d1;
  @%q3 bra TWO;
  shl.b64 %d13, %d12, 4;
  add.u64 %d13, %d0, %d13;
  ld.global.v4.u32 {%r17,%r18,%r19,%r20}, [%d13];
  xor.b32 %r13, %r13, %r17;
  xor.b32 %r14, %r14, %r18;
  xor.b32 %r15, %r15, %r19;
  xor.b32 %r16, %r16, %r20;
TWO:
  xor.b32 %r5, %r5, %r13;
  xor.b32 %r6, %r6, %r14;
  xor.b32 %r7, %r7, %r15;
  xor.b32 %r8, %r8, %r16;
ONE:
  xor.b32 %r4, %r4, %r5;
  xor.b32 %r4, %r4, %r6;
  xor.b32 %r4, %r4, %r7;
  xor.b32 %r4, %r4, %r8;
  add.u64 %d3, %d3, %d6;
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

#endif  // KVPLAN_MEASURE_READ_KERNEL_H_
