/** Machine that runs a filter of system calls as the kernel does, from its bytes. Throws for a program that the kernel would refuse. */

const LOAD = 0x20
const RESULT = 0x06
/** By code, whether the jump is taken. */
const jumps: Readonly<Record<number, (accumulator: number, k: number) => boolean>> = {
  0x15: (accumulator, k) => accumulator === k,
  0x35: (accumulator, k) => accumulator >= k,
  0x45: (accumulator, k) => (accumulator & k) >>> 0 !== 0
}
/** `struct seccomp_data`. */
const DATA_BYTES = 64
const MAX_INSTRUCTIONS = 4_096

export interface FilteredCall {
  readonly number: number
  readonly architecture: number
  readonly values: ReadonlyArray<bigint>
}

const dataOf = ({ architecture, number, values }: FilteredCall): Buffer => {
  const data = Buffer.alloc(DATA_BYTES)
  data.writeInt32LE(number | 0, 0)
  data.writeUInt32LE(architecture, 4)
  for (const [at, value] of values.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * at)
  return data
}

export const filterResult = (program: Buffer, call: FilteredCall): number => {
  const count = program.length / 8
  if (!Number.isInteger(count) || count === 0 || count > MAX_INSTRUCTIONS) throw new Error("wrong length")
  const data = dataOf(call)
  let accumulator = 0
  for (let at = 0; at < count; at++) {
    const code = program.readUInt16LE(at * 8)
    const k = program.readUInt32LE(at * 8 + 4)
    if (code === RESULT) return k
    if (code === LOAD) {
      if (k % 4 !== 0 || k >= DATA_BYTES) throw new Error("load outside of the call")
      accumulator = data.readUInt32LE(k)
      continue
    }
    const jump = jumps[code]
    if (jump === undefined) throw new Error(`unknown instruction ${code}`)
    at += program.readUInt8(at * 8 + (jump(accumulator, k) ? 2 : 3))
  }
  throw new Error("ran beyond the end")
}
