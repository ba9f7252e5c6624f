/**
 * Conformance suite of adapters. It makes checks from an adapter and recordings of its real program, for any test framework.
 *
 * ```ts
 * for (const check of conformance(adapter, recordings)) it(check.name, () => assert.deepStrictEqual(check.problems(), []))
 * ```
 *
 * Guarantees: decoding is independent of chunking, every run ends exactly once and as recorded, and no input breaks the adapter.
 * Does not: show that the events mean what the program meant. Golden outputs and a review do.
 */
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { isDeepStrictEqual } from "node:util"
import * as Hostile from "./conformance/Hostile.ts"
import {
  invariantProblems,
  approvalsNameFiles,
  cancelStops,
  deltasJoin,
  diffsOnce
} from "./conformance/Invariants.ts"
import { cut, randomNumbers, randomSizes, replay, type Recording } from "./conformance/Replay.ts"
import { MAX_LINE_BYTES } from "./text/Lines.ts"

/** One check of one recording. */
export interface Check {
  readonly name: string
  /** Sentences about violations; empty if the check passes. Throws if the adapter throws. */
  readonly problems: () => ReadonlyArray<string>
}

const oneByteReads = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => cut(bytes, Array(bytes.length).fill(1))

/** A sentence about the first output that differs; empty if none does. */
export const differences = (
  name: string,
  actual: ReadonlyArray<AdapterOutput>,
  expected: ReadonlyArray<AdapterOutput>
): ReadonlyArray<string> => {
  for (let at = 0; at < Math.max(actual.length, expected.length); at++) {
    const [a, b] = [actual[at], expected[at]]
    if (!isDeepStrictEqual(a, b)) {
      return [`${name}: output ${at} is ${JSON.stringify(a)}, not ${JSON.stringify(b)}`]
    }
  }
  return []
}

/** An output without its printed form. */
const withoutRaw = (output: AdapterOutput): AdapterOutput =>
  output._tag === "Unknown" ? { _tag: "Unknown", what: output.what } : output

/** Problems of a recording as it was printed. */
const checkAsPrinted = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<string> => {
  const { stdout, chunkSizes, expected } = recording
  const whole = replay(adapter, recording, [stdout])
  const last = whole.at(-1)
  const outcome = last?._tag === "Outcome" ? last.outcome : undefined
  const reason = outcome?._tag === "Failed" ? outcome.error.details?.["reason"] : undefined
  const actualOutcome = `${outcome?._tag} ${String(reason)}`
  const expectedOutcome = `${expected.outcome} ${String(expected.reason)}`
  return [
    ...differences("at 1 byte", replay(adapter, recording, oneByteReads(stdout)), whole),
    ...differences("as recorded", replay(adapter, recording, cut(stdout, chunkSizes)), whole),
    ...[1, 2, 3].flatMap((seed) =>
      differences(
        `at random ${seed}`,
        replay(adapter, recording, cut(stdout, randomSizes(stdout, seed))),
        whole
      )
    ),
    ...invariantProblems(whole),
    ...deltasJoin(whole),
    ...approvalsNameFiles(whole),
    ...diffsOnce(whole, 1 + (recording.inputs?.length ?? 0)),
    ...(actualOutcome === expectedOutcome ? [] : [`it ended as ${actualOutcome}, not ${expectedOutcome}`])
  ]
}

/** Problems of a corrupted recording: outputs must be valid, with one outcome. */
const checkCorrupted = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<string> => {
  const { stdout } = recording
  const whole = replay(adapter, recording, [stdout])
  const outputs = (reads: ReadonlyArray<Uint8Array>) => replay(adapter, recording, reads)
  const random = randomNumbers(stdout.length)
  const places = Array.from({ length: Math.min(stdout.length, 24) }, () => random(stdout.length))
  const corrupted: ReadonlyArray<readonly [string, ReadonlyArray<Uint8Array>]> = [
    ["noise", [Hostile.withNoise(stdout)]],
    ["every line twice", [Hostile.withEveryLineTwice(stdout)]],
    ["no last line", [Hostile.withoutLastLine(stdout)]],
    ["a huge line", Hostile.withHugeLine(stdout, MAX_LINE_BYTES + 1)],
    ...places.map((at) => [`cut at ${at}`, [stdout.subarray(0, at)]] as const)
  ]
  return [
    ...corrupted.flatMap(([name, reads]) =>
      invariantProblems(outputs(reads)).map((problem) => `${name}: ${problem}`)
    ),
    ...differences(
      "reordered keys",
      outputs([Hostile.withReorderedKeys(stdout)]).map(withoutRaw),
      whole.map(withoutRaw)
    )
  ]
}

/** Problems of a recording when the run is cancelled at any of its lines. */
const checkCancelled = (adapter: RuntimeAdapter, { exit, inputs = [], start, stdout }: Recording) => {
  const lines = Hostile.splitLines(stdout)
  const places = lines.length <= 40 ? lines.keys() : Array.from({ length: 40 }, (_, at) => at * 7)
  return [...places].flatMap((at) => {
    const protocol = adapter.protocol(start)
    for (const text of inputs) protocol.input(text)
    const before = protocol.step(Hostile.joinLines(lines.slice(0, at)))
    protocol.cancel()
    const after = [...protocol.step(Hostile.joinLines(lines.slice(at))), ...protocol.end(exit)]
    const problems = [...invariantProblems([...before, ...after]), ...cancelStops(after)]
    return problems.map((problem) => `cancelled at line ${at}: ${problem}`)
  })
}

/** Three checks per recording. */
export const conformance = (
  adapter: RuntimeAdapter,
  recordings: ReadonlyArray<Recording>
): ReadonlyArray<Check> =>
  recordings.flatMap((recording) => [
    { name: `${recording.name}: as it was printed`, problems: () => checkAsPrinted(adapter, recording) },
    { name: `${recording.name}: with corrupted lines`, problems: () => checkCorrupted(adapter, recording) },
    { name: `${recording.name}: cancelled at any line`, problems: () => checkCancelled(adapter, recording) }
  ])
