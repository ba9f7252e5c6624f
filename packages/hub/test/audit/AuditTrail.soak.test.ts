/** A million audit records in one project, next to a project with a thousand. */
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { makeProject } from "@corral/testing/hub/People"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { Effect, Result } from "effect"
import { AuditTrail } from "../../src/audit/AuditTrail.ts"
import { prove } from "@corral/domain/access/Authorization"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { SqlClient } from "effect/sql"
import { seedAudit, seededTime } from "../harness/SeededAudit.ts"

const MANY = 1_000_000
const FEW = 1_000
const ROUNDS = 60

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

describe("A trail of a million records", { timeout: 900_000 }, () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let few: ProjectId
  let many: ProjectId

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    const [first, second] = [await makeProject(ada), await makeProject(ada)]
    few = first.id as ProjectId
    many = second.id as ProjectId
    const actor = ada.userId ?? ""
    const recordOf = (count: number) => (i: number) =>
      ({ actor, action: i < count / 2 ? "project.update" : "member.manage" }) as const
    await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`DELETE FROM audit WHERE chain IN (${few}, ${many})`
        yield* seedAudit(few, FEW, recordOf(FEW))
        yield* seedAudit(many, MANY, recordOf(MANY))
        yield* sql`VACUUM ANALYZE audit`
      })
    )
  }, 900_000)
  afterAll(() => hub.remove())

  const filters: ReadonlyArray<readonly [string, (count: number) => string]> = [
    ["", () => ""],
    ["by actor", () => `&actor=${ada.userId}`],
    ["by action", () => "&action=project.update"],
    ["by actor and action", () => `&actor=${ada.userId}&action=project.update`],
    ["by an action that never happened", () => "&action=approval.decide"],
    ["of a time", (count) => `&from=${seededTime(count / 4)}&to=${seededTime(count / 2)}`]
  ]

  it.each(filters)("costs no more for a page %s", async (_, filterOf) => {
    const times = { few: Array<number>(), many: Array<number>() }
    const timed = async (id: string, count: number) => {
      const startedAt = performance.now()
      const { status } = await ada.ask("GET", `/client/audit?projectId=${id}${filterOf(count)}`)
      assert.strictEqual(status, 200)
      return performance.now() - startedAt
    }
    for (let round = 0; round < ROUNDS; round++) {
      times.few.push(await timed(few, FEW))
      times.many.push(await timed(many, MANY))
    }
    console.info(`few ${median(times.few).toFixed(1)} ms, many ${median(times.many).toFixed(1)} ms`)
    assert.isAtMost(median(times.many), 1.3 * median(times.few) + 0.5)
  })

  it("is verified in a minute", async () => {
    const proofOf = (subject: ProjectId) =>
      Result.getOrThrow(prove("audit.read", { principal: ada.userId as never, subject }, undefined))
    const startedAt = performance.now()
    const verified = await hub.people.act(Effect.flatMap(AuditTrail, (trail) => trail.verify(proofOf(many))))
    const elapsed = performance.now() - startedAt
    console.info(`verified in ${(elapsed / 1_000).toFixed(1)} s`)
    assert.deepStrictEqual(verified, { ok: true, checked: MANY })
    assert.isAtMost(elapsed, 60_000)
  })
})
