/** Secrets in the raw output of a run, divided in every way: over reads, over lines of JSON, and by escapes. */
import { assert, describe, it } from "@effect/vitest"
import type { RawRecord } from "@corral/domain/run/RawOutput"
import * as fc from "fast-check"
import { RawRun } from "../../src/raw/RawRun.ts"

const KEY = "sk-proj-A1b2C3d4E5f6G7h8"
const VALUE = 'correct "horse" battery'
/** Long enough to be recognized, and in no other text of these tests. */
const FRAGMENT = 6

interface Recorded {
  readonly records: ReadonlyArray<RawRecord>
  readonly lines: ReadonlyArray<string>
}

/** Records reads, then the end. */
const record = (
  reads: ReadonlyArray<string | Uint8Array>,
  values: Iterable<string> = [],
  stderr = ""
): Recorded => {
  const records: Array<RawRecord> = []
  let time = 0
  const run = new RawRun({
    sink: { written: 0, append: (more) => void records.push(...more) },
    secrets: { values: new Set(values) },
    now: () => time++
  })
  for (const read of reads) run.push(typeof read === "string" ? Buffer.from(read) : read)
  run.end({ code: 0, signal: null, stderr })
  return {
    records,
    lines: records.flatMap((each) => ("stream" in each && each.stream === "stdout" ? [each.text] : []))
  }
}

const cut = (text: string, places: ReadonlyArray<number>): ReadonlyArray<string> => {
  const sorted = [0, ...[...places].toSorted((a, b) => a - b), text.length]
  return sorted.slice(1).map((to, i) => text.slice(sorted[i], to))
}

/** Parts of the secret that a text shows, of some length. */
const fragmentsIn = (text: string, secret: string): ReadonlyArray<string> =>
  Array.from({ length: secret.length - FRAGMENT + 1 }, (_, at) => secret.slice(at, at + FRAGMENT)).filter(
    (part) => text.includes(part)
  )

const assertHidden = (shown: string, secret: string): void =>
  assert.deepStrictEqual(fragmentsIn(shown, secret), [], shown)

describe("raw output", () => {
  it("has no secret of a line with many strings", () => {
    const strings = Array.from({ length: 20_000 }, (_, n) => `sk-${n % 7}`)
    const { lines } = record([`${JSON.stringify({ strings, key: VALUE, other: KEY })}\n`], [VALUE])
    for (const secret of [VALUE, KEY]) assertHidden(lines.join("\n"), secret)
  })

  it("has no secret that two reads divide, wherever", () => {
    for (const text of [
      `The key is ${KEY}, keep it.\n`,
      `${JSON.stringify({ type: "text", text: `a ${KEY}` })}\n{"type":"end"}\n`,
      `${JSON.stringify({ key: VALUE })}\nplain ${VALUE}\n${JSON.stringify({ nested: JSON.stringify({ key: VALUE }) })}\n`
    ])
      for (let at = 0; at <= text.length; at++) {
        const { lines } = record(cut(text, [at]), [VALUE])
        assertHidden(lines.join("\n"), KEY)
        assertHidden(lines.join("\n").replaceAll("\\", ""), VALUE)
        assert.lengthOf(lines, text.split("\n").length - 1)
      }
  })

  it("has no secret that the deltas of a message divide, wherever", () => {
    const text = `The key is ${KEY}, keep it. `
    for (let at = 0; at <= text.length; at++)
      for (let to = at; to <= text.length; to++) {
        const deltas = cut(text, [at, to])
        const { lines } = record(deltas.map((delta) => `${JSON.stringify({ type: "delta", text: delta })}\n`))
        const joined = lines.map((line) => JSON.parse(line).text).join("")
        assertHidden(joined, KEY)
        assert.lengthOf(lines, 3)
      }
  })

  it("has no secret in any deltas of any size, with other lines between them", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(KEY.length), { maxLength: 6 }),
        fc.array(fc.nat(7), { minLength: 7, maxLength: 7 }),
        fc.array(fc.nat(400), { maxLength: 8 }),
        (places, others, reads) => {
          const output = cut(`token ${KEY} `, places)
            .map(
              (delta, i) =>
                `{"delta":{"text":${JSON.stringify(delta)}}}\n${'{"type":"ping","n":1}\n'.repeat(others[i] ?? 0)}`
            )
            .join("")
          const { lines } = record(cut(output, reads))
          const joined = lines.flatMap((line) => JSON.parse(line).delta?.text ?? []).join("")
          assertHidden(joined, KEY)
        }
      )
    )
  })

  it("has no secret that escapes hide", () => {
    const escaped = [...KEY].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
    const { lines } = record([`{"text":"a ${escaped} b"}\n`])
    assert.deepStrictEqual(lines, ['{"text":"a [redacted] b"}'])
  })

  it("has no private key over several lines, and no secret of stderr", () => {
    const lines = Array.from(
      { length: 5 },
      (_, i) => `${String(i).repeat(4)}MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${i}`
    )
    const key = `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----`
    const text = `before\n${key}\nafter\n`
    for (let at = 0; at <= text.length; at += 3)
      assert.deepStrictEqual(record(cut(text, [at])).lines, ["before", "[redacted]", "after"])
    const { records } = record([], [], `failed with ${KEY}\n`)
    assert.deepInclude(records[0], { stream: "stderr", text: "failed with [redacted]\n" })
  })

  it("is what the program printed where nothing is secret, for any reads", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.json({ maxDepth: 3 })), { maxLength: 30 }),
        fc.array(fc.nat(2_000), { maxLength: 10 }),
        (texts, places) => {
          const printed = texts.map((text) => text.replaceAll(/[\n\r\uFEFF]/g, "").toWellFormed())
          const bytes = Buffer.from(printed.map((text) => `${text}\n`).join(""))
          const cuts = [...places.map((place) => Math.min(place, bytes.length)), bytes.length].toSorted(
            (a, b) => a - b
          )
          const { lines, records } = record(cuts.map((to, i) => bytes.subarray(cuts[i - 1] ?? 0, to)))
          assert.deepStrictEqual(lines, printed)
          const ends = records.flatMap((each) => ("end" in each ? [each.end] : []))
          if (bytes.length > 0) assert.strictEqual(ends.at(-1), bytes.length)
        }
      )
    )
  })

  it("shows the beginning of a line that is too long, with its length", () => {
    const { records } = record([`${KEY} `.repeat(20_000), "\nnext\n"])
    const [first, second] = records
    assert.deepInclude(first, { stream: "stdout", bytes: (KEY.length + 1) * 20_000 })
    assertHidden(JSON.stringify(first), KEY)
    assert.deepInclude(second, { text: "next" })
  })

  it("takes a value for secret from the read on that follows its learning", () => {
    const records: Array<RawRecord> = []
    const values = new Set<string>()
    const run = new RawRun({
      sink: { written: 0, append: (more) => void records.push(...more) },
      secrets: { values },
      now: () => 0
    })
    values.add(VALUE)
    run.push(Buffer.from(`you said ${VALUE}\n`))
    run.end({ code: 0, signal: null, stderr: "" })
    assert.deepInclude(records[0], { text: "you said [redacted]" })
  })
})
