import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { callFilter, results } from "../../../src/confinement/seccomp/CallFilter.ts"
import { filterResult } from "./FilterMachine.ts"

/** Written from the kernel's tables, independently of those of the filter. */
const machines = {
  x64: {
    architecture: 0xc000003e,
    refused: {
      keyctl: 250,
      add_key: 248,
      request_key: 249,
      userfaultfd: 323,
      bpf: 321,
      perf_event_open: 298,
      syslog: 103
    },
    unavailable: [425, 426, 427, 437],
    /** By number: the argument with the mode. */
    modes: { 90: 1, 91: 1, 268: 2, 452: 2, 133: 1, 259: 2, 85: 1, 83: 1, 258: 2 },
    /** By number: the argument with the flags. The mode follows. */
    opens: { 2: 1, 257: 2 },
    sockets: [41, 53],
    others: [0xc00000b7, 0x40000003, 0x40000028, 0]
  },
  arm64: {
    architecture: 0xc00000b7,
    refused: {
      keyctl: 219,
      add_key: 217,
      request_key: 218,
      userfaultfd: 282,
      bpf: 280,
      perf_event_open: 241,
      syslog: 116
    },
    unavailable: [425, 426, 427, 437],
    modes: { 52: 1, 53: 2, 452: 2, 33: 2, 34: 2 },
    opens: { 56: 2 },
    sockets: [198, 199],
    others: [0xc000003e, 0x40000003, 0x40000028, 0]
  }
} as const

const arguments64 = fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { minLength: 6, maxLength: 6 })
const entries = (table: Readonly<Record<number, number>>) =>
  Object.entries(table).map(([number, argument]) => [Number(number), argument] as const)
const low = (value: bigint | undefined): number => Number(BigInt.asUintN(32, value ?? 0n))

for (const [processor, machine] of Object.entries(machines)) {
  const program = callFilter(processor) ?? Buffer.alloc(0)
  const { architecture } = machine
  const resultOf = (number: number, values: ReadonlyArray<bigint>, of: number = architecture) =>
    filterResult(program, { number, values, architecture: of })

  /** What the filter has to answer, from the tables above. */
  const expected = (number: number, values: ReadonlyArray<bigint>): number => {
    if (processor === "x64" && number >= 0x40000000) return results.notPermitted
    if (Object.values(machine.refused).some((each) => each === number)) return results.notPermitted
    if (machine.unavailable.some((each) => each === number)) return results.notAvailable
    const mode = entries(machine.modes).find(([each]) => each === number)?.[1]
    if (mode !== undefined) return (low(values[mode]) & 0o6000) === 0 ? results.allowed : results.notPermitted
    const flags = entries(machine.opens).find(([each]) => each === number)?.[1]
    if (flags !== undefined) {
      const creates = (low(values[flags]) & (0o100 | 0o20000000)) !== 0
      return creates && (low(values[flags + 1]) & 0o6000) !== 0 ? results.notPermitted : results.allowed
    }
    if (machine.sockets.some((each) => each === number))
      return [1, 2, 10, 16].includes(low(values[0])) ? results.allowed : results.noSuchFamily
    return results.allowed
  }

  describe(`the filter of ${processor}`, () => {
    it("answers every call as the table says, with all arguments", () => {
      const numbers = fc.oneof(
        fc.integer({ min: 0, max: 600 }),
        fc.constantFrom(
          ...Object.values(machine.refused),
          ...machine.unavailable,
          ...machine.sockets,
          ...Object.keys(machine.modes).map(Number),
          ...Object.keys(machine.opens).map(Number)
        ),
        fc.integer({ min: 0x40000000, max: 0x7fffffff })
      )
      fc.assert(
        fc.property(numbers, arguments64, (number, values) => {
          assert.strictEqual(resultOf(number, values), expected(number, values), `${number} ${values}`)
        }),
        { numRuns: 20_000 }
      )
    })

    it("decides about each bit of a mode, and ignores the high word", () => {
      for (const [number, argument] of [
        ...entries(machine.modes),
        ...entries(machine.opens).map(([n, a]) => [n, a + 1] as const)
      ])
        for (let bit = 0n; bit < 64n; bit++) {
          const values = Array.from({ length: 6 }, () => 0o100n)
          values[argument] = 1n << bit
          assert.strictEqual(resultOf(number, values), expected(number, values), `${number} ${bit}`)
        }
    })

    it("refuses calls of other architectures", () => {
      for (const other of machine.others)
        for (const number of [0, 1, 11, 39, 59, 231, 0x40000000])
          assert.strictEqual(resultOf(number, [0n, 0n, 0n, 0n, 0n, 0n], other), results.notPermitted)
    })
  })
}

describe("callFilter", () => {
  it("has none for other processors", () => {
    for (const processor of ["s390x", "ppc64", "ia32", "toString"]) assert.isUndefined(callFilter(processor))
  })
})
