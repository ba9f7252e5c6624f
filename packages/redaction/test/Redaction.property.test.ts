/** Redaction of a text in pieces: the result is the same as for the whole text. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Redaction } from "../src/Redaction.ts"
import { tries } from "@corral/testing/time/Effort"

const values = ["hunter2hunter2", "a secret with spaces", "a.b*c(d)e", "abcabcabd"]
const secrets = [
  ...values,
  "sk-ant-api03-AbCdEf123456789012",
  `ghp_${"a1".repeat(18)}`,
  "AKIAABCDEFGHIJ012345",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0xyz.c2lnbmF0dXJlMTIz",
  "Bearer abc.def-ghi123456789",
  "-----BEGIN RSA PRIVATE KEY-----\nMIIE-a\nabc=\n-----END RSA PRIVATE KEY-----",
  "PASSWORD=hunter2-and-more",
  'app_secret: "c0ffee-c0ffee"',
  "postgres://user:pa55-word@db.test/app",
  "SG.a1b2c3d4e5f6g7h8i9j0kl.a1b2c3d4e5f6g7h8i9j0kl",
  'dropbox_token = "abcdefghij12345"',
  "https://0a1b2c3d4e5f6a7b8c9d@git.test/"
]
/** What of a secret must not be left. */
const bare = (secret: string): string =>
  secret
    .replace(/^(?:Bearer |PASSWORD=|app_secret: "|postgres:\/\/user:|dropbox_token = "|https:\/\/)/, "")
    .replace(/(?:"|@db\.test\/app|@git\.test\/)$/, "")
/** Beginnings of secrets, what looks like them, and words. */
const words = [
  "s",
  "sk",
  "sk-",
  "--",
  "-----",
  "abcabc",
  "hunter2",
  "Bearer ",
  "eyJ",
  "xox",
  "a secret",
  "word",
  "PASSW",
  "token = ",
  "://",
  "é🐎"
]
const between = [" ", "\n", '"', "(", ": ", "?"]

/** Numbers that look random and come again with the same seed. */
const numbers = (seed: number) => {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

const textOf = (random: (below: number) => number): string => {
  const pick = (from: ReadonlyArray<string>): string => from[random(from.length)] ?? ""
  return Array.from(
    { length: 1 + random(8) },
    () => pick(between) + (random(3) === 0 ? pick(secrets) : pick(words))
  ).join("")
}

describe("Redaction", () => {
  it.prop(
    "of pieces is that of the whole",
    [Schema.Int],
    ([seed]) => {
      const random = numbers(seed)
      const redaction = new Redaction(values)
      const text = textOf(random)
      let received = ""
      let context = ""
      let held = ""
      for (let at = 0; at < text.length;) {
        const size = 1 + random(random(2) === 0 ? 4 : 40)
        held += text.slice(at, at + size)
        at += size
        const piece = redaction.piece(context, held)
        received += piece.shown
        context = piece.context
        held = piece.rest
      }
      received += redaction.after(context, held)
      assert.strictEqual(received, redaction.text(text))
      for (const secret of secrets) assert.notInclude(received, bare(secret))
    },
    tries(800)
  )
})
