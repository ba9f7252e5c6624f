import type { RequestId } from "@corral/domain/identity/Ids"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { makeProject, People } from "@corral/testing/hub/People"
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { effort } from "@corral/testing/time/Effort"
import { within } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { Audit } from "../../src/audit/Audit.ts"
import { AuditTrail } from "../../src/audit/AuditTrail.ts"
import { auditPartsMigration } from "../../src/store/migrations/Release03.ts"
import { holdRows } from "../harness/HeldRows.ts"
import { seedAudit } from "../harness/SeededAudit.ts"

/** Less than the time after which a wait for a row ends. */
const AT_ONCE_MS = 1_500

/** Fewer than the connections of `People`: each open transaction has one. */
const CONNECTIONS = 2

/** Records that each Hub adds with up to 8 at a time. */
const BURST = 500 * effort

type End = Deferred.Deferred<void, "rolled back">

const append = (resource: string) =>
  Effect.flatMap(Audit, (audit) =>
    audit.record({
      action: "sign_in.revoke",
      actor: "system",
      resource,
      projectId: null,
      outcome: "allowed",
      code: null,
      requestId: "req-chain" as RequestId
    })
  )

/** Appends a record in a transaction that stays open until its end, on a busy machine for longer than the limit of an idle one. */
const appendUntil = Effect.fnUntraced(function* (resource: string, end: End) {
  const sql = yield* SqlClient.SqlClient
  const appended = yield* Deferred.make<void>()
  const unlimited = sql`SELECT set_config('idle_in_transaction_session_timeout', '0', true)`
  const work = Effect.ensuring(
    Effect.andThen(unlimited, append(resource)),
    Deferred.succeed(appended, undefined)
  )
  const transaction = yield* Effect.forkDetach(sql.withTransaction(Effect.andThen(work, Deferred.await(end))))
  yield* Deferred.await(appended)
  return transaction
})

const verify = Effect.flatMap(AuditTrail, (trail) => trail.verify("no project"))

/** The verification of the database as it would be after those statements. */
const verifyAfter = (...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tampered = Effect.forEach(statements, (statement) => sql.unsafe(statement))
    const outcome = Effect.flatMap(verify, (result) => Effect.fail({ result }))
    // The failure rolls the statements back.
    const failure = yield* Effect.flip(sql.withTransaction(Effect.andThen(tampered, outcome)))
    return "result" in failure ? failure.result : yield* Effect.die(failure)
  })

describe("Records without a project", () => {
  const hub = new HubInProcess()
  let other: People
  beforeAll(async () => {
    await hub.start()
    other = new People(hub.home, hub.databaseUrl)
    // Their services start before anything has a limit of time.
    await Promise.all([hub.people, other].map((people) => people.act(Effect.void)))
  })
  afterAll(async () => {
    await other.close()
    await hub.remove()
  })

  const verified = () => hub.people.act(verify)

  it("do not wait for one whose transaction is open at another Hub", async () => {
    const end: End = Deferred.makeUnsafe()
    const open = await other.act(appendUntil("held", end))
    try {
      const ada = await within(hub.signedIn("ada"), AT_ONCE_MS, "a sign-in")
      const logout = ada.ask("POST", "/client/auth/logout")
      assert.strictEqual((await within(logout, AT_ONCE_MS, "its end")).status, 204)
    } finally {
      Deferred.doneUnsafe(end, Effect.void)
      await other.act(Fiber.join(open))
    }
    assert.isTrue((await verified()).ok)
  })

  it("verify after any order of their transactions at two Hubs, until one is changed", async () => {
    const steps = fc.array(
      fc.record({ isOther: fc.boolean(), isHeld: fc.boolean(), isRolledBack: fc.boolean() }),
      { minLength: 1, maxLength: 8, size: "max" }
    )
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), fc.nat(), async (all, some, another) => {
        const { checked } = await verified()
        const open: Array<() => Promise<unknown>> = []
        for (const { isHeld, isOther, isRolledBack } of all) {
          const people = isOther ? other : hub.people
          const end: End = Deferred.makeUnsafe()
          const transaction = await people.act(appendUntil("any", end))
          const finish = () => {
            Deferred.doneUnsafe(end, isRolledBack ? Effect.fail("rolled back") : Effect.void)
            return people.act(Fiber.await(transaction))
          }
          if (isHeld && open.length < CONNECTIONS) open.push(finish)
          else await finish()
        }
        await Promise.all(open.map((finish) => finish()))
        const added = all.filter(({ isRolledBack }) => !isRolledBack).length
        assert.deepStrictEqual(await verified(), { ok: true, checked: checked + added })
        await findTampering(checked + added, some, another)
      }),
      { numRuns: 8 * effort }
    )
  })

  it("are all there after many at a time, while their heads change between the snapshots of statements and their locks", async () => {
    const { checked } = await verified()
    const appendMany = Effect.forEach(Array.from({ length: BURST }), () => append("burst"), {
      concurrency: 8
    })
    const load = { isOver: false }
    // In one order: two that lock the heads as their updates find them can wait for each other.
    const lock = "SELECT 1 FROM audit_parts WHERE part < 4 ORDER BY part FOR UPDATE; "
    const touch = async () => {
      while (!load.isOver)
        await query(
          hub.databaseUrl ?? "",
          lock + "UPDATE audit_parts SET hash = hash WHERE part < 4; ".repeat(20)
        )
    }
    const touching = Promise.all([touch(), touch()])
    await Promise.all([hub.people, other].map((people) => people.act(appendMany))).finally(() => {
      load.isOver = true
    })
    await touching
    assert.deepStrictEqual(await verified(), { ok: true, checked: checked + 2 * BURST })
  })

  it("are added while all heads but one are held, and actions of a project while those of others are", async () => {
    const [eve, mallory] = [await hub.signedIn("eve"), await hub.signedIn("mallory")]
    const [free, held] = [await makeProject(eve), await makeProject(mallory)]
    const rename = (client: HubClient, { id }: { readonly id: string }) =>
      client.ask("PATCH", `/client/projects/${id}`, { body: { name: "renamed" } })
    const releases = [
      await holdRows(hub, "audit_parts"),
      await holdRows(hub, "audit_heads", `WHERE chain = '${held.id}'`)
    ]
    try {
      const waiting = rename(mallory, held)
      assert.strictEqual((await within(rename(eve, free), AT_ONCE_MS, "an action")).status, 200)
      assert.strictEqual(
        (await within(eve.ask("POST", "/client/auth/logout"), AT_ONCE_MS, "a logout")).status,
        204
      )
      assert.strictEqual((await waiting).status, 503)
    } finally {
      for (const release of releases) await release()
    }
    assert.isTrue((await verified()).ok)
  })

  /** Changes, removes, swaps, adds and moves records of the database, one after the other. */
  const findTampering = async (count: number, some: number, another: number) => {
    const rows = await query(hub.databaseUrl ?? "", "SELECT seq, id FROM audit WHERE chain = '' ORDER BY seq")
    assert.lengthOf(rows, count)
    const [first, second] = [rows[some % count], rows[another % count]]
    const at = (seq: unknown) => `chain = '' AND seq = ${String(seq)}`
    const move = (from: unknown, to: unknown) => `UPDATE audit SET seq = ${String(to)} WHERE ${at(from)}`
    const copyTo = (seq: string) =>
      `INSERT INTO audit SELECT (json_populate_record(audit, json_build_object('seq', ${seq}, 'id', 'aud_x'))).* FROM audit WHERE ${at(first?.seq)}`
    const last = "(SELECT MAX(seq) FROM audit WHERE chain = '')"
    const tampered: Readonly<Record<string, ReadonlyArray<string>>> = {
      changed: [`UPDATE audit SET actor = 'usr_x' WHERE ${at(first?.seq)}`],
      removed: [`DELETE FROM audit WHERE ${at(first?.seq)}`],
      added: [copyTo(`${last} + ${1 + (another % 1_000)}`)],
      "added before": [copyTo(`-${another % 1_000}`)],
      moved: [move(first?.seq, `${last} + ${1 + (another % 1_000)}`)],
      "without a head": ["DELETE FROM audit_parts WHERE part = 1"],
      ...(first === second
        ? {}
        : { swapped: [move(first?.seq, -1), move(second?.seq, first?.seq), move(-1, second?.seq)] })
    }
    for (const [what, statements] of Object.entries(tampered))
      assert.isFalse((await hub.people.act(verifyAfter(...statements))).ok, what)
  }
})

describe("Records without a project of earlier versions", () => {
  it("stay verifiable, also while a Hub of such a version adds to them", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    const withPeople = async <A>(use: (people: People) => Promise<A>): Promise<A> => {
      const people = new People("/nonexistent", url)
      return use(people).finally(() => people.close())
    }
    const before = 2_500
    const actions = () => ({ actor: "system", action: "sign_in.revoke" }) as const
    await withPeople((people) => people.act(seedAudit("", before, actions)))
    // Later migrations stay: the migration of the parts runs once more.
    await query(url, "DROP TABLE audit_parts")
    for (const statement of auditPartsMigration) await query(url, statement)
    await withPeople(async (people) => {
      await people.act(append("new"))
      await people.act(seedAudit("", 10, actions, before))
      assert.deepStrictEqual(await people.act(verify), { ok: true, checked: before + 11 })
      const changed = (seq: number) =>
        people.act(verifyAfter(`UPDATE audit SET actor = 'usr_x' WHERE chain = '' AND seq = ${seq}`))
      for (const seq of [1, before, before + 10])
        assert.deepStrictEqual(await changed(seq), { ok: false, checked: seq - 1, brokenAtSeq: seq })
      const unused = `UPDATE audit SET seq = ${before + 5_000} WHERE chain = '' AND seq = ${before + 10}`
      assert.isFalse((await people.act(verifyAfter(unused))).ok)
    })
  })
})
