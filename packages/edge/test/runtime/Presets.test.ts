import { makeText } from "@corral/adapters/Text"
import type { AgentId } from "@corral/domain/identity/Ids"
import { Conflict } from "@corral/domain/errors/Failures"
import type { CreatePreset } from "@corral/domain/run/Preset"
import { RunMode } from "@corral/domain/run/Run"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import {
  fileSentence,
  fileWith,
  type WrongPreset,
  wrongPresets,
  wrongProfiles
} from "@corral/testing/edge/WrongPresets"
import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openConfigFile } from "../../src/runtime/ConfigFile.ts"
import { agentModes, fromAdapter } from "../../src/runtime/Offers.ts"
import { Presets } from "../../src/runtime/Presets.ts"
import { RuntimeRegistry } from "../../src/runtime/RuntimeRegistry.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer } from "../Samples.ts"

const silent = makeText({ label: "Silent", command: ["true"], stdin: "prompt", install: "" })
const scripted: RuntimeAdapter = {
  ...silent,
  id: "scripted",
  capabilities: { ...silent.capabilities, approvals: true }
}
const adapters = new Map(
  [scripted, { ...scripted, id: "claude-code" }, { ...silent, id: "silent" }].map((adapter) => [
    adapter.id,
    adapter
  ])
)

/** Uses the presets of a home, whose Edge starts and ends with it. */
const withPresets = <A, E>(home: string, use: (presets: Presets["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(Presets, use).pipe(
    Effect.provide(
      Presets.layer.pipe(
        Layer.provide(configLayer(home, { configFile: join(home, "edge.config.json") })),
        Layer.provide(Layer.succeed(RuntimeRegistry, adapters))
      )
    ),
    Effect.scoped
  )

const writeConfig = (home: string, content: object) =>
  writeFileSync(join(home, "edge.config.json"), JSON.stringify(content), { mode: 0o600 })

const careful = {
  id: "careful" as AgentId,
  kind: "profile",
  settings: { label: "Careful", adapter: "scripted", mode: "ask" }
} as const
const parrot = {
  id: "parrot" as AgentId,
  kind: "runner",
  settings: { label: "Parrot", runtime: "text", command: ["cat"], stdin: "prompt" }
} as const

const failure = <A, E>(effect: Effect.Effect<A, E>) => Effect.flip(effect)

/** What the file says about the entry. */
const refusalOfFile = (folder: string, preset: WrongPreset) =>
  Effect.gen(function* () {
    const file = join(folder, "other.json")
    writeFileSync(file, JSON.stringify(fileWith(preset)), { mode: 0o600 })
    const { message } = yield* Effect.flip(openConfigFile(file, adapters))
    return message.slice(`${file} is not usable: `.length)
  }).pipe(Effect.scoped)

describe("Presets", () => {
  it.effect("are offered at once, and again after a restart", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          const created = yield* presets.create(careful, "local")
          assert.deepStrictEqual(created, { ...careful, source: "api", editable: true })
          yield* presets.create(parrot, "local")
          const { offers } = yield* presets.look
          assert.strictEqual(offers.byId.get("careful")?.widestMode, "ask")
          assert.deepStrictEqual(offers.runners.at(-1)?.command, ["cat"])
        })
      )
      assert.strictEqual(statSync(join(home, "presets.json")).mode & 0o777, 0o600)
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(
            (yield* presets.list).map(({ id, source }) => [id, source]),
            [
              ["careful", "api"],
              ["parrot", "api"]
            ]
          )
          const changed = yield* presets.update(careful.id, { mode: null, model: "small" }, "local")
          assert.deepStrictEqual(changed.settings, { label: "Careful", adapter: "scripted", model: "small" })
          assert.strictEqual((yield* presets.look).offers.byId.get("careful")?.widestMode, "auto_edit")
          yield* presets.remove(careful.id, "local")
          assert.isFalse((yield* presets.look).offers.byId.has("careful"))
          assert.strictEqual((yield* failure(presets.remove(careful.id, "local"))).code, "not_found")
        })
      )
      assert.notInclude(readFileSync(join(home, "presets.json"), "utf8"), "careful")
    })
  )

  it.effect("are refused with the sentence of the configuration file", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.forEach(fc.sample(wrongPresets, { numRuns: 150 * effort, seed: 11 }), (wrong) =>
          Effect.gen(function* () {
            const refusal = yield* failure(presets.create(wrong, "local"))
            const issues = refusal.code === "schema_validation_failed" ? (refusal.details?.issues ?? []) : []
            assert.strictEqual(
              fileSentence(wrong, issues),
              yield* refusalOfFile(home, wrong),
              JSON.stringify(wrong)
            )
          })
        )
      )
      assert.isFalse(existsSync(join(home, "presets.json")))
    })
  )

  it.effect(
    "do not take the id of an adapter, an agent, a package, another preset or an entry of the file",
    () =>
      Effect.gen(function* () {
        const home = yield* temporaryFolder
        writeConfig(home, {
          profiles: [{ id: "filed", label: "Filed", adapter: "scripted" }],
          runners: [{ id: "tool", label: "Tool", runtime: "text", command: ["tool", "{prompt}"] }],
          acp: [{ name: "acme", command: "acme" }]
        })
        yield* withPresets(home, (presets) =>
          Effect.gen(function* () {
            yield* presets.create(careful, "local")
            for (const id of ["scripted", "silent", "custom:deployer", "acp:other", "careful", "aider"]) {
              const refusal = yield* failure(presets.create({ ...careful, id }, "local"))
              assert.strictEqual(refusal.code, "schema_validation_failed", id)
              assert.deepStrictEqual(refusal.details, {
                issues: [{ path: "id", message: "this id is taken" }]
              })
            }
            for (const id of [
              "filed",
              "tool",
              "acp:acme"
            ] as ReadonlyArray<string> as ReadonlyArray<AgentId>) {
              const refusals = [
                yield* failure(presets.create({ ...careful, id }, "local")),
                yield* failure(presets.update(id, { label: "Mine" }, "local")),
                yield* failure(presets.remove(id, "local")),
                yield* failure(presets.changeRemotely({ _tag: "Remove", id }, "usr_1"))
              ]
              for (const { code, message } of refusals)
                assert.deepStrictEqual(
                  [code, message],
                  ["conflict", "The configuration file of the Edge defines this id. Change it there."]
                )
            }
          })
        )
      })
  )

  it.effect("give way to a later entry of the file, and return with its end", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          yield* presets.create(careful, "local")
          yield* presets.create(
            { ...careful, id: "over", settings: { ...careful.settings, adapter: "scripted" } },
            "local"
          )
          writeConfig(home, { profiles: [{ id: "careful", label: "Filed", adapter: "scripted" }] })
          assert.strictEqual((yield* presets.look).offers.byId.get("careful")?.label, "Filed")
          assert.isTrue((yield* presets.look).offers.byId.has("over"))
          assert.deepStrictEqual(yield* presets.problems, [
            "The preset careful is not offered: this id is taken."
          ])
          const both = (yield* presets.list).filter(({ id }) => id === "careful")
          assert.deepStrictEqual(
            both.map(({ problem, source }) => [source, problem]),
            [
              ["file", undefined],
              ["api", "The preset careful is not offered: this id is taken."]
            ]
          )
          writeConfig(home, {})
          assert.strictEqual((yield* presets.look).offers.byId.get("careful")?.label, "Careful")
          assert.deepStrictEqual(yield* presets.problems, [])
        })
      )
    })
  )

  it.effect("are added and changed while others do not fit the file", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          yield* presets.create(careful, "local")
          writeConfig(home, { profiles: [{ id: "careful", label: "Filed", adapter: "scripted" }] })
          yield* presets.create(parrot, "local")
          yield* presets.update(parrot.id, { label: "Bird" }, "local")
          const taken = yield* failure(presets.create({ ...parrot, id: careful.id }, "local"))
          assert.strictEqual(taken.code, "conflict")
          writeConfig(home, {})
          const { byId } = (yield* presets.look).offers
          assert.deepStrictEqual(
            [careful.id, parrot.id].map((id) => byId.get(id)?.label),
            ["Careful", "Bird"]
          )
        })
      )
    })
  )

  it.effect("are limited to 100", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          for (let n = 0; n < 100; n++) yield* presets.create({ ...careful, id: `p${n}` }, "local")
          assert.strictEqual((yield* failure(presets.create(careful, "local"))).code, "conflict")
          yield* presets.remove("p7" as AgentId, "local")
          yield* presets.create(careful, "local")
          yield* presets.update(careful.id, { label: "Again" }, "local")
        })
      )
    })
  )

  it.effect("stay as they were where they can't be stored", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          yield* presets.create(careful, "local")
          rmSync(join(home, "presets.json"))
          mkdirSync(join(home, "presets.json"))
          const refusal = yield* failure(presets.update(careful.id, { label: "Other" }, "local"))
          assert.strictEqual(refusal.code, "overloaded")
          assert.match(refusal.message, /^The presets can't be stored: /)
          assert.strictEqual((yield* presets.look).offers.byId.get("careful")?.label, "Careful")
        })
      )
    })
  )

  it.effect("stop a start where their file was spoilt, or others can write it", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const file = join(home, "presets.json")
      for (const [content, mode] of [
        ["{", 0o600],
        ['{"profiles":[],"runners":[],"acp":[]}', 0o600],
        ['{"profiles":[],"runners":[]}', 0o666]
      ] as const) {
        writeFileSync(file, content)
        chmodSync(file, mode)
        const { message } = yield* failure(withPresets(home, () => Effect.void))
        assert.isTrue(message.startsWith(`${file} is not usable: `), message)
      }
    })
  )

  it.effect("run the hooks before an id gets another meaning only", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          const replaced: Array<string> = []
          let isRefused = false
          presets.onReplace((id) =>
            isRefused ? Effect.fail(new Conflict({})) : Effect.sync(() => void replaced.push(id))
          )
          yield* presets.create(careful, "local")
          yield* presets.update(careful.id, { label: "New", mode: "plan", model: "small" }, "local")
          assert.deepStrictEqual(replaced, ["careful"])
          for (const settings of [{ adapter: "claude-code" }, { program: "other" }, { env: ["TEAM"] }])
            yield* presets.update(careful.id, settings, "local")
          assert.strictEqual(replaced.length, 4)
          isRefused = true
          assert.strictEqual(
            (yield* failure(presets.update(careful.id, { env: null }, "local"))).code,
            "conflict"
          )
          assert.strictEqual((yield* failure(presets.remove(careful.id, "local"))).code, "conflict")
          assert.deepStrictEqual((yield* presets.list)[0]?.settings["env"], ["TEAM"])
        })
      )
    })
  )
})

/** Everything that does more than narrow an adapter. */
const widening: ReadonlyArray<CreatePreset> = [
  parrot,
  { ...parrot, settings: {} },
  { ...careful, kind: "runner" },
  ...[
    { program: "sh" },
    { env: ["HOME_KEY"] },
    { env: [] },
    { grants: ["full_access"] },
    { grants: [] },
    { command: ["sh", "-c", "{prompt}"] },
    { mode: "full_access" },
    { args: [] },
    { variables: {} },
    { __proto__: null, adapters: ["./x.mjs"] }
  ].map((more) => ({ ...careful, settings: { ...careful.settings, ...more } }))
]

describe("A preset from a Hub", () => {
  for (const preset of widening)
    it.effect(`is refused as ${preset.kind} with ${JSON.stringify(preset.settings)}`, () =>
      Effect.gen(function* () {
        const home = yield* temporaryFolder
        yield* withPresets(home, (presets) =>
          Effect.gen(function* () {
            const { code, message } = yield* failure(
              presets.changeRemotely({ _tag: "Create", ...preset }, "usr_1")
            )
            assert.strictEqual(code, "permission_denied")
            assert.match(message, /^From a Hub, only profiles/)
            yield* presets.changeRemotely({ _tag: "Create", ...careful }, "usr_1")
            if (preset.kind === "profile") {
              const change = { _tag: "Update", id: careful.id, settings: preset.settings } as const
              assert.strictEqual(
                (yield* failure(presets.changeRemotely(change, "usr_1"))).code,
                "permission_denied"
              )
            }
            assert.deepStrictEqual(
              (yield* presets.list).map(({ settings }) => settings),
              [careful.settings]
            )
          })
        )
      })
    )

  it.effect("is refused with any other field, and otherwise when the configuration file refuses it", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const others = fc.dictionary(
        fc.oneof(
          fc.constantFrom("program", "env", "grants", "command", "args", "map", "stdin", "adapters", "id"),
          fc.string()
        ),
        fc.jsonValue({ maxDepth: 2 }),
        { minKeys: 1, maxKeys: 3 }
      )
      const samples = fc.sample(others, { numRuns: 100 * effort, seed: 7 })
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          for (const more of samples) {
            const settings = { ...careful.settings, ...more }
            const isNarrow = Object.keys(settings).every((name) =>
              ["label", "adapter", "mode", "model"].includes(name)
            )
            const change = { _tag: "Create", ...careful, settings } as const
            const { code } = yield* failure(presets.changeRemotely(change, "usr_1"))
            assert.strictEqual(
              code,
              isNarrow ? "schema_validation_failed" : "permission_denied",
              JSON.stringify(more)
            )
          }
          for (const wrong of fc.sample(wrongProfiles, { numRuns: 60 * effort, seed: 2 })) {
            const refusal = yield* failure(presets.changeRemotely({ _tag: "Create", ...wrong }, "usr_1"))
            if (refusal.code === "permission_denied") continue
            const issues = refusal.code === "schema_validation_failed" ? (refusal.details?.issues ?? []) : []
            assert.strictEqual(fileSentence(wrong, issues), yield* refusalOfFile(home, wrong))
          }
          assert.deepStrictEqual(yield* presets.list, [])
        })
      )
    })
  )

  it.effect("has only modes of its adapter, without full_access", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          for (const adapter of adapters.values())
            for (const mode of [undefined, ...RunMode.literals]) {
              const id = `${adapter.id}-${mode ?? "any"}` as AgentId
              const settings = { label: "A", adapter: adapter.id, ...(mode === undefined ? {} : { mode }) }
              yield* Effect.ignore(
                presets.changeRemotely({ _tag: "Create", id, kind: "profile", settings }, "usr_1")
              )
              const agent = (yield* presets.look).offers.byId.get(id)
              if (agent === undefined) continue
              for (const isConfining of [false, true]) {
                const modes = agentModes(agent, isConfining)
                assert.includeMembers([...agentModes(fromAdapter(adapter), isConfining)], [...modes])
                assert.notInclude(modes, "full_access")
              }
            }
          assert.lengthOf(yield* presets.list, 10)
        })
      )
    })
  )

  it.effect("does not change or show what the device has set beyond that", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          yield* presets.create(parrot, "local")
          yield* presets.create({ ...careful, settings: { ...careful.settings, env: ["TEAM"] } }, "local")
          for (const id of [parrot.id, careful.id]) {
            const changes = [
              { _tag: "Update", id, settings: { label: "Mine" } },
              { _tag: "Update", id, settings: { env: null } },
              { _tag: "Remove", id }
            ] as const
            for (const change of changes)
              assert.strictEqual(
                (yield* failure(presets.changeRemotely(change, "usr_1"))).code,
                "permission_denied"
              )
          }
          assert.deepStrictEqual(yield* presets.listRemotely, [
            { ...careful, source: "api", editable: false },
            { ...parrot, source: "api", settings: { label: "Parrot" }, editable: false }
          ])
        })
      )
    })
  )

  it.effect("may be of any kind while the configuration file allows it", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      yield* withPresets(home, (presets) =>
        Effect.gen(function* () {
          writeConfig(home, { remotePresets: true })
          const { preset } = yield* presets.changeRemotely({ _tag: "Create", ...parrot }, "usr_1")
          assert.deepStrictEqual(preset, { ...parrot, source: "api", editable: true })
          writeFileSync(join(home, "edge.config.json"), '{"remotePresets": true')
          const remove = { _tag: "Remove", id: parrot.id } as const
          assert.strictEqual(
            (yield* failure(presets.changeRemotely(remove, "usr_1"))).code,
            "permission_denied"
          )
          writeConfig(home, { remotePresets: true })
          assert.deepStrictEqual(yield* presets.changeRemotely(remove, "usr_1"), {})
        })
      )
    })
  )
})
