/**
 * The conformance suite of adapters: give it an adapter and recordings of its real program, and run the checks in any test framework.
 *
 * ```ts
 * for (const check of conformance(adapter, recordings)) it(check.name, () => assert.deepStrictEqual(check.problems(), []))
 * ```
 *
 * It shows that reading is independent of chunking, that every run ends exactly once and as recorded, and that no input breaks it. It does
 * not show that the events mean what the program meant: golden outputs and a person's eye do.
 */
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { isDeepStrictEqual } from "node:util"
import * as Hostile from "./conformance/Hostile.ts"
import { always, approvalsNameFiles, cancelStops, deltasJoin, diffsOnce } from "./conformance/Invariants.ts"
import { cut, randomNumbers, randomSizes, replay, type Recording } from "./conformance/Replay.ts"
import { MAX_LINE_BYTES } from "./text/Lines.ts"

export interface Check {
  readonly name: string
  /** Sentences about what does not hold; none is good. It throws where the adapter does. */
  readonly problems: () => ReadonlyArray<string>
}

const oneByteReads = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => cut(bytes, Array(bytes.length).fill(1))

/** The first output that differs, said in a sentence. */
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

/** An output without how it was printed. */
const meant = (output: AdapterOutput): AdapterOutput =>
  output._tag === "Unknown" ? { _tag: "Unknown", what: output.what } : output

/** What a recording must give when it is read as it was printed. */
const faithful = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<string> => {
  const { stdout, chunkSizes, expected } = recording
  const whole = replay(adapter, recording, [stdout])
  const last = whole.at(-1)
  const outcome = last?._tag === "Outcome" ? last.outcome : undefined
  const reason = outcome?._tag === "Failed" ? outcome.error.details?.["reason"] : undefined
  const ending = `${outcome?._tag} ${String(reason)}`
  const wanted = `${expected.outcome} ${String(expected.reason)}`
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
    ...always(whole),
    ...deltasJoin(whole),
    ...approvalsNameFiles(whole),
    ...diffsOnce(whole, 1 + (recording.inputs?.length ?? 0)),
    ...(ending === wanted ? [] : [`it ended as ${ending}, not ${wanted}`])
  ]
}

/** What a recording must give when it is spoilt: whatever it is, valid outputs and one outcome. */
const unbreakable = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<string> => {
  const { stdout } = recording
  const whole = replay(adapter, recording, [stdout])
  const outputs = (bytes: Uint8Array) => replay(adapter, recording, [bytes])
  const random = randomNumbers(stdout.length)
  const places = Array.from({ length: Math.min(stdout.length, 24) }, () => random(stdout.length))
  const spoilt: ReadonlyArray<readonly [string, Uint8Array]> = [
    ["noise", Hostile.withNoise(stdout)],
    ["every line twice", Hostile.withEveryLineTwice(stdout)],
    ["no last line", Hostile.withoutLastLine(stdout)],
    ["a huge line", Hostile.withHugeLine(stdout, MAX_LINE_BYTES + 1)],
    ...places.map((at) => [`cut at ${at}`, stdout.subarray(0, at)] as const)
  ]
  return [
    ...spoilt.flatMap(([name, bytes]) => always(outputs(bytes)).map((problem) => `${name}: ${problem}`)),
    ...differences("reordered keys", outputs(Hostile.withReorderedKeys(stdout)).map(meant), whole.map(meant))
  ]
}

/** What a recording must give when the run is cancelled at any of its lines. */
const cancellable = (adapter: RuntimeAdapter, { exit, inputs = [], start, stdout }: Recording) => {
  const lines = Hostile.splitLines(stdout)
  const places = lines.length <= 40 ? lines.keys() : Array.from({ length: 40 }, (_, at) => at * 7)
  return [...places].flatMap((at) => {
    const protocol = adapter.protocol(start)
    for (const text of inputs) protocol.input(text)
    const before = protocol.step(Hostile.joinLines(lines.slice(0, at)))
    protocol.cancel()
    const after = [...protocol.step(Hostile.joinLines(lines.slice(at))), ...protocol.end(exit)]
    const problems = [...always([...before, ...after]), ...cancelStops(after)]
    return problems.map((problem) => `cancelled at line ${at}: ${problem}`)
  })
}

/** Three checks a recording. */
export const conformance = (
  adapter: RuntimeAdapter,
  recordings: ReadonlyArray<Recording>
): ReadonlyArray<Check> =>
  recordings.flatMap((recording) => [
    { name: `${recording.name}: as it was printed`, problems: () => faithful(adapter, recording) },
    { name: `${recording.name}: whatever is printed`, problems: () => unbreakable(adapter, recording) },
    { name: `${recording.name}: cancelled at any line`, problems: () => cancellable(adapter, recording) }
  ])
