/**
 * Filter of the system calls of a confined run: a list of what is refused. The kernel applies it to every process of the run.
 *
 * Guarantees: the keyrings of the user and the log of the kernel are out of reach. No process sets the user or group of a file's program. Calls
 * that do work in the kernel without passing this filter, or with structures that it cannot read, are unavailable, and programs
 * use others. Calls of other architectures are refused.
 *
 * Does not: list what is allowed. Programs of every kind must start, and namespaces and missing rights limit the rest.
 */
import { type CallRule, type Condition, filterBytes, filterProgram, type Instruction } from "./BpfProgram.ts"
import { architectures, type FilteredProcessor, type SystemCall, systemCalls } from "./SystemCalls.ts"

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
