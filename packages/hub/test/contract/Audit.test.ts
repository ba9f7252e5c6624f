import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { type AuditRecord, auditText, type AuditVerification } from "@corral/domain/access/Audit"
import type { ApprovalId, ProjectId, RequestId, RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../../src/audit/Audit.ts"
import { Projects } from "../../src/project/Projects.ts"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"

interface Page {
  readonly items: ReadonlyArray<AuditRecord>
  readonly nextCursor: string | null
}

describe("The audit trail", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let created = 0

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
  })
  afterAll(() => hub.remove())

  /** A project of Ada with this number of records. */
  const projectWith = async (records: number): Promise<ProjectId> => {
    const owner = ada.userId
    if (owner === undefined) throw new Error("no user is signed in")
    return hub.people.act(
      Effect.gen(function* () {
        const audit = yield* Audit
        const projects = yield* Projects
        const { id } = yield* projects.create(owner, { name: `project ${created++}` })
        yield* Effect.forEach(
          Array.from({ length: records }, (_, i) => i),
          (i) =>
            audit.record({
              action: i % 2 === 0 ? "project.update" : "member.manage",
              actor: owner,
              resource: id,
              projectId: id,
              outcome: "allowed",
              code: null,
              requestId: `req-${i}` as RequestId
            }),
          { concurrency: 8 }
        )
        return id
      })
    )
  }

  const tamper = (statement: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.orDie(statement(sql))))

  const verify = (id: ProjectId) =>
    ada.ask<AuditVerification>("GET", `/client/audit/verify?projectId=${id}`).then(({ body }) => body)

  it("is one dense chain under concurrent writes, and pages through it", async () => {
    const id = await projectWith(45)
    const seqs: Array<number> = []
    let cursor = ""
    do {
      const target = `/client/audit?projectId=${id}&limit=20${cursor}`
      const { body, status } = await ada.ask<Page>("GET", target)
      assert.strictEqual(status, 200)
      seqs.push(...body.items.map(({ seq }) => seq))
      cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`
    } while (cursor !== "")
    assert.deepStrictEqual(
      seqs,
      Array.from({ length: 45 }, (_, i) => 45 - i)
    )
    assert.deepStrictEqual(await verify(id), { ok: true, checked: 45 })
  })

  it("filters by actor, action and time", async () => {
    const id = await projectWith(6)
    const count = async (filter: string) =>
      (await ada.ask<Page>("GET", `/client/audit?projectId=${id}&${filter}`)).body.items.length
    assert.strictEqual(await count("action=member.manage"), 3)
    assert.strictEqual(await count(`actor=${ada.userId}`), 6)
    assert.strictEqual(await count(`actor=${bob.userId}`), 0)
    assert.strictEqual(await count("to=2020-01-01"), 0)
    assert.strictEqual(await count("from=2020-01-01T00:00:00%2B02:00"), 6)
    for (const action of ["'%20OR%20'1'='1", "approval.decided", ""]) {
      const unknown = await ada.ask("GET", `/client/audit?projectId=${id}&action=${action}`)
      assert.deepStrictEqual([unknown.status, codeOf(unknown)], [422, "schema_validation_failed"])
    }
  })

  it("exports every record with a verifiable chain", async () => {
    const id = await projectWith(2_345)
    const answer = await fetch(`${hub.url}/client/audit/export?projectId=${id}`, {
      headers: { authorization: `Bearer ${ada.token}` }
    })
    assert.deepStrictEqual([answer.status, answer.headers.get("content-type")], [200, "application/x-ndjson"])
    const records = (await answer.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditRecord)
    assert.strictEqual(records.length, 2_345)
    let prevHash = "0".repeat(64)
    for (const [i, { hash, ...rest }] of records.entries()) {
      assert.deepStrictEqual([rest.seq, rest.prevHash], [i + 1, prevHash])
      prevHash = createHash("sha256").update(auditText(rest)).digest("hex")
      assert.strictEqual(hash, prevHash)
    }
    assert.strictEqual((await bob.ask("GET", `/client/audit/export?projectId=${id}`)).status, 403)
  })

  it("detects changed, removed and truncated records", async () => {
    const changed = await projectWith(5)
    await tamper((sql) => sql`UPDATE audit SET outcome = 'denied' WHERE chain = ${changed} AND seq = 3`)
    assert.deepStrictEqual(await verify(changed), { ok: false, checked: 2, brokenAtSeq: 3 })
    const taken = await projectWith(5)
    await tamper((sql) => sql`DELETE FROM audit WHERE chain = ${taken} AND seq = 2`)
    assert.deepStrictEqual(await verify(taken), { ok: false, checked: 1, brokenAtSeq: 2 })
    const cut = await projectWith(5)
    await tamper((sql) => sql`DELETE FROM audit WHERE chain = ${cut} AND seq = 5`)
    assert.deepStrictEqual(await verify(cut), { ok: false, checked: 4, brokenAtSeq: 5 })
  })

  it("detects changed details of a decision, and verifies records without details", async () => {
    const details = {
      decision: "allow",
      scope: "once",
      edited: true,
      origin: "terminal",
      runId: "run_00000000000000000000000000" as RunId,
      approvalId: "apr_00000000000000000000000000" as ApprovalId
    } as const
    const decided = async () => {
      const id = await projectWith(1)
      const entry = { actor: String(ada.userId), resource: details.approvalId, projectId: id } as const
      await hub.people.act(
        Effect.flatMap(Audit, (audit) =>
          audit.record({
            ...entry,
            action: "approval.decide",
            outcome: "allowed",
            code: null,
            requestId: "req-1" as RequestId,
            details
          })
        )
      )
      assert.deepStrictEqual(await verify(id), { ok: true, checked: 2 })
      return id
    }
    const [record] = (await ada.ask<Page>("GET", `/client/audit?projectId=${await decided()}`)).body.items
    assert.deepStrictEqual<object | undefined>(record?.details, details)
    for (const [name, value] of [
      ["decision", "deny"],
      ["scope", "run"],
      ["edited", false],
      ["origin", "console"],
      ["runId", "run_00000000000000000000000001"],
      ["approvalId", "apr_00000000000000000000000001"]
    ] as const) {
      const id = await decided()
      const changed = JSON.stringify({ ...details, [name]: value })
      await tamper((sql) => sql`UPDATE audit SET details = ${changed} WHERE chain = ${id} AND seq = 2`)
      assert.deepStrictEqual(await verify(id), { ok: false, checked: 1, brokenAtSeq: 2 }, name)
    }
    const removed = await decided()
    await tamper((sql) => sql`UPDATE audit SET details = NULL WHERE chain = ${removed} AND seq = 2`)
    assert.deepStrictEqual(await verify(removed), { ok: false, checked: 1, brokenAtSeq: 2 })
    const added = await decided()
    const text = JSON.stringify(details)
    await tamper((sql) => sql`UPDATE audit SET details = ${text} WHERE chain = ${added} AND seq = 1`)
    assert.deepStrictEqual(await verify(added), { ok: false, checked: 0, brokenAtSeq: 1 })
  })

  it("shows a user's own actions in every project, but no refusals of hidden projects", async () => {
    const mine = await projectWith(3)
    const hidden = await projectWith(1)
    const readOwn = async (client: HubClient) => {
      const items: Array<AuditRecord> = []
      let cursor = ""
      do {
        const { body } = await client.ask<Page>("GET", `/client/audit?limit=200${cursor}`)
        items.push(...body.items)
        cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`
      } while (cursor !== "")
      return items
    }
    const seen = await readOwn(ada)
    assert.isTrue(seen.every(({ actor }) => actor === ada.userId))
    assert.lengthOf(
      seen.filter(({ projectId }) => projectId === mine),
      3
    )
    const order = seen.map(({ at, id }) => `${at} ${id}`)
    assert.deepStrictEqual(order, [...new Set(order)].toSorted().toReversed(), "newest first, none twice")
    const eve = await hub.signedIn("eve of none")
    assert.strictEqual((await eve.ask("GET", `/client/projects/${hidden}`)).status, 403)
    assert.deepStrictEqual(
      (await readOwn(eve)).filter(({ projectId }) => projectId !== null),
      []
    )
  })

  it("is readable by admins only, and records refused reads", async () => {
    const id = await projectWith(1)
    const refused = await bob.ask("GET", `/client/audit?projectId=${id}`)
    const absent = await bob.ask("GET", "/client/audit?projectId=prj_00000000000000000000000000")
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    const less = ({ body }: typeof refused) => ({ ...(body as object), requestId: "" })
    assert.deepStrictEqual(less(absent), less(refused), "no telling whether it exists")
    const [last] = (await ada.ask<Page>("GET", `/client/audit?projectId=${id}`)).body.items
    assert.deepInclude(last, {
      actor: String(bob.userId),
      action: "audit.read",
      outcome: "denied",
      code: "permission_denied",
      requestId: refused.headers.get("x-request-id") as RequestId
    })
    assert.strictEqual((await bob.ask("GET", `/client/audit/verify?projectId=${id}`)).status, 403)
  })

  it.each([
    ["from", "from=yesterday"],
    ["limit", "limit=0"],
    ["limit", "limit=201"],
    ["cursor", "cursor=AAAA"],
    ["cursor", `cursor=${"A".repeat(1_025)}`],
    ["projectId", "projectId=nonsense"]
  ])("rejects an invalid %s", async (path, query) => {
    const answer = await ada.ask("GET", `/client/audit?${query}`)
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
    const { details } = answer.body as {
      readonly details: { readonly issues: ReadonlyArray<{ path: string }> }
    }
    assert.deepStrictEqual(
      details.issues.map((issue) => issue.path),
      [path]
    )
  })

  it("rejects a cursor of another user or another filter", async () => {
    const id = await projectWith(3)
    const { body } = await ada.ask<Page>("GET", `/client/audit?projectId=${id}&limit=1`)
    assert.strictEqual(
      (await ada.ask("GET", `/client/audit?projectId=${id}&limit=1&actor=x&cursor=${body.nextCursor}`))
        .status,
      422
    )
    assert.strictEqual((await bob.ask("GET", `/client/audit?cursor=${body.nextCursor}`)).status, 422)
  })
})
