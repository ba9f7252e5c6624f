/**
 * Programs of the kernel's packet filter (classic BPF) that decide about system calls, assembled from rules. Pure.
 *
 * Guarantees: the first rule whose call and conditions match decides. A call that no rule names is allowed. Jumps lead forward only.
 *
 * Does not: read memory that an argument points to. The kernel gives a filter numbers only.
 */

export interface Instruction {
  readonly code: number
  /** Instructions to skip if the condition holds, and if not. */
  readonly jt: number
  readonly jf: number
  readonly k: number
}

export const codes = { load: 0x20, equal: 0x15, atLeast: 0x35, anyBit: 0x45, result: 0x06 } as const

/** Places in what the kernel gives to a filter, on machines with little-endian words. */
export const places = { call: 0, architecture: 4, argument: (index: number) => 16 + 8 * index } as const

/** A condition on the low word of an argument. */
export type Condition =
  | { readonly argument: number; readonly anyBit: number }
  | { readonly argument: number; readonly noneOf: ReadonlyArray<number> }

export interface CallRule {
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

export interface FilterOptions {
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
export const filterProgram = ({
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
export const filterBytes = (program: ReadonlyArray<Instruction>): Buffer => {
  const bytes = Buffer.alloc(program.length * 8)
  for (const [at, { code, jf, jt, k }] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(jt, at * 8 + 2)
    bytes.writeUInt8(jf, at * 8 + 3)
    bytes.writeUInt32LE(k, at * 8 + 4)
  }
  return bytes
}
