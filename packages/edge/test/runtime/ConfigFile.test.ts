import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { makeText } from "@corral/adapters/Text"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ConfigFile, openConfigFile } from "../../src/runtime/ConfigFile.ts"
import { temporaryFolder } from "../Folder.ts"

const silent = makeText({ label: "Silent", command: ["true"], stdin: "prompt", install: "" })
const waiting: RuntimeAdapter = {
  ...silent,
  id: "asking",
  capabilities: { ...silent.capabilities, approvals: true }
}
const adapters = new Map([waiting, { ...silent, id: "silent" }].map((adapter) => [adapter.id, adapter]))

const profile = { id: "quick", label: "Quick", adapter: "asking" }
const runner = { id: "mine", label: "Mine", runtime: "text", command: ["tool", "{prompt}"] }

/** What a file of that content says when an Edge starts with it. */
const refusal = (content: unknown, mode = 0o600) =>
  Effect.gen(function* () {
    const file = join(yield* temporaryFolder, "edge.config.json")
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
    chmodSync(file, mode)
    const { message } = yield* Effect.flip(openConfigFile(file, adapters))
    assert.isTrue(message.startsWith(`${file} is not usable: `), message)
    assert.notInclude(message, "\n")
    return message.slice(`${file} is not usable: `.length)
  })

const ids = ({ look }: ConfigFile) => Effect.map(look, ({ offers }) => [...offers.byId.keys()])
const builtIn = ["asking", "silent", "aider", "goose", "llm"]

describe("ConfigFile", () => {
  it.effect("offers adapters and presets where there is no file", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "edge.config.json")
      assert.deepStrictEqual(yield* ids(yield* openConfigFile(file, adapters)), builtIn)
      assert.deepStrictEqual(yield* ids(yield* openConfigFile(undefined, adapters)), builtIn)
    })
  )

  const refused: ReadonlyArray<readonly [content: unknown, message: string]> = [
    ["{", "it is not JSON."],
    ["", "it is not JSON."],
    [[], "Expected object."],
    [{ profile: [] }, "profile: Not a field of this object."],
    [{ profiles: [{ ...profile, modes: 1 }] }, "profiles.0.modes: Not a field of this object."],
    [{ profiles: [{ ...profile, id: "a b" }] }, /^profiles\.0\.id: Expected an id/.source],
    [{ profiles: [{ ...profile, mode: "root" }] }, /^profiles\.0\.mode: Expected "read_only"/.source],
    [{ profiles: [{ ...profile, env: ["CORRAL_HOME"] }] }, /^profiles\.0\.env\.0: Expected/.source],
    [{ profiles: [{ ...profile, env: ["LD_PRELOAD"] }] }, /^profiles\.0\.env\.0: Expected/.source],
    [{ profiles: [{ ...profile, env: ["ANTHROPIC_*"] }] }, /^profiles\.0\.env\.0: Expected/.source],
    [{ profiles: [{ ...profile, program: "./tool" }] }, /^profiles\.0\.program: Expected/.source],
    [{ profiles: [{ ...profile, grants: ["root"] }] }, /^profiles\.0\.grants\.0: Expected/.source],
    [
      { profiles: [{ ...profile, grants: [{ action: "shell", command: ["sudo", "ls"] }] }] },
      /^profiles\.0\.grants\.0: Expected a grant to name a program/.source
    ],
    [
      { profiles: [{ ...profile, adapter: "none" }] },
      "profiles.0.adapter: there is no such adapter; there are asking, silent."
    ],
    [{ profiles: [{ ...profile, id: "silent" }] }, "profiles.0.id: this id is taken."],
    [{ profiles: [{ ...profile, id: "aider" }] }, "profiles.0.id: this id is taken."],
    [{ profiles: [profile, profile] }, "profiles.1.id: this id is taken."],
    [{ profiles: [profile], runners: [{ ...runner, id: "quick" }] }, "profiles.0.id: this id is taken."],
    [
      { profiles: [{ ...profile, adapter: "silent", mode: "ask" }] },
      "profiles.0.mode: this adapter cannot be held to such a mode."
    ],
    [{ runners: [{ ...runner, id: "asking" }] }, "runners.0.id: this id is taken."],
    [{ runners: [{ ...runner, command: [] }] }, /^runners\.0\.command/.source],
    [
      { runners: [{ ...runner, command: ["bin/tool", "{prompt}"] }] },
      /^runners\.0: Expected a command/.source
    ],
    [{ runners: [{ ...runner, command: ["tool"] }] }, /^runners\.0: Expected a place for the prompt/.source],
    [{ runners: [{ ...runner, runtime: "asking" }] }, /^runners\.0\.runtime: Expected "text"/.source],
    [{ runners: [{ ...runner, runtime: "json-lines" }] }, /^runners\.0: Expected a map with/.source],
    [{ runners: [{ ...runner, map: { type: "kind" } }] }, /^runners\.0: Expected a map with/.source],
    [
      { runners: [{ ...runner, runtime: "json-lines", map: { type: "a..b" } }] },
      /^runners\.0\.map\.type: Expected names of fields/.source
    ],
    [
      {
        runners: [{ ...runner, runtime: "json-lines", map: { type: "kind", delta: { when: [], text: "x" } } }]
      },
      /^runners\.0\.map\.delta\.when/.source
    ],
    [
      { runners: [{ ...runner, runtime: "json-lines", map: { type: "kind", delta: { when: ["a"] } } }] },
      "runners.0.map.delta.text: Required."
    ]
  ]
  for (const [content, message] of refused) {
    it.effect(`stops a start with ${JSON.stringify(content)}`, () =>
      Effect.map(refusal(content), (text) =>
        message.startsWith("^") ? assert.match(text, new RegExp(message)) : assert.strictEqual(text, message)
      )
    )
  }

  it.effect("repeats nothing of what stands in it", () =>
    Effect.gen(function* () {
      const secret = "sk-very-secret"
      const text = yield* refusal({ profiles: [{ id: secret, label: 1, adapter: secret, mode: secret }] })
      assert.notInclude(text, secret)
      assert.notInclude(yield* refusal(`{"a": ${secret}}`), secret)
    })
  )

  it.effect("stops a start where others can write it, or it is no file", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refusal({}, 0o666), "others can write it; chmod it to 600.")
      assert.strictEqual(yield* refusal({}, 0o620), "others can write it; chmod it to 600.")
      const folder = yield* temporaryFolder
      mkdirSync(join(folder, "edge.config.json"))
      const { message } = yield* Effect.flip(openConfigFile(join(folder, "edge.config.json"), adapters))
      assert.include(message, "it is no file")
      writeFileSync(join(folder, "readable"), "{}", { mode: 0o644 })
      yield* openConfigFile(join(folder, "readable"), adapters)
    })
  )

  it.effect("is what it is now at every use: written, replaced, spoilt, mended, removed", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "edge.config.json")
      const config = yield* openConfigFile(file, adapters)
      writeFileSync(file, JSON.stringify({ profiles: [profile] }))
      assert.include(yield* ids(config), "quick")

      writeFileSync(join(folder, "fresh"), JSON.stringify({ profiles: [{ ...profile, id: "other" }] }))
      renameSync(join(folder, "fresh"), file)
      assert.include(yield* ids(config), "other")
      assert.notInclude(yield* ids(config), "quick")

      writeFileSync(file, '{"profiles": [')
      assert.strictEqual((yield* config.look).problem, `${file} is not usable: it is not JSON.`)
      assert.include(yield* ids(config), "other")

      writeFileSync(file, JSON.stringify({ runners: [runner, { ...runner, id: "llm" }] }))
      const { offers, problem } = yield* config.look
      assert.isUndefined(problem)
      assert.strictEqual(offers.byId.get("llm")?.label, "Mine")
      assert.notInclude(yield* ids(config), "other")

      rmSync(file)
      assert.deepStrictEqual(yield* ids(config), builtIn)
    })
  )

  it.effect("is looked at once a second, and a spoilt one is logged once", () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    return Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "edge.config.json")
      yield* openConfigFile(file, adapters)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(logged, [])
      writeFileSync(file, "{")
      yield* TestClock.adjust("1 second")
      writeFileSync(file, "{ ")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(logged, [
        `${file} is not usable: it is not JSON. What it said before stays in use.`
      ])
      writeFileSync(file, "{}")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(logged.length, 2)
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
