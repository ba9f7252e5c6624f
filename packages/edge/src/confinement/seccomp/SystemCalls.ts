/** Numbers of the system calls that a filter names, by processor. `undefined`: the processor has no such call. Data. */

interface CallNumbers {
  readonly x64: number | undefined
  readonly arm64: number | undefined
}

export const systemCalls = {
  add_key: { x64: 248, arm64: 217 },
  bpf: { x64: 321, arm64: 280 },
  chmod: { x64: 90, arm64: undefined },
  creat: { x64: 85, arm64: undefined },
  fchmod: { x64: 91, arm64: 52 },
  fchmodat: { x64: 268, arm64: 53 },
  fchmodat2: { x64: 452, arm64: 452 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  io_uring_setup: { x64: 425, arm64: 425 },
  keyctl: { x64: 250, arm64: 219 },
  mkdir: { x64: 83, arm64: undefined },
  mkdirat: { x64: 258, arm64: 34 },
  mknod: { x64: 133, arm64: undefined },
  mknodat: { x64: 259, arm64: 33 },
  open: { x64: 2, arm64: undefined },
  openat: { x64: 257, arm64: 56 },
  openat2: { x64: 437, arm64: 437 },
  perf_event_open: { x64: 298, arm64: 241 },
  request_key: { x64: 249, arm64: 218 },
  socket: { x64: 41, arm64: 198 },
  socketpair: { x64: 53, arm64: 199 },
  syslog: { x64: 103, arm64: 116 },
  userfaultfd: { x64: 323, arm64: 282 }
} satisfies Readonly<Record<string, CallNumbers>>

export type SystemCall = keyof typeof systemCalls

/** A processor with a filter. */
export type FilteredProcessor = keyof CallNumbers

/** Number of the architecture, as the kernel gives it to a filter. `foreignFrom`: first number of the calls of x32. */
export const architectures: Readonly<
  Record<FilteredProcessor, { readonly number: number; readonly foreignFrom?: number }>
> = {
  x64: { number: 0xc000003e, foreignFrom: 0x40000000 },
  arm64: { number: 0xc00000b7 }
}
