/**
 * Properties on inputs that were not recorded: any reads, any changed bytes, and any calls meanwhile. A counterexample is shrunk.
 */
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import * as fc from "fast-check"
import { Buffer } from "node:buffer"
import { differences } from "./Recorded.ts"
import { invariantFindings } from "./Invariants.ts"
import { cut, replay, type Recording } from "./Replay.ts"
import { type Finding, findingsOf, thrownMessage } from "./Rules.ts"

export interface PropertyOptions {
  /** Examples of each property and recording. */
  readonly runs: number
  readonly seed?: number | undefined
}

/** Enough to make a counterexample readable. */
const MAX_SHRINKS = 60

const sizes = fc.array(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 700 })), {
  maxLength: 200
})

/** A change of some bytes: removed, repeated, replaced, or moved to the end. `at` is a share of the whole. */
const edits = fc.array(
  fc.record({
    kind: fc.constantFrom("remove", "repeat", "replace", "move"),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    size: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 400 })),
    bytes: fc.uint8Array({ maxLength: 12 })
  }),
  { minLength: 1, maxLength: 8 }
)
type Edit = typeof edits extends fc.Arbitrary<Array<infer E>> ? E : never

const edited = (bytes: Uint8Array, { at, bytes: other, kind, size }: Edit): Uint8Array => {
  const from = Math.floor(bytes.length * at)
  const [before, part, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, from + size),
    bytes.subarray(from + size)
  ]
  const parts = {
    remove: [before, after],
    repeat: [before, part, part, after],
    replace: [before, other, after],
    move: [before, after, part]
  }
  return Buffer.concat(parts[kind as keyof typeof parts])
}

const calls = fc.array(
  fc.record({
    what: fc.constantFrom("answer", "respond", "input", "cancel", "none", "none", "none"),
    key: fc.oneof(fc.constantFrom("", "0", "1", "__proto__", "constructor"), fc.string({ maxLength: 8 })),
    decision: fc.constantFrom("allow", "deny", "cancel"),
    size: fc.integer({ min: 1, max: 400 })
  }),
  { maxLength: 60 }
)
type Call = typeof calls extends fc.Arbitrary<Array<infer E>> ? E : never

/** Outputs of a run whose reads alternate with these calls. */
const disturbed = (
  adapter: RuntimeAdapter,
  { exit, start, stdout }: Recording,
  steps: ReadonlyArray<Call>
) => {
  const protocol = adapter.protocol(start)
  const outputs: Array<AdapterOutput> = []
  let at = 0
  let approvalKey: string | undefined
  let questionKey: string | undefined
  for (const { decision, key, size, what } of steps) {
    for (const output of protocol.step(stdout.slice(at, at + size))) {
      outputs.push(output)
      if (output._tag === "Approval") approvalKey = output.key
      if (output._tag === "InputRequested") questionKey = output.key
    }
    at += size
    if (what === "answer")
      protocol.answer(approvalKey ?? key, {
        decision: decision === "allow" ? "allow" : decision === "deny" ? "deny" : "cancel",
        scope: "once"
      })
    if (what === "respond") protocol.respond?.(questionKey ?? key, { _tag: "Unanswered", reason: "no one" })
    if (what === "input") protocol.input("Continue.")
    if (what === "cancel") protocol.cancel()
  }
  outputs.push(...protocol.step(stdout.slice(at)), ...protocol.end(exit))
  return outputs
}

/** The finding of a shrunk counterexample. */
const falsified = <A>(
  name: string,
  arbitrary: fc.Arbitrary<A>,
  { runs: numRuns, seed }: PropertyOptions,
  check: (example: A) => ReadonlyArray<Finding>
): ReadonlyArray<Finding> => {
  const findings = (example: A): ReadonlyArray<Finding> => {
    try {
      return check(example)
    } catch (cause) {
      return findingsOf("throws", [`it throws ${thrownMessage(cause)}`])
    }
  }
  let examples = 0
  // A counterexample is shrunk in a bounded number of steps.
  const property = fc.property(
    arbitrary,
    (example) => ++examples > numRuns + MAX_SHRINKS || findings(example).length === 0
  )
  const { counterexample } = fc.check(property, { numRuns, ...(seed === undefined ? {} : { seed }) })
  if (counterexample === null) return []
  const [example] = counterexample
  return findings(example).map(({ message, rule }) => ({
    rule,
    message: `${name} ${JSON.stringify(example).slice(0, 200)}: ${message}`
  }))
}

export const propertyFindings = (
  adapter: RuntimeAdapter,
  recording: Recording,
  options: PropertyOptions
): ReadonlyArray<Finding> => {
  const { stdout } = recording
  const outputs = (bytes: Uint8Array, reads: ReadonlyArray<number> = []) =>
    replay(adapter, recording, cut(bytes, reads))
  let whole: ReadonlyArray<AdapterOutput> | undefined
  return [
    ...falsified("at reads of", sizes, options, (reads) => {
      whole ??= outputs(stdout)
      return findingsOf("chunk-boundaries", differences("any reads", outputs(stdout, reads), whole))
    }),
    ...falsified("after", fc.tuple(edits, sizes), options, ([changes, reads]) => {
      const bytes = changes.reduce(edited, stdout)
      const whole = outputs(bytes)
      return [
        ...invariantFindings(whole, adapter),
        ...findingsOf("chunk-boundaries", differences("any reads", outputs(bytes, reads), whole))
      ]
    }),
    ...falsified("with the calls", calls, options, (steps) =>
      invariantFindings(disturbed(adapter, recording, steps), adapter)
    )
  ]
}
