/** The id of every replaced adapter, wherever an Edge reads one: agents, presets, keys, grants, runs, and runs that outlive their Edge. */
import { builtIn } from "@corral/adapters/Registry"
import { scriptedProgram } from "@corral/adapters/scriptedProgram"
import type { Grant } from "@corral/domain/approval/Grant"
import { type AgentId, encodeUlid, type GrantId, type WorkspaceId } from "@corral/domain/identity/Ids"
import { replacedAdapters } from "@corral/domain/offer/Offer"
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Grants, putGrant } from "../../src/approval/Grants.ts"
import type { EdgeConfig } from "../../src/config/EdgeConfig.ts"
import { findRun, insertRun } from "../../src/log/Runs.ts"
import { admittedAgain } from "../../src/run/adoption/RunAdoption.ts"
import { keyEntryOf } from "../../src/runtime/KeyAdmission.ts"
import { Presets } from "../../src/runtime/Presets.ts"
import { RuntimeRegistry } from "../../src/runtime/RuntimeRegistry.ts"
import { Runtimes } from "../../src/runtime/Runtimes.ts"
import { Store } from "../../src/store/Store.ts"
import { shell, verdictOn } from "../approval/RunPolicies.ts"
import { inMemory, linesOf, startEdge, startRun } from "../Embedded.ts"
import { temporaryFolder } from "../Folder.ts"
import { at, configOf, runIdOf, runOf } from "../Samples.ts"

const registry = builtIn({ node: process.execPath, scriptedProgram })

/** The adapters of today, each with the program of the scripted runtime. */
const played = (): ReadonlyMap<string, RuntimeAdapter> => {
  const scripted = registry.get("scripted")
  assert.isDefined(scripted)
  return new Map([...registry.keys()].map((id) => [id, { ...scripted, id }]))
}

const openEdge = Effect.fnUntraced(function* (
  content: object = {},
  settings: (home: string) => Partial<EdgeConfig> = () => ({})
) {
  const home = yield* temporaryFolder
  const configFile = join(home, "edge.config.json")
  writeFileSync(configFile, JSON.stringify(content), { mode: 0o600 })
  const config = configOf(home, { configFile, workspaces: [{ id: "here", path: home }], ...settings(home) })
  return yield* startEdge(config, Layer.merge(inMemory, Layer.succeed(RuntimeRegistry, played())))
})

const start: RunStart = { prompt: "Look around.", mode: "ask", workspacePath: "/nowhere" }
const command = {
  file: "/bin/true",
  args: [],
  cwd: "/nowhere",
  env: {},
  stdin: "pipe",
  temporary: "/nowhere"
} as const

describe.each([...replacedAdapters])("the id %s", (replaced, by) => {
  const [old, current] = [replaced as AgentId, by as AgentId] // ids of agents

  it("is no adapter, and the one that replaced it runs its program and continues its conversations", () => {
    assert.isFalse(registry.has(replaced))
    const adapter = registry.get(by)
    assert.isTrue(adapter?.capabilities.resume)
    assert.isDefined(adapter?.continuation)
  })

  it.live("names the agent of today, which is offered once", () =>
    Effect.gen(function* () {
      const runtimes = Context.get(yield* openEdge(), Runtimes)
      assert.strictEqual((yield* runtimes.get(old)).id, current)
      const ids = (yield* runtimes.list).map(({ id }) => id)
      assert.notInclude(ids, old)
      assert.lengthOf(
        ids.filter((id) => id === current),
        1
      )
    })
  )

  it.live("is the adapter of a profile in the configuration and over the API, and no id of a new one", () =>
    Effect.gen(function* () {
      const profile = { id: "mine", label: "Mine", adapter: replaced }
      const services = yield* openEdge({ profiles: [profile] })
      const runtimes = Context.get(services, Runtimes)
      const mine = yield* runtimes.get("mine" as AgentId) // the id of the profile
      assert.strictEqual(mine.adapter.id, by)
      const presets = Context.get(services, Presets)
      const settings = { label: "Other", adapter: replaced }
      yield* presets.create({ id: "other" as AgentId, kind: "profile", settings }, "test")
      assert.strictEqual((yield* runtimes.get("other" as AgentId)).adapter.id, by)
      const taken = yield* Effect.flip(
        presets.create(
          { id: old, kind: "profile", settings: { label: "Taken", adapter: "scripted" } },
          "test"
        )
      )
      assert.strictEqual(taken.code, "schema_validation_failed")
    })
  )

  it.live("sets the keys of the agent, and the stricter entry counts", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const entryOf = (...proxyKeys: EdgeConfig["proxyKeys"]) => keyEntryOf(configOf(home, { proxyKeys }), by)
      assert.deepStrictEqual(entryOf({ adapter: replaced }), { adapter: replaced })
      assert.isUndefined(entryOf({ adapter: "scripted" }))
      const [loose, strict] = [{ adapter: by, setting: "preferred" } as const, { adapter: replaced }]
      assert.strictEqual(entryOf(loose, strict), strict)
      assert.strictEqual(entryOf({ adapter: replaced, setting: "preferred" }, loose), loose)
      // The Edge starts with it.
      yield* openEdge({}, () => ({ proxyKeys: [{ adapter: replaced, setting: "preferred" }] }))
    })
  )

  it.live("is the agent of grants that hold for the agent of today", () =>
    Effect.gen(function* () {
      const services = yield* openEdge()
      const grant: Grant = {
        id: `gra_${encodeUlid(1, new Uint8Array(10))}` as GrantId, // of the form of grant ids
        workspace: "here" as WorkspaceId,
        scope: "always",
        agentId: old,
        rule: { action: "shell", command: ["npm", "test"] },
        createdAt: at,
        by: "local"
      }
      yield* Context.get(services, Store).commit([putGrant(grant)])
      const { forRun } = Context.get(services, Grants)
      const verdictFor = (agentId: AgentId) =>
        verdictOn(
          forRun({ workspace: "here" as WorkspaceId, agentId, mode: "ask" }, "/nowhere"),
          shell("npm test")
        )._tag
      assert.strictEqual(verdictFor(current), "Allow")
      assert.strictEqual(verdictFor(old), "Allow")
      assert.strictEqual(verdictFor("scripted" as AgentId), "Ask")
    })
  )

  it.live("starts a run of the agent of today, and continues an earlier run of the replaced adapter", () =>
    Effect.gen(function* () {
      const services = yield* openEdge()
      const run = yield* startRun(services, "/say one", { agentId: old })
      assert.strictEqual(run.agentId, current)
      yield* linesOf(services, run)
      const workspace = "here" as WorkspaceId
      const earlier = runOf(runIdOf(1), {
        agentId: old,
        workspace,
        state: "completed",
        runtimeSessionId: "s-1"
      })
      yield* Context.get(services, Store).commit([insertRun(earlier)])
      for (const agentId of [old, current]) {
        const resumed = yield* startRun(services, "/say two", { agentId, resume: earlier.id })
        assert.strictEqual(resumed.agentId, current)
        assert.strictEqual(resumed.resume, earlier.id)
        yield* linesOf(services, resumed)
      }
      const other = yield* Effect.flip(
        startRun(services, "/say", { agentId: "scripted" as AgentId, resume: earlier.id })
      )
      assert.strictEqual(other.code, "schema_validation_failed")
      assert.strictEqual(findRun(Context.get(services, Store), earlier.id)?.agentId, old, "as it was")
    })
  )

  it.live("does not read the output of a program that the replaced adapter started", () =>
    Effect.gen(function* () {
      const services = yield* openEdge({ profiles: [{ id: "mine", label: "Mine", adapter: replaced }] })
      const runtimes = Context.get(services, Runtimes)
      const request = {
        workspace: "here" as WorkspaceId,
        agentId: old,
        mode: "ask",
        input: { text: "" }
      } as const
      const again = (agentId: AgentId, adapter?: string) =>
        admittedAgain({ runtimes }, runOf(runIdOf(1), { agentId }), {
          request,
          start,
          command,
          ...(adapter === undefined ? {} : { adapter })
        })
      for (const agentId of [old, "mine" as AgentId]) {
        // The state of an Edge that had the adapter names none.
        assert.include((yield* Effect.flip(again(agentId))).message, "another adapter")
        assert.strictEqual((yield* again(agentId, by)).adapter.id, by)
      }
      assert.strictEqual((yield* again(current)).adapter.id, by)
    })
  )
})
