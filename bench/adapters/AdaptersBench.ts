/**
 * `npm run bench -- adapters`: what it costs to turn a runtime's lines into outputs, beside cutting the same bytes into lines and parsing
 * each as JSON, which no adapter can do without.
 *
 * One thread, no process: the largest recordings of an adapter, read in the pieces of a pipe, again and again. The first pass of each is not counted.
 */
import { cut, type Recording, replay } from "@corral/conformance/Replay"
import type { AdapterOutput, AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { outputDecoder } from "@corral/adapters/OutputDecoder"
import { type BuildOptions, previousFigure } from "../Builds.ts"
import { compared, type Sides } from "../Pair.ts"
import { median } from "../Statistics.ts"
import { Effect, Stream } from "effect"
import { atMostOverFloor, atMostTimesFloor, type Report } from "../Report.ts"

export interface AdaptersBenchOptions extends BuildOptions {
  readonly rounds: number
  /** Ids of adapters; all where there are none. */
  readonly only: ReadonlyArray<string>
}

type Reads = ReadonlyArray<Uint8Array>

const READ_BYTES = 65_536
const ROUND_MS = 500
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

/** Microseconds for each line of either side, their passes taken in turns so that what else the machine does falls on both. */
const perLine = (lines: number, ours: () => void, floor: () => void) => {
  const spent = { ours: 0, floor: 0 }
  let passes = 0
  for (const begin = performance.now(); performance.now() - begin < ROUND_MS;) {
    const [from, between] = [performance.now(), (ours(), performance.now())]
    floor()
    spent.ours += between - from
    spent.floor += performance.now() - between
    passes++
  }
  const each = 1_000 / (passes * lines)
  return { ours: spent.ours * each, floor: spent.floor * each }
}

/** What `replay` does, by the Stream decoder. */
const replayStream = (adapter: AnyRuntimeAdapter, { exit, inputs = [], start }: Recording, reads: Reads) =>
  Effect.suspend(() => {
    const protocol = adapter.protocol(start)
    for (const text of inputs) protocol.input(text)
    const outputs: Array<AdapterOutput> = []
    const stdout = Stream.fromIterable(reads, { chunkSize: 1 })
    return outputDecoder(protocol)(stdout, Effect.succeed(exit)).pipe(
      Stream.runForEachArray((some) => Effect.sync(() => outputs.push(...some))),
      Effect.as(outputs)
    )
  })

export const adaptersBench = async (options: AdaptersBenchOptions, report: Report): Promise<void> => {
  const { only, rounds } = options
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
    perLine(lines, ours, floor)
    const figure = `${id}: ${lines} lines`
    const taken: Record<"edge" | "floor" | "previous", Array<number>> = { edge: [], floor: [], previous: [] }
    for (let round = 0; round < rounds; round++) {
      const each = perLine(lines, ours, floor)
      taken.edge.push(each.ours)
      taken.floor.push(each.floor)
      if (options.against !== undefined)
        taken.previous.push(previousFigure(options, { figure, name: "adapters", only: id }))
    }
    const { edge, previous } = taken
    const sides: Sides<ReadonlyArray<number>> =
      options.against === undefined ? { edge, floor: taken.floor } : { edge, floor: taken.floor, previous }
    report.add({
      figure,
      unit: "µs a line",
      ...compared(sides, (micros) => micros),
      goal: atMostTimesFloor(2),
      rounds
    })
    const streamed = () => {
      for (const { reads: each, recording } of reads) Effect.runSync(replayStream(adapter, recording, each))
    }
    perLine(lines, streamed, ours)
    const streams = Array.from({ length: rounds }, () => perLine(lines, streamed, ours))
    report.add({
      figure: `${id}: Stream decoder over its synchronous steps`,
      unit: "µs a line",
      edge: median(streams.map((each) => each.ours)),
      floor: median(streams.map((each) => each.floor)),
      goal: atMostOverFloor(1),
      rounds
    })
  }
}
