/**
 * Recorded run of a runtime, and its replay through an adapter with any chunking.
 */
import type {
  AdapterOutput,
  Outcome,
  ProcessEnd,
  RunStart,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"

/** Output of a real program with the sizes of its reads, and its end. */
export interface Recording {
  readonly name: string
  readonly start: RunStart
  /** Further user messages, all sent before the first read. */
  readonly inputs?: ReadonlyArray<string> | undefined
  readonly stdout: Uint8Array
  /** Bytes of each read, in order. Their sum is the length of stdout. */
  readonly chunkSizes: ReadonlyArray<number>
  readonly exit: ProcessEnd
  /** How the run ended; unknown for output of no real program. */
  readonly expected?: { readonly outcome: Outcome["_tag"]; readonly reason?: string | undefined } | undefined
  /** The outputs that a person has read and found right, as JSON. */
  readonly outputs?: ReadonlyArray<unknown> | undefined
  /** The program prints text: each line means something, and no line is unreadable. */
  readonly isText?: boolean | undefined
}

/** Cuts bytes into reads of these sizes. The rest is the last read. */
export const cut = (bytes: Uint8Array, sizes: Iterable<number>): ReadonlyArray<Uint8Array> => {
  const reads: Array<Uint8Array> = []
  let at = 0
  for (const size of sizes) {
    if (at >= bytes.length) break
    reads.push(bytes.subarray(at, at + size))
    at += size
  }
  if (at < bytes.length) reads.push(bytes.subarray(at))
  return reads
}

/** Outputs of one conversation over these reads and the recorded end. */
export const replay = (
  adapter: RuntimeAdapter,
  { start, exit, inputs = [] }: Pick<Recording, "start" | "exit" | "inputs">,
  reads: Iterable<Uint8Array>
): ReadonlyArray<AdapterOutput> => {
  const protocol = adapter.protocol(start)
  for (const text of inputs) protocol.input(text)
  const outputs: Array<AdapterOutput> = []
  for (const read of reads) outputs.push(...protocol.step(read))
  outputs.push(...protocol.end(exit))
  return outputs
}

/** Generator of pseudo-random numbers below a limit, reproducible by seed. */
export const randomNumbers = (seed: number): ((below: number) => number) => {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

/** Read sizes of 1 to 700 bytes that cover these bytes. */
export const randomSizes = (bytes: Uint8Array, seed: number): ReadonlyArray<number> => {
  const random = randomNumbers(seed)
  const sizes: Array<number> = []
  for (let total = 0; total < bytes.length;) {
    const size = 1 + random(random(4) === 0 ? 3 : 700)
    sizes.push(size)
    total += size
  }
  return sizes
}
