import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { editorTokenOf, LocalToken } from "../src/LocalToken.ts"
import { temporaryFolder } from "./Folder.ts"

const opensAgentHost = (file: string, candidates: (editorToken: string) => ReadonlyArray<string>) =>
  Effect.map(LocalToken, ({ editorToken, matchesEditor }) => candidates(editorToken).map(matchesEditor)).pipe(
    Effect.provide(LocalToken.layer(file))
  )
const matches = (file: string, ...candidates: ReadonlyArray<string>) =>
  Effect.map(LocalToken, (token) => candidates.map((each) => token.matches(each))).pipe(
    Effect.provide(LocalToken.layer(file))
  )
const refusal = (file: string) => Effect.map(Effect.flip(matches(file)), ({ message }) => message)
const modeOf = (path: string) => statSync(path).mode & 0o777
const held = (file: string) => readFileSync(file, "utf8").trim()
const good = "x".repeat(32)

/** A file that does not exist yet, in a folder that does not either. */
const tokenFile = Effect.map(temporaryFolder, (folder) => join(folder, "home", "edge.token"))

describe("LocalToken", () => {
  it.effect("makes one of 256 bits that its owner alone can read", () =>
    Effect.gen(function* () {
      const file = yield* tokenFile
      yield* matches(file)
      const token = held(file)
      assert.match(token, /^corral_e_[\w-]{43}$/)
      assert.strictEqual(modeOf(file), 0o600)
      assert.strictEqual(modeOf(dirname(file)), 0o700)
      assert.deepStrictEqual(readdirSync(dirname(file)), ["edge.token"])
      const candidates = [
        token,
        `${token}\n`,
        ` ${token}`,
        `${token}x`,
        token.slice(1),
        token.toUpperCase(),
        ""
      ]
      assert.deepStrictEqual(yield* matches(file, ...candidates), [
        true,
        false,
        false,
        false,
        false,
        false,
        false
      ])
    })
  )

  it.effect("has another token that opens the agent host only", () =>
    Effect.gen(function* () {
      const file = yield* tokenFile
      yield* matches(file)
      const editorToken = editorTokenOf(held(file))
      assert.match(editorToken, /^corral_ahp_[\w-]{43}$/)
      assert.deepStrictEqual(yield* matches(file, editorToken), [false])
      const opened = yield* opensAgentHost(file, (derived) => [
        derived,
        editorToken,
        held(file),
        `${derived}x`,
        ""
      ])
      assert.deepStrictEqual(opened, [true, true, true, false, false])
    })
  )

  it.effect("uses the one that is there, and makes another for another file", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* tokenFile, yield* tokenFile]
      yield* matches(one)
      yield* matches(other)
      const token = held(one)
      assert.deepStrictEqual(yield* matches(one, token, held(other)), [true, false])
      assert.strictEqual(held(one), token)
    })
  )

  it.effect("takes one that a person wrote, with or without a last newline", () =>
    Effect.gen(function* () {
      const file = yield* tokenFile
      mkdirSync(dirname(file))
      for (const content of [good, `${good}\n`, `${good}\r\n`]) {
        writeFileSync(file, content, { mode: 0o600 })
        assert.deepStrictEqual(yield* matches(file, good), [true])
      }
    })
  )

  it.effect("refuses a file that others can read, and says what to do", () =>
    Effect.gen(function* () {
      const file = yield* tokenFile
      yield* matches(file)
      for (const mode of [0o644, 0o640, 0o604, 0o660, 0o620, 0o601]) {
        chmodSync(file, mode)
        assert.strictEqual(
          yield* refusal(file),
          `${file} can be read by others: chmod 600 it, or delete it for a new one`
        )
        assert.strictEqual(modeOf(file), mode, "left as it was")
      }
    })
  )

  it.effect("refuses a file without a usable token rather than accepting everything", () =>
    Effect.gen(function* () {
      const file = yield* tokenFile
      mkdirSync(dirname(file))
      for (const content of ["", "\n", " ".repeat(64), "short", "x".repeat(31)]) {
        writeFileSync(file, content, { mode: 0o600 })
        assert.strictEqual(yield* refusal(file), `${file} holds no usable token: delete it for a new one`)
      }
    })
  )

  it.effect("says where it could not write", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeFileSync(join(folder, "home"), "a file")
      assert.include(yield* refusal(join(folder, "home", "edge.token")), join(folder, "home"))
    })
  )
})
