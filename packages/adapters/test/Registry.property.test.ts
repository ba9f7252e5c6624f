/**
 * What every adapter of the registry keeps on input that was not recorded. A new adapter is held to it by its line in the registry and its
 * fixtures, without its own test.
 */
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { differences } from "../src/conformance.ts"
import { noise } from "../src/conformance/Hostile.ts"
import { invariantProblems } from "../src/conformance/Invariants.ts"
import { randomNumbers, replay, type Recording } from "../src/conformance/Replay.ts"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { tries } from "@corral/testing/time/Effort"

/** Every line of a program that prints text is text: there is no noise, and no output marks its end. */
const printsText = (id: string): boolean => id === "text"

const NEWLINE = 10

/** Where lines end: after each newline. */
const lineEnds = (bytes: Uint8Array): ReadonlyArray<number> => {
  const ends: Array<number> = []
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) ends.push(at + 1)
  return ends
}

/** What was said of the run itself: without what says that something was not understood. */
const understood = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> =>
  outputs.filter(
    (output) =>
      output._tag !== "Unknown" &&
      !(output._tag === "Event" && output.event.type === "schema.validation_failed")
  )

/** What a completed run is about: what was said and done, without the counting. */
const told = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<AdapterOutput> =>
  understood(outputs).filter(({ _tag }) => _tag === "Event" || _tag === "Approval" || _tag === "Artifact")

const completes = (outputs: ReadonlyArray<AdapterOutput>): boolean => {
  const last = outputs.at(-1)
  return last?._tag === "Outcome" && last.outcome._tag === "Completed"
}

/** Bytes of no program: at random, and pieces of the program's lines at random places. */
const nonsense = (recording: Recording | undefined, seed: number): Uint8Array => {
  const random = randomNumbers(seed)
  const { stdout = new Uint8Array() } = recording ?? {}
  const pieces = Array.from({ length: random(40) }, () => {
    if (random(2) === 0) return Uint8Array.from({ length: random(60) }, () => random(256))
    const at = random(stdout.length + 1)
    return stdout.subarray(at, at + random(300))
  })
  return Buffer.concat(pieces)
}

/** Everything that can be called while bytes come, with names that may not exist. */
const disturbed = (adapter: RuntimeAdapter, { start, exit }: Recording, bytes: Uint8Array, seed: number) => {
  const random = randomNumbers(seed)
  const protocol = adapter.protocol(start)
  const keys = ["", "0", "1", "__proto__", "constructor"]
  const outputs: Array<AdapterOutput> = []
  for (let at = 0; at < bytes.length;) {
    const size = 1 + random(200)
    for (const output of protocol.step(bytes.subarray(at, at + size))) {
      outputs.push(output)
      if (output._tag === "Approval") keys.push(output.key)
    }
    at += size
    const key = keys[random(keys.length)] ?? ""
    const decision = (["allow", "deny", "cancel"] as const)[random(3)] ?? "deny"
    if (random(4) === 0) protocol.answer(key, { decision, scope: "once" })
    if (random(16) === 0) protocol.input("Go on.")
    if (random(40) === 0) protocol.cancel()
  }
  return [...outputs, ...protocol.end(exit)]
}

const shape = (object: object): string => JSON.stringify(Reflect.ownKeys(object).map(String))
const prototypes = [Object.prototype, Array.prototype, Function.prototype]
let before: ReadonlyArray<string>
beforeEach(() => {
  before = prototypes.map(shape)
})
afterEach(() => {
  assert.deepStrictEqual(prototypes.map(shape), before, "a prototype was changed")
})

for (const [id, adapter] of registry) {
  const all = recordings(id)
  describe(id, () => {
    for (const recording of all) {
      const { name, stdout } = recording
      const whole = replay(adapter, recording, [stdout])

      it(`${name}: files of the workspace are reported with relative paths`, () => {
        const files = whole.flatMap((output) => {
          if (output._tag === "Approval") return [output.request.cwd, ...(output.request.files ?? [])]
          return output._tag === "Event" && "path" in output.event.payload ? [output.event.payload.path] : []
        })
        const { workspacePath } = recording.start
        assert.deepStrictEqual(
          files.filter((file) => file?.startsWith(workspacePath) === true),
          []
        )
      })

      it.skipIf(printsText(id))(`${name}: noise between lines costs only itself`, () => {
        const ends = [0, ...lineEnds(stdout)]
        for (const [at, line] of noise.entries()) {
          const place = ends[randomNumbers(at + stdout.length)(ends.length)] ?? 0
          const bytes = Buffer.concat([
            stdout.subarray(0, place),
            line,
            Buffer.from("\n"),
            stdout.subarray(place)
          ])
          const outputs = replay(adapter, recording, [bytes])
          const what = `noise ${at} at byte ${place}`
          assert.deepStrictEqual(differences(what, understood(outputs), understood(whole)), [])
        }
      })

      it.skipIf(printsText(id))(`${name}: cut anywhere, it completes only with all that it said`, () => {
        const random = randomNumbers(stdout.length)
        const places = new Set([
          ...lineEnds(stdout).flatMap((end) => [end - 2, end - 1, end]),
          ...Array.from({ length: 40 }, () => random(stdout.length + 1))
        ])
        for (const place of places) {
          const outputs = replay(adapter, recording, [stdout.subarray(0, Math.max(0, place))])
          if (completes(outputs))
            assert.deepStrictEqual(differences(`cut at ${place}`, told(outputs), told(whole)), [])
        }
      })
    }

    it.prop(
      "no bytes and no calls break it: one outcome each time",
      [Schema.Int],
      ([seed]) => {
        const recording = all[Math.abs(seed) % all.length]
        assert(recording !== undefined)
        const bytes = nonsense(recording, seed)
        assert.deepStrictEqual(invariantProblems(replay(adapter, recording, [bytes])), [])
        assert.deepStrictEqual(invariantProblems(disturbed(adapter, recording, bytes, seed)), [])
        assert.deepStrictEqual(invariantProblems(disturbed(adapter, recording, recording.stdout, seed)), [])
      },
      tries(25)
    )
  })
}
