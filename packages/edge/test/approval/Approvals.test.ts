import type { Approval, ApprovalState } from "@corral/domain/approval/Approval"
import type { RunId } from "@corral/domain/identity/Ids"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import {
  findApproval,
  pageOfApprovals,
  putApproval,
  replaceApproval
} from "../../src/store/EdgeRequestRows.ts"
import { Store } from "../../src/store/Store.ts"
import { approvalIdOf, at, later, request, runIdOf, runOf } from "../Samples.ts"

const { agentId, workspace } = runOf(runIdOf(1))
const states: ReadonlyArray<ApprovalState> = ["pending", "approved", "denied", "expired", "cancelled"]

/** Thirty of three runs, in every state. */
const approvals: ReadonlyArray<Approval> = Array.from({ length: 30 }, (_, n) => ({
  id: approvalIdOf(n + 1),
  runId: runIdOf(n % 3),
  agentId,
  workspace,
  state: states[n % states.length] ?? "pending",
  request: request({ title: `Write ${n}.txt` }),
  requestedAt: at,
  expiresAt: later
}))

const filled = Layer.effectDiscard(
  Effect.flatMap(Store, (store) => store.commit(approvals.toReversed().map(putApproval)))
).pipe(Layer.provideMerge(Store.layerMemory))

layer(filled)("Approvals", (it) => {
  const filters: ReadonlyArray<{ readonly runId?: RunId; readonly state?: ApprovalState }> = [
    {},
    { runId: runIdOf(1) },
    { state: "pending" },
    { runId: runIdOf(2), state: "denied" },
    { runId: runIdOf(9) }
  ]

  it.effect("pages oldest first through approvals that match the filter, each once, at any page size", () =>
    Effect.gen(function* () {
      const store = yield* Store
      for (const filter of filters) {
        const expected = approvals.filter(
          ({ runId, state }) =>
            (filter.runId === undefined || runId === filter.runId) &&
            (filter.state === undefined || state === filter.state)
        )
        for (const limit of [1, 2, 7, 30, 100]) {
          const seen: Array<Approval> = []
          for (let after: string | undefined; ;) {
            const page = pageOfApprovals(store, { ...filter, after, limit })
            assert.isAtMost(page.length, limit)
            if (page.length === 0) break
            seen.push(...page)
            after = page.at(-1)?.id
          }
          assert.deepStrictEqual(seen, expected)
        }
      }
    })
  )

  it.effect("finds one by its id, as it was put or as it is now", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [first] = approvals
      assert(first !== undefined)
      assert.deepStrictEqual(findApproval(store, first.id), first)
      assert.isUndefined(findApproval(store, approvalIdOf(99)))
      const resolved: Approval = {
        ...first,
        state: "approved",
        resolvedAt: later,
        scope: "once",
        decidedBy: "one"
      }
      yield* store.commit([replaceApproval(resolved)])
      assert.deepStrictEqual(findApproval(store, first.id), resolved)
      assert.notInclude(
        pageOfApprovals(store, { state: "pending", limit: 100 }).map(({ id }) => id),
        first.id
      )
      yield* store.commit([replaceApproval(first)])
    })
  )

  it.effect("puts one once", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [first] = approvals
      assert(first !== undefined)
      yield* Effect.flip(store.commit([putApproval(first)]))
    })
  )

  it.effect("takes a filter's text for text", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const runId = "' OR 1=1 --" as RunId
      assert.deepStrictEqual(pageOfApprovals(store, { runId, limit: 10 }), [])
      assert.deepStrictEqual(pageOfApprovals(store, { after: "zzz", limit: 10 }), [])
    })
  )
})
