import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readHubConfig } from "../../src/HubSettings.ts"

const [first, second] = ["a".repeat(32), "b".repeat(64)]

const read = (env: Readonly<Record<string, string>>) =>
  Effect.map(readHubConfig(env), ({ gatewayTokens = [] }) => gatewayTokens.map(Redacted.value))

describe("CORRAL_HUB_GATEWAY_TOKEN", () => {
  it.effect.each([
    ["", []],
    [first, [first]],
    [`${first},${second}`, [first, second]],
    [` ${first}\n\n${second} ,\n`, [first, second]]
  ] as const)("reads %j", ([text, expected]) =>
    Effect.map(read({ CORRAL_HUB_GATEWAY_TOKEN: text }), (tokens) =>
      assert.deepStrictEqual(tokens, [...expected])
    )
  )

  it.effect.each([" ,, ", "short", `${first},short`, `${"é".repeat(32)}`, "a".repeat(31)])(
    "refuses %j without repeating it",
    (text) =>
      Effect.map(Effect.flip(read({ CORRAL_HUB_GATEWAY_TOKEN: text })), ({ message }) => {
        assert.match(message, /^CORRAL_HUB_GATEWAY_TOKEN is not usable: expected /)
        assert.notInclude(message, text)
      })
  )

  it.effect("reads a file instead, and refuses both", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "corral-token-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const file = join(folder, "token")
      writeFileSync(file, `${first}\n${second}\n`)
      const env = { CORRAL_HUB_GATEWAY_TOKEN_FILE: file }
      assert.deepStrictEqual(yield* read(env), [first, second])
      const both = yield* Effect.flip(read({ ...env, CORRAL_HUB_GATEWAY_TOKEN: first }))
      assert.include(both.message, "CORRAL_HUB_GATEWAY_TOKEN_FILE")
    }).pipe(Effect.scoped)
  )
})
