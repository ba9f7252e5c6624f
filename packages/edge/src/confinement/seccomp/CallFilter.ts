/**
 * Filter of the system calls of a confined run: a list of what is refused. The kernel applies it to every process of the run. Command
 * that starts bubblewrap with the filter of system calls. bubblewrap reads it from a descriptor, which a shell opens before it becomes
 * bubblewrap, so that every way to start a program can use it.
 *
 * Guarantees: the keyrings of the user and the log of the kernel are out of reach. No process sets the user or group of a file's
 * program. Calls that do work in the kernel without passing this filter, or with structures that it cannot read, are unavailable, and
 * programs use others. Calls of other architectures are refused. Without the filter, nothing starts.
 *
 * Does not: list what is allowed. Programs of every kind must start, and namespaces and missing rights limit the rest.
 */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"

// Programs of the kernel's packet filter (classic BPF) that decide about system calls, assembled from rules. Pure.
//
// Guarantees: the first rule whose call and conditions match decides. A call that no rule names is allowed. Jumps lead forward only.
//
// Does not: read memory that an argument points to. The kernel gives a filter numbers only.

interface Instruction {
  readonly code: number
  /** Instructions to skip if the condition holds, and if not. */
  readonly jt: number
  readonly jf: number
  readonly k: number
}

const codes = { load: 0x20, equal: 0x15, atLeast: 0x35, anyBit: 0x45, result: 0x06 } as const

/** Places in what the kernel gives to a filter, on machines with little-endian words. */
const places = { call: 0, architecture: 4, argument: (index: number) => 16 + 8 * index } as const

/** A condition on the low word of an argument. */
type Condition =
  | { readonly argument: number; readonly anyBit: number }
  | { readonly argument: number; readonly noneOf: ReadonlyArray<number> }

interface CallRule {
  /** Numbers of system calls. */
  readonly calls: ReadonlyArray<number>
  /** All hold. */
  readonly conditions?: ReadonlyArray<Condition> | undefined
  readonly result: number
}

const load = (k: number): Instruction => ({ code: codes.load, jt: 0, jf: 0, k })
const result = (k: number): Instruction => ({ code: codes.result, jt: 0, jf: 0, k })

/** Instructions of a condition. `after`: number of instructions of the rule that follow. */
const conditionCode = (condition: Condition, after: number): ReadonlyArray<Instruction> => {
  const start = load(places.argument(condition.argument))
  if ("anyBit" in condition) return [start, { code: codes.anyBit, jt: 0, jf: after, k: condition.anyBit }]
  const { noneOf } = condition
  return [
    start,
    ...noneOf.map((k, at) => ({ code: codes.equal, jt: noneOf.length - 1 - at + after, jf: 0, k }))
  ]
}

const ruleCode = ({ calls, conditions = [], result: value }: CallRule): ReadonlyArray<Instruction> => {
  const body = conditions.reduceRight<ReadonlyArray<Instruction>>(
    (rest, condition) => [...conditionCode(condition, rest.length), ...rest],
    [result(value)]
  )
  return [
    load(places.call),
    ...calls.map((k, at) => {
      const isLast = at === calls.length - 1
      return { code: codes.equal, jt: calls.length - 1 - at, jf: isLast ? body.length : 0, k }
    }),
    ...body
  ]
}

interface FilterOptions {
  /** The architecture whose calls the rules name. */
  readonly architecture: number
  /** Calls from this number on are those of another architecture. */
  readonly foreignFrom?: number | undefined
  /** For calls of other architectures. */
  readonly foreign: number
  readonly rules: ReadonlyArray<CallRule>
  readonly otherwise: number
}

/** The program. */
const filterProgram = ({
  architecture,
  foreign,
  foreignFrom,
  otherwise,
  rules
}: FilterOptions): ReadonlyArray<Instruction> => [
  load(places.architecture),
  { code: codes.equal, jt: 1, jf: 0, k: architecture },
  result(foreign),
  ...(foreignFrom === undefined
    ? []
    : [load(places.call), { code: codes.atLeast, jt: 0, jf: 1, k: foreignFrom }, result(foreign)]),
  ...rules.flatMap(ruleCode),
  result(otherwise)
]

/** The program as the kernel reads it. */
const filterBytes = (program: ReadonlyArray<Instruction>): Buffer => {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [at, { code, jf, jt, k }] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(jt, at * 8 + 2)
    bytes.writeUInt8(jf, at * 8 + 3)
    bytes.writeUInt32LE(k, at * 8 + 4)
  }
  return bytes
}

// Numbers of the system calls that a filter names, by processor. `undefined`: the processor has no such call. Data.

interface CallNumbers {
  readonly x64: number | undefined
  readonly arm64: number | undefined
}

const systemCalls = {
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

type SystemCall = keyof typeof systemCalls

/** A processor with a filter. */
type FilteredProcessor = keyof CallNumbers

/** Number of the architecture, as the kernel gives it to a filter. `foreignFrom`: first number of the calls of x32. */
const architectures: Readonly<
  Record<FilteredProcessor, { readonly number: number; readonly foreignFrom?: number }>
> = {
  x64: { number: 0xc000003e, foreignFrom: 0x40000000 },
  arm64: { number: 0xc00000b7 }
}

const ALLOWED = 0x7fff0000
const refusal = (error: number): number => 0x00050000 | error

/** Numbers of errors are those of Linux. */
export const results = {
  allowed: ALLOWED,
  notPermitted: refusal(1),
  notAvailable: refusal(38),
  noSuchFamily: refusal(97)
} as const

/** Bits of a file's mode that give its program the user or the group of the file. */
const SET_ID = 0o6000
/** Flags of `open` with which its mode counts: `O_CREAT`, and the own bit of `O_TMPFILE`. */
const CREATES = 0o100 | 0o20000000
/** Unix sockets, IPv4, IPv6, netlink. Others are not limited by a namespace, such as those between virtual machines, or use keyrings. */
const FAMILIES = [1, 2, 10, 16]

interface NamedRule {
  readonly calls: ReadonlyArray<SystemCall>
  readonly conditions?: ReadonlyArray<Condition>
  readonly result: number
}

const setsId = (argument: number): ReadonlyArray<Condition> => [{ argument, anyBit: SET_ID }]
const createsWithId = (flags: number): ReadonlyArray<Condition> => [
  { argument: flags, anyBit: CREATES },
  { argument: flags + 1, anyBit: SET_ID }
]

const { allowed, notAvailable, notPermitted, noSuchFamily } = results

const callRules: ReadonlyArray<NamedRule> = [
  {
    calls: ["keyctl", "add_key", "request_key", "userfaultfd", "bpf", "perf_event_open", "syslog"],
    result: notPermitted
  },
  {
    calls: ["io_uring_setup", "io_uring_enter", "io_uring_register", "openat2"],
    result: notAvailable
  },
  { calls: ["chmod", "fchmod", "mknod", "creat", "mkdir"], conditions: setsId(1), result: notPermitted },
  { calls: ["fchmodat", "fchmodat2", "mknodat", "mkdirat"], conditions: setsId(2), result: notPermitted },
  { calls: ["open"], conditions: createsWithId(1), result: notPermitted },
  { calls: ["openat"], conditions: createsWithId(2), result: notPermitted },
  {
    calls: ["socket", "socketpair"],
    conditions: [{ argument: 0, noneOf: FAMILIES }],
    result: noSuchFamily
  }
]

const isFiltered = (processor: string): processor is FilteredProcessor =>
  Object.hasOwn(architectures, processor)

/** Program of the filter for a processor. */
const callFilterProgram = (processor: FilteredProcessor): ReadonlyArray<Instruction> => {
  const { foreignFrom, number } = architectures[processor]
  const rules = callRules.flatMap(({ calls, ...rule }): ReadonlyArray<CallRule> => {
    const numbers = calls.flatMap((name) => systemCalls[name][processor] ?? [])
    return numbers.length === 0 ? [] : [{ ...rule, calls: numbers }]
  })
  return filterProgram({
    architecture: number,
    foreignFrom,
    foreign: notPermitted,
    rules,
    otherwise: allowed
  })
}

/** Bytes of the filter; `undefined` for a processor without one. */
export const callFilter = (processor: string): Buffer | undefined =>
  isFiltered(processor) ? filterBytes(callFilterProgram(processor)) : undefined

/** Above the descriptors of the bridge and of a launcher. bubblewrap closes it. */
const DESCRIPTOR = "9"
const FILE = "calls.bpf"

/** The shell. */
export const FILTER_SHELL = "/bin/sh"

/** Writes the filter of this machine into a folder that no run writes. Gives its path. Fails with a phrase. */
export const openCallFilter = (folder: string): Effect.Effect<string, string> =>
  Effect.suspend(() => {
    const filter = callFilter(process.arch)
    if (filter === undefined) return Effect.fail(`there is no filter of system calls for ${process.arch}`)
    const path = join(folder, FILE)
    return Effect.try({ try: () => writeFileSync(path, filter, { mode: 0o600 }), catch: String }).pipe(
      Effect.as(path)
    )
  })

/** The command. `filter`: path of the filter. `args`: those of bubblewrap. */
export const filteredCommand = (
  program: string,
  filter: string,
  args: ReadonlyArray<string>
): { readonly file: string; readonly args: ReadonlyArray<string> } => ({
  file: FILTER_SHELL,
  args: ["-c", `exec "$@" ${DESCRIPTOR}<"$0"`, filter, program, "--seccomp", DESCRIPTOR, ...args]
})
