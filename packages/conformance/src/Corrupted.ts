/**
 * Checks of output that no program should print: a recording that was corrupted by noise, lost and doubled lines, cuts, later versions and secrets in
 * unreadable lines; and output without end, of which a protocol holds one line at most.
 */
import { MAX_LINE_BYTES } from "@corral/adapters/text/Lines"
import type { Protocol, RuntimeAdapter, RunStart, AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { catching, type Finding, findingsOf, type RuleId } from "./Rules.ts"
import { differences } from "./Recorded.ts"
import * as Hostile from "./Hostile.ts"
import { invariantFindings, MachineRun } from "./Invariants.ts"
import { randomNumbers, replay, type Recording } from "./Replay.ts"

setFlagsFromString("--expose-gc")
const collect: unknown = runInNewContext("gc")

/** Bytes that this thread uses: at least what it holds. */
const usedBytes = (): number => {
  const { external_memory, used_heap_size } = getHeapStatistics()
  return external_memory + used_heap_size
}

/** Bytes that this thread holds, after a collection of the others. Memory outside the heap is released after a collection: the next one waits for it, also a minor one. */
const held = (): number => {
  if (typeof collect === "function") {
    collect()
    collect({ type: "minor" })
  }
  return usedBytes()
}

const READS = 320
const READ_BYTES = 65_536
/** A line at its limit, its copy as text, and what a collection leaves. */
const LIMIT = 1.75 * MAX_LINE_BYTES

const endless = Buffer.alloc(READ_BYTES, '{"type":"')
const lines = Buffer.alloc(READ_BYTES, `{"type":"corral_conformance","text":"${"x".repeat(460)}"}\n`)

/** Bytes held since then, or an upper bound below the limit. A collection takes many times as long as the reads between two of them. */
const heldSince = (before: number): number => {
  const most = usedBytes() - before
  if (most < LIMIT) return most
  if (typeof collect === "function") collect({ type: "minor" })
  const fewer = usedBytes() - before
  return fewer < LIMIT ? fewer : held() - before
}

/** 20 MiB in reads. The most that was held: a little below the limit of a line, and long after. */
const mostHeld = (protocol: Protocol, read: Uint8Array, before: number): number => {
  let most = 0
  for (let at = 1; at <= READS; at++) {
    protocol.step(read)
    if (at === 120 || at === READS - 4) most = Math.max(most, heldSince(before))
  }
  // Alive until here.
  protocol.cancel()
  return most
}

export const memoryFindings = (adapter: RuntimeAdapter, start: RunStart): ReadonlyArray<Finding> =>
  catching("throws", "20 MiB of output", () => {
    const before = held()
    return findingsOf(
      "memory",
      (
        [
          ["without a line end", endless],
          ["of unknown lines", lines]
        ] as const
      ).flatMap(([name, read]) => {
        const most = mostHeld(adapter.protocol(start), read, before)
        return most < LIMIT ? [] : [`it holds ${Math.round(most / 1e6)} MB after 20 MiB ${name}`]
      })
    )
  })

/** An output without its printed form. */
const withoutRaw = (output: AdapterOutput): AdapterOutput =>
  output._tag === "Unknown" ? { _tag: "Unknown", what: output.what } : output

/** What was said of the run itself: without what says that something was not understood. */
const understood = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> =>
  outputs.filter(
    (output) =>
      output._tag !== "Unknown" &&
      !(output._tag === "Event" && output.event.type === "schema.validation_failed")
  )

/** What was said and done, without the counting. */
const content = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> =>
  understood(outputs).filter(({ _tag }) => _tag === "Event" || _tag === "Approval" || _tag === "Artifact")

/** Whether the output may complete a run. */
const mayComplete = (output: AdapterOutput): boolean =>
  output._tag === "TurnStarted" || (output._tag === "Outcome" && output.outcome._tag === "Completed")

/** Whether the run of these outputs completes. With an open question, a person decides whether it does. */
const completes = (outputs: ReadonlyArray<AdapterOutput>): boolean => {
  // Most cuts fail: no machine is needed to see it.
  if (!outputs.some(mayComplete)) return false
  const { state } = new MachineRun(outputs)
  return state.status === "completed" && !state.resolvedInputs.values().includes("cancelled")
}

const labelled = (name: string, findings: ReadonlyArray<Finding>): ReadonlyArray<Finding> =>
  findings.map(({ message, rule }) => ({ rule, message: `${name}: ${message}` }))

const NEWLINE = 10

/** Where lines end: after each newline. */
const lineEnds = (bytes: Uint8Array): ReadonlyArray<number> => {
  const ends: Array<number> = []
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) ends.push(at + 1)
  return ends
}

const inserted = (bytes: Uint8Array, at: number, line: Uint8Array): Uint8Array =>
  Buffer.concat([bytes.subarray(0, at), line, Buffer.from("\n"), bytes.subarray(at)])

/** Valid outputs on each corruption; an exception is a violation of `rule`. */
const corruptions = (
  stdout: Uint8Array,
  runs: number
): ReadonlyArray<readonly [RuleId, string, ReadonlyArray<Uint8Array>]> => {
  const random = randomNumbers(stdout.length)
  const places = Array.from({ length: Math.min(stdout.length, 3 * runs, 24) }, () => random(stdout.length))
  return [
    ["unknown-input", "noise", [Hostile.withNoise(stdout)]],
    ["throws", "every line twice", [Hostile.withEveryLineTwice(stdout)]],
    ["throws", "no last line", [Hostile.withoutLastLine(stdout)]],
    ["throws", "a huge line", Hostile.withHugeLine(stdout, MAX_LINE_BYTES + 1)],
    ...places.map((at) => ["throws", `cut at ${at}`, [stdout.subarray(0, at)]] as const),
    ...Hostile.cutCharacters.map(
      (bytes, at) => ["truncated-text", `cut character ${at}`, [stdout, bytes]] as const
    )
  ]
}

const noiseFindings = (
  adapter: RuntimeAdapter,
  recording: Recording,
  whole: ReadonlyArray<AdapterOutput>
) => {
  const { stdout } = recording
  const expected = understood(whole)
  const ends = [0, ...lineEnds(stdout)]
  return Hostile.noise.flatMap((line, at) => {
    const place = ends[randomNumbers(at + stdout.length)(ends.length)] ?? 0
    const where = `noise ${at} at byte ${place}`
    return catching("unknown-input", where, () =>
      findingsOf(
        "noise",
        differences(where, understood(replay(adapter, recording, [inserted(stdout, place, line)])), expected)
      )
    )
  })
}

const truncationFindings = (
  adapter: RuntimeAdapter,
  recording: Recording,
  whole: ReadonlyArray<AdapterOutput>,
  runs: number
) => {
  const { stdout } = recording
  const expected = content(whole)
  const random = randomNumbers(stdout.length)
  const ends = lineEnds(stdout)
  const count = Math.min(8 * runs, 60)
  const chosen =
    ends.length <= count ? ends : Array.from({ length: count }, () => ends[random(ends.length)] ?? 0)
  const places = [
    ...chosen.flatMap((end) => [end - 2, end - 1, end]),
    ...Array.from({ length: Math.min(5 * runs, 40) }, () => random(stdout.length + 1))
  ]
  return catching("throws", "cut", () =>
    [...new Set(places)].flatMap((place) => {
      const outputs = replay(adapter, recording, [stdout.subarray(0, Math.max(0, place))])
      return completes(outputs)
        ? findingsOf("truncated-output", differences(`cut at ${place}`, content(outputs), expected))
        : []
    })
  )
}

const SECRET = "corral-conformance-secret-5e1f"
/** Lines that no program means: their content may be anything, also a key. */
const unreadable = [`{"token":"${SECRET}"`, `Error: ${SECRET}`].map((line) => Buffer.from(line))

const secretFindings = (adapter: RuntimeAdapter, recording: Recording) =>
  catching("unknown-input", "an unreadable line", () =>
    unreadable.flatMap((line) => {
      const outputs = replay(adapter, recording, [inserted(recording.stdout, 0, line)])
      const leak = outputs.find((output) => JSON.stringify(output).includes(SECRET))
      return findingsOf(
        "secrets",
        leak === undefined ? [] : [`the content of an unreadable line is in ${leak._tag}`]
      )
    })
  )

/** `runs`: examples of a property. With fewer, the recording is cut at fewer places. */
export const corruptedFindings = (
  adapter: RuntimeAdapter,
  recording: Recording,
  runs: number
): ReadonlyArray<Finding> =>
  catching("throws", "as recorded", () => {
    const { isText = false, stdout } = recording
    const whole = replay(adapter, recording, [stdout])
    const valid = corruptions(stdout, runs).flatMap(([rule, name, reads]) =>
      catching(rule, name, () =>
        labelled(name, invariantFindings(replay(adapter, recording, reads), adapter))
      )
    )
    if (isText) return valid
    const reordered = replay(adapter, recording, [Hostile.withReorderedKeys(stdout)])
    return [
      ...valid,
      ...findingsOf(
        "later-versions",
        differences("reordered keys", reordered.map(withoutRaw), whole.map(withoutRaw))
      ),
      ...noiseFindings(adapter, recording, whole),
      ...truncationFindings(adapter, recording, whole, runs),
      ...secretFindings(adapter, recording)
    ]
  })
