/**
 * `npm run bench -- adapters`: what it costs to turn a runtime's lines into outputs, beside cutting the same bytes into lines and parsing
 * each as JSON, which no adapter can do without.
 *
 * One thread, no process: the largest recordings of an adapter, read in the pieces of a pipe, again and again. The first pass of each is not counted.
 */
import { cut, type Recording, replay } from "@corral/adapters/conformance/Replay"
import { recordings, registry } from "../../packages/adapters/test/Fixtures.ts"
import { atMostTimesFloor, type Report } from "../Report.ts"
import { median } from "../Statistics.ts"

export interface AdaptersBenchOptions {
  readonly rounds: number
  /** Ids of adapters; all where there are none. */
  readonly only: ReadonlyArray<string>
}

const READ_BYTES = 65_536
const ROUND_MS = 250
const LARGEST = 3
const NEWLINE = 10

const linesOf = (bytes: Uint8Array): ReadonlyArray<string> => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const lines: Array<string> = []
  let from = 0
  for (let end = buffer.indexOf(NEWLINE); end !== -1; end = buffer.indexOf(NEWLINE, from)) {
    lines.push(buffer.toString("utf8", from, end))
    from = end + 1
  }
  return lines
}

const isJson = (line: string): boolean => {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

/** Microseconds for each line, over as many passes as fit into a round. */
const perLine = (lines: number, pass: () => void): number => {
  const begin = performance.now()
  let passes = 0
  while (performance.now() - begin < ROUND_MS) {
    pass()
    passes++
  }
  return ((performance.now() - begin) * 1_000) / (passes * lines)
}

export const adaptersBench = async (
  { only, rounds }: AdaptersBenchOptions,
  report: Report
): Promise<void> => {
  const unknown = only.filter((id) => !registry.has(id))
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(", ")}; there are ${[...registry.keys()].join(", ")}`)
  for (const [id, adapter] of registry) {
    if (only.length > 0 && !only.includes(id)) continue
    const all: ReadonlyArray<Recording> = recordings(id)
      .filter(({ stdout }) => linesOf(stdout).every(isJson))
      .toSorted((a, b) => b.stdout.length - a.stdout.length)
      .slice(0, LARGEST)
    const lines = all.reduce((sum, { stdout }) => sum + linesOf(stdout).length, 0)
    // Of an adapter of text, or one whose recordings all have noise, there is nothing to compare.
    if (lines === 0) continue
    const reads = all.map((recording) => ({
      recording,
      reads: cut(recording.stdout, Array(Math.ceil(recording.stdout.length / READ_BYTES)).fill(READ_BYTES))
    }))
    const ours = () => {
      for (const { reads: each, recording } of reads) replay(adapter, recording, each)
    }
    const floor = () => {
      for (const { recording } of reads) for (const line of linesOf(recording.stdout)) JSON.parse(line)
    }
    perLine(lines, ours)
    perLine(lines, floor)
    const taken = { ours: [] as Array<number>, floor: [] as Array<number> }
    for (let round = 0; round < rounds; round++) {
      const order = [["ours", ours] as const, ["floor", floor] as const]
      for (const [side, pass] of round % 2 === 0 ? order : order.toReversed())
        taken[side].push(perLine(lines, pass))
    }
    report.add({
      figure: `${id}: ${lines} lines`,
      unit: "µs a line",
      edge: median(taken.ours),
      floor: median(taken.floor),
      goal: atMostTimesFloor(2),
      rounds
    })
  }
}
