import type { AuditAction } from "@corral/domain/access/AuditAction"
import { prove } from "@corral/domain/access/Authorization"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { tries } from "@corral/testing/time/Effort"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import * as fc from "fast-check"
import { AuditTrail } from "../../src/audit/AuditTrail.ts"
import {
  rowsRead,
  seedAudit,
  seededProject,
  type SeededRecord,
  seededTime,
  seededUser
} from "../harness/SeededAudit.ts"

const RECORDS = 6_000
const LIMIT = 20
/** A page of each of two parts, and what a skipped record costs. */
const MOST_READ = 3 * LIMIT

const [early, late, absent] = [seededUser(1), seededUser(2), seededUser(3)]

/** Each user and each action has thousands of records, and some pairs of them have none. */
const recordOf = (i: number): SeededRecord => ({
  actor: i < RECORDS / 2 ? early : late,
  action: i < RECORDS / 2 ? "project.update" : "member.manage"
})

describe("AuditTrail", () => {
  const hub = new HubInProcess()
  const chain = seededProject(1)
  const proof = Result.getOrThrow(prove("audit.read", { principal: early, subject: chain }, undefined))

  beforeAll(async () => {
    await hub.start()
    await hub.people.act(seedAudit(chain, RECORDS, recordOf))
  })
  afterAll(() => hub.remove())

  const filters = fc.record(
    {
      actor: fc.constantFrom(early, late, absent),
      action: fc.constantFrom<AuditAction>("project.update", "member.manage", "approval.decide"),
      from: fc.nat(RECORDS).map(seededTime),
      to: fc.nat(RECORDS).map(seededTime)
    },
    { requiredKeys: [] }
  )
  const positions = fc.option(fc.nat(RECORDS), { nil: undefined })

  const matching = ({ action, actor, from, to }: Partial<Record<string, string>>, before: number) =>
    Array.from({ length: before }, (_, i) => i)
      .filter(
        (i) =>
          (actor ?? recordOf(i).actor) === recordOf(i).actor &&
          (action ?? recordOf(i).action) === recordOf(i).action &&
          (from ?? "") <= seededTime(i) &&
          seededTime(i) < (to ?? "Z")
      )
      .toReversed()
      .slice(0, LIMIT)
      .map((i) => i + 1)

  it("reads about a page for a page, regardless of the filter and the position", () =>
    fc.assert(
      fc.asyncProperty(filters, positions, async (filter, after) => {
        const before = after === undefined ? undefined : { at: seededTime(after), id: String(after + 1) }
        const { result, rows } = await hub.people.act(
          rowsRead(Effect.flatMap(AuditTrail, (trail) => trail.list(proof, filter, before, LIMIT)))
        )
        assert.deepStrictEqual(
          result.map(({ seq }) => seq),
          matching(filter, after ?? RECORDS)
        )
        assert.isAtMost(rows, MOST_READ)
      }),
      { numRuns: tries(60).arbitrary.runs }
    ))

  it("reads about a page for a page of a user's records", () =>
    fc.assert(
      fc.asyncProperty(filters, fc.constantFrom(early, late), positions, async (filter, reader, after) => {
        const before = after === undefined ? undefined : { at: seededTime(after), id: "aud_0" }
        const { result, rows } = await hub.people.act(
          rowsRead(Effect.flatMap(AuditTrail, (trail) => trail.listOfUser(reader, filter, before, LIMIT)))
        )
        const expected =
          filter.actor !== undefined && filter.actor !== reader
            ? []
            : matching({ ...filter, actor: reader }, after ?? RECORDS)
        assert.deepStrictEqual(
          result.map(({ seq }) => seq),
          expected
        )
        assert.isAtMost(rows, MOST_READ)
      }),
      { numRuns: tries(60).arbitrary.runs }
    ))

  it("reads each record of a chain once to export and to verify it", async () => {
    const [exported, verified] = await hub.people.act(
      Effect.gen(function* () {
        const trail = yield* AuditTrail
        return [
          yield* rowsRead(Stream.runCount(trail.records(proof))),
          yield* rowsRead(trail.verify(proof))
        ] as const
      })
    )
    assert.strictEqual(exported.result, RECORDS)
    assert.deepStrictEqual(verified.result, { ok: true, checked: RECORDS })
    assert.isAtMost(exported.rows, RECORDS + 10)
    assert.isAtMost(verified.rows, RECORDS + 10)
  })

  it("reads about each record of a user to export them, in the order of time", async () => {
    await hub.people.act(seedAudit("", RECORDS, recordOf))
    const times = Stream.map(
      Stream.unwrap(Effect.map(AuditTrail, (trail) => trail.records({ reader: late }))),
      ({ at }) => at
    )
    const { result, rows } = await hub.people.act(rowsRead(Stream.runCollect(times)))
    assert.deepStrictEqual(
      [...result],
      Array.from({ length: RECORDS / 2 }, (_, i) => seededTime(RECORDS / 2 + i))
    )
    // The end of a list may be read as a whole, and sorted.
    assert.isAtMost(rows, RECORDS)
  })
})
