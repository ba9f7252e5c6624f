import type { Grant } from "@corral/domain/approval/Grant"
import {
  encodeUlid,
  type AgentId,
  type GrantId,
  type SessionId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Grants, putGrant } from "../../src/approval/Grants.ts"
import { Store } from "../../src/store/Store.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { at, configLayer, runIdOf, runOf as stateOf } from "../Samples.ts"
import { shell, verdictOn } from "./RunPolicies.ts"

const idOf = (n: number): GrantId => `gra_${encodeUlid(n, new Uint8Array(10))}` as GrantId
const one = "ses_00000000000000000000000001" as SessionId
const other = "ses_00000000000000000000000002" as SessionId

const third = "ses_00000000000000000000000003" as SessionId

const grantOf = (n: number, command: string, more: Partial<Grant> = {}): Grant => ({
  id: idOf(n),
  workspace: "api" as WorkspaceId,
  scope: "always",
  agentId: "scripted" as AgentId,
  rule: { action: "shell", command: command.split(" ") },
  createdAt: at,
  by: "local",
  ...more
})

const stored: ReadonlyArray<Grant> = [
  grantOf(1, "npm test"),
  grantOf(2, "npm run build", { scope: "session", sessionId: one }),
  grantOf(3, "npm run lint", { workspace: "web" as WorkspaceId }),
  grantOf(4, "npm run docs", { agentId: "claude-code" as AgentId })
]

const config = configLayer("/nowhere", {
  workspaces: [{ id: "api", path: "/nowhere", grants: ["full_access", { action: "shell", command: ["ls"] }] }]
})
const filled = Layer.effectDiscard(
  Effect.flatMap(Store, (store) => store.commit(stored.toReversed().map(putGrant)))
).pipe(Layer.provideMerge(Layer.provide(Grants.layer, config)), Layer.provideMerge(Store.layerMemory))

const runOf = (more: Partial<Run> = {}) => ({
  workspace: "api" as WorkspaceId,
  agentId: "scripted" as AgentId,
  mode: "ask" as const,
  ...more
})

layer(filled)("Grants", (it) => {
  it.effect("lists oldest first, by workspace, in pages", () =>
    Effect.gen(function* () {
      const { page } = yield* Grants
      assert.deepStrictEqual(page({ limit: 10 }), stored)
      assert.deepStrictEqual(page({ workspace: "web" as WorkspaceId, limit: 10 }), stored.slice(2, 3))
      assert.deepStrictEqual(page({ after: idOf(1), limit: 2 }), stored.slice(1, 3))
      assert.deepStrictEqual(page({ workspace: "' OR 1=1 --" as WorkspaceId, limit: 10 }), [])
    })
  )

  it.effect("of a session go with the last of its runs", () =>
    Effect.gen(function* () {
      const { forgetRun, page } = yield* Grants
      const store = yield* Store
      const [first, last, without] = [runIdOf(1), runIdOf(2), runIdOf(3)] as const
      const grant = grantOf(9, "npm start", { scope: "session", sessionId: third })
      yield* store.commit([
        insertRun(stateOf(first, { sessionId: third })),
        insertRun(stateOf(last, { sessionId: third })),
        insertRun(stateOf(without)),
        putGrant(grant)
      ])
      for (const id of [without, first]) {
        yield* forgetRun(id)
        yield* store.commit([["UPDATE runs SET log = 'gone' WHERE id = ?", id]])
        assert.deepInclude(page({ limit: 10 }), grant)
      }
      yield* forgetRun(last)
      assert.deepStrictEqual(page({ limit: 10 }), stored)
    })
  )

  it.effect("cover runs of their workspace, agent and session, and no others", () =>
    Effect.gen(function* () {
      const { forRun } = yield* Grants
      const allowed = (run: ReturnType<typeof runOf>) =>
        ["npm test", "npm run build", "npm run lint", "npm run docs", "ls"].filter(
          (line) => verdictOn(forRun(run, "/nowhere"), shell(line))._tag === "Allow"
        )
      assert.deepStrictEqual(allowed(runOf()), ["npm test", "ls"])
      assert.deepStrictEqual(allowed(runOf({ sessionId: one })), ["npm test", "npm run build", "ls"])
      assert.deepStrictEqual(allowed(runOf({ sessionId: other })), ["npm test", "ls"])
      assert.deepStrictEqual(allowed(runOf({ workspace: "web" as WorkspaceId })), ["npm run lint"])
      assert.deepStrictEqual(allowed(runOf({ agentId: "claude-code" as AgentId })), ["npm run docs", "ls"])
    })
  )

  it.effect("once taken back cover nothing, in a run that has begun too", () =>
    Effect.gen(function* () {
      const { forRun, page, remove } = yield* Grants
      const store = yield* Store
      const policy = forRun(runOf(), "/nowhere")
      assert.strictEqual(verdictOn(policy, shell("npm test"))._tag, "Allow")
      yield* remove(idOf(1))
      assert.strictEqual(verdictOn(policy, shell("npm test"))._tag, "Ask")
      assert.notInclude(
        page({ limit: 10 }).map(({ id }) => id),
        idOf(1)
      )
      assert.strictEqual((yield* Effect.flip(remove(idOf(1)))).code, "not_found")
      assert.strictEqual((yield* Effect.flip(remove(idOf(99)))).code, "not_found")
      yield* store.commit([putGrant(grantOf(1, "npm test"))])
    })
  )
})
