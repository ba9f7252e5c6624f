/**
 * Checks of a recording as it was printed: the same outputs for any reads, as expected, and valid. Also the comparison of outputs, with each other and
 * with the expected ones.
 */
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { isDeepStrictEqual } from "node:util"
import { Buffer } from "node:buffer"
import { type Finding, findingsOf, catching } from "./Rules.ts"
import {
  approvalsNameFiles,
  deltasJoin,
  diffsOnce,
  idsUnique,
  invariantFindings,
  workReported
} from "./Invariants.ts"
import { cut, randomSizes, replay, type Recording } from "./Replay.ts"

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** A clause about the first output that differs; empty if none does. */
export const differences = (
  name: string,
  actual: ReadonlyArray<AdapterOutput>,
  expected: ReadonlyArray<AdapterOutput>
): ReadonlyArray<string> => {
  for (let at = 0; at < Math.max(actual.length, expected.length); at++) {
    const [a, b] = [actual[at], expected[at]]
    if (!isDeepStrictEqual(a, b)) return [`${name}: output ${at} is ${short(a)}, not ${short(b)}`]
  }
  return []
}

/** How often each output occurs, as JSON. */
const counted = (outputs: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const output of outputs) counts.set(output, (counts.get(output) ?? 0) + 1)
  return counts
}

/** What differs from the expected outputs: lost ones, repeated ones, changed ones, or their order. */
const goldenFindings = (
  outputs: ReadonlyArray<AdapterOutput>,
  golden: ReadonlyArray<unknown> | undefined
): ReadonlyArray<Finding> => {
  if (golden === undefined) return []
  const actual = outputs.map((output) => JSON.stringify(output))
  const expected = golden.map((output) => JSON.stringify(output))
  const [has, wants] = [counted(actual), counted(expected)]
  const lost = [...wants]
    .filter(([output, count]) => (has.get(output) ?? 0) < count)
    .map(([output]) => output)
  const more = [...has]
    .filter(([output, count]) => count > (wants.get(output) ?? 0))
    .map(([output]) => output)
  const repeated = more.filter((output) => wants.has(output))
  const added = more.filter((output) => !wants.has(output))
  if (lost.length > 0 && added.length > 0)
    return findingsOf("changed-output", [
      `an output is ${added[0]?.slice(0, 300)}, not ${lost[0]?.slice(0, 300)}`
    ])
  const at = actual.findIndex((output, index) => output !== expected[index])
  const isReordered = lost.length + more.length === 0 && at !== -1
  return [
    ...findingsOf(
      "lost-output",
      lost.slice(0, 1).map((output) => `there is no output ${output.slice(0, 300)}`)
    ),
    ...findingsOf(
      "repeated-output",
      repeated.slice(0, 1).map((output) => `more than once: ${output.slice(0, 300)}`)
    ),
    ...findingsOf(
      "changed-output",
      added.slice(0, 1).map((output) => `an output was not expected: ${output.slice(0, 300)}`)
    ),
    ...findingsOf(
      "order",
      isReordered ? [`output ${at} is ${actual[at]?.slice(0, 300)}, not ${expected[at]?.slice(0, 300)}`] : []
    )
  ]
}

const oneByteReads = (bytes: Uint8Array): ReadonlyArray<Uint8Array> => cut(bytes, Array(bytes.length).fill(1))

/** Outputs where the memory of each read is overwritten after it, as the Edge uses it again. */
const replayReused = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<AdapterOutput> => {
  const protocol = adapter.protocol(recording.start)
  for (const text of recording.inputs ?? []) protocol.input(text)
  const outputs = cut(recording.stdout, randomSizes(recording.stdout, 7)).flatMap((read) => {
    const reused = Buffer.from(read)
    const stepped = protocol.step(reused)
    reused.fill(0)
    return stepped
  })
  return [...outputs, ...protocol.end(recording.exit)]
}

/** Outputs of two runs of the same recording whose reads alternate. */
const replayInterleaved = (adapter: RuntimeAdapter, recording: Recording) => {
  const runs = [0, 1].map(() => ({
    protocol: adapter.protocol(recording.start),
    outputs: Array<AdapterOutput>()
  }))
  for (const { protocol } of runs) for (const text of recording.inputs ?? []) protocol.input(text)
  for (const read of cut(recording.stdout, randomSizes(recording.stdout, 11)))
    for (const { outputs, protocol } of runs) outputs.push(...protocol.step(read))
  for (const { outputs, protocol } of runs) outputs.push(...protocol.end(recording.exit))
  return runs.map(({ outputs }) => outputs)
}

const laterOutputs: ReadonlySet<AdapterOutput["_tag"]> = new Set([
  "Work",
  "TurnStarted",
  "InputRequested",
  "InputWithdrawn"
])

/** Outputs that the version of the adapter does not have. */
const versionFindings = (
  { specificationVersion }: RuntimeAdapter,
  outputs: ReadonlyArray<AdapterOutput>
): ReadonlyArray<Finding> => {
  const later = outputs.find(({ _tag }) => laterOutputs.has(_tag))
  return specificationVersion === 1 && later !== undefined
    ? findingsOf("specification-version", [`${later._tag} needs version 2`])
    : []
}

const outcomeFindings = (
  outputs: ReadonlyArray<AdapterOutput>,
  { expected }: Recording
): ReadonlyArray<Finding> => {
  if (expected === undefined) return []
  const last = outputs.findLast(({ _tag }) => _tag === "Outcome")
  const outcome = last?._tag === "Outcome" ? last.outcome : undefined
  if (outcome === undefined) return []
  const reason = outcome._tag === "Failed" ? outcome.error.details?.["reason"] : undefined
  const actual = `${outcome._tag} ${String(reason)}`
  const wanted = `${expected.outcome} ${String(expected.reason)}`
  return findingsOf("outcome-wrong", actual === wanted ? [] : [`it ended as ${actual}, not ${wanted}`])
}

/** Absolute paths of the workspace in the outputs. */
const relativePaths = (outputs: ReadonlyArray<AdapterOutput>, { start }: Recording): ReadonlyArray<string> =>
  outputs
    .flatMap((output) => {
      if (output._tag === "Approval") return [output.request.cwd, ...(output.request.files ?? [])]
      return output._tag === "Event" && "path" in output.event.payload ? [output.event.payload.path] : []
    })
    .filter((path) => path?.startsWith(start.workspacePath) === true)
    .map((path) => `${path} is absolute`)

const turnsIn = (outputs: ReadonlyArray<AdapterOutput>): number =>
  1 + outputs.filter(({ _tag }) => _tag === "TurnStarted").length

export const recordedFindings = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<Finding> =>
  catching("throws", "as recorded", () => {
    const { chunkSizes, inputs = [], stdout } = recording
    const whole = replay(adapter, recording, [stdout])
    const again = differences("a second time", replay(adapter, recording, [stdout]), whole)
    if (again.length > 0) return findingsOf("determinism", again)
    const invalid = invariantFindings(whole, adapter)
    if (invalid.some(({ rule }) => rule === "schema")) return invalid
    const reads: ReadonlyArray<readonly [string, ReadonlyArray<Uint8Array>]> = [
      ["at 1 byte", oneByteReads(stdout)],
      ["as recorded", cut(stdout, chunkSizes)],
      ...[1, 2, 3].map((seed) => [`at random ${seed}`, cut(stdout, randomSizes(stdout, seed))] as const)
    ]
    const chunked = catching("truncated-text", "at any reads", () =>
      findingsOf(
        "chunk-boundaries",
        reads.flatMap(([name, each]) => differences(name, replay(adapter, recording, each), whole))
      )
    )
    return [
      ...invalid,
      ...chunked,
      // Both would find the same fault.
      ...(chunked.length > 0
        ? []
        : [
            ...findingsOf(
              "copied-input",
              differences("with memory used again", replayReused(adapter, recording), whole)
            ),
            ...findingsOf(
              "shared-state",
              replayInterleaved(adapter, recording).flatMap((outputs) =>
                differences("next to another run", outputs, whole)
              )
            )
          ]),
      ...versionFindings(adapter, whole),
      ...workReported(whole),
      ...idsUnique(whole),
      ...goldenFindings(whole, recording.outputs),
      ...outcomeFindings(whole, recording),
      ...findingsOf("message-text", deltasJoin(whole)),
      ...findingsOf("approval-files", approvalsNameFiles(whole)),
      ...findingsOf("diff-once", diffsOnce(whole, turnsIn(whole) + inputs.length)),
      ...findingsOf("relative-paths", relativePaths(whole, recording))
    ]
  })
