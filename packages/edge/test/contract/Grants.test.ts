/** What is remembered beyond a run, as clients meet it: across runs and restarts, seen, taken back, and never for what may be another. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type EdgeClient, codeOf, type EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

let edge: EdgeProcess
beforeAll(async () => {
  edge = new EdgeInProcess()
  await edge.start()
})
afterAll(() => edge.remove())

const session = (n: number) => ({ sessionId: `ses_0000000000000000000000000${n}` })

interface PendingAction {
  readonly runId: string
  readonly approvalId: string
  readonly reader: EventReader
}

/** A run of a script that waits for its first decision by a person. */
const ask = async (client: EdgeClient, script: string, more: object = {}): Promise<PendingAction> => {
  const run = await client.create(script, "ask", { ...more })
  return { runId: run.id, ...(await nextAsked(client, await client.follow({ runId: run.id }))) }
}

const nextAsked = async (client: EdgeClient, reader: EventReader) => {
  const waiting = () => {
    const settled = new Set(
      reader.events.filter((e) => e.type === "run.approval.resolved").map((e) => e.payload["approvalId"])
    )
    return reader.events.find(
      (e) => e.type === "run.approval.requested" && !settled.has(e.payload["approvalId"])
    )
  }
  await reader.event("run.approval.requested")
  for (;;) {
    const count = reader.events.length
    const found = waiting()
    const approvalId = String(found?.payload["approvalId"])
    // Policy resolves in the same transaction as it asks: what is pending on disk waits for a person.
    if (found !== undefined && (await client.approval(approvalId)).state === "pending")
      return { approvalId, reader }
    await reader.event(() => reader.events.length > count)
  }
}

const allow = async (client: EdgeClient, { approvalId, reader, runId }: PendingAction, scope: string) => {
  const answer = await client.decide(runId, approvalId, "allow", { scope })
  assert.strictEqual(answer.status, 200, answer.text)
  assert.strictEqual((await reader.ended).code, 1000)
  assertWhole(reader.events)
  return client.approval(approvalId)
}

/** Decider of each approval of a run without approval requests. */
const decidedBy = async (client: EdgeClient, script: string, more: object = {}) => {
  const run = await client.create(script, "ask", { ...more })
  const events = await client.log(run.id)
  assertWhole(events)
  assert.strictEqual(events.at(-1)?.type, "run.completed")
  return (await client.approvals(`runId=${run.id}`)).map((approval) => approval.decidedBy)
}

const isAsked = async (client: EdgeClient, script: string, more: object = {}) => {
  const approval = await ask(client, script, more)
  const { request } = await client.approval(approval.approvalId)
  await client.decide(approval.runId, approval.approvalId, "deny")
  await approval.reader.ended
  return request
}

describe("A grant", () => {
  it("for always holds in later runs and after a restart, and is gone once it is taken back", async () => {
    const separateEdge = await openEdgeProcess()
    const approval = await ask(separateEdge.client, "/shell echo one && echo two > out.txt")
    const { scope } = await allow(separateEdge.client, approval, "always")
    assert.strictEqual(scope, "always")
    // Of one decision, in no order.
    const grants = (await separateEdge.client.grants("workspace=ws")).toSorted((a, b) =>
      JSON.stringify(a.rule).localeCompare(JSON.stringify(b.rule))
    )
    assert.deepStrictEqual(
      grants.map(
        ({ agentId, approvalId, by, rule, scope }) => ({ agentId, approvalId, by, rule, scope }) as unknown
      ),
      [
        { action: "shell", command: ["echo", "one"] },
        { action: "shell", command: ["echo", "two"], writes: [{ file: "out.txt" }] }
      ].map((rule) => ({
        agentId: "scripted",
        approvalId: approval.approvalId,
        by: "local",
        rule,
        scope: "always"
      }))
    )
    const [one, two] = grants.map(({ id }) => id)
    assert.deepStrictEqual(await decidedBy(separateEdge.client, "/shell echo one"), [
      `policy:remembered:${one}`
    ])
    await separateEdge.kill()
    await separateEdge.start()
    const { client } = separateEdge
    assert.deepStrictEqual(await decidedBy(client, "/shell echo two > out.txt; echo one"), [
      `policy:remembered:${two},${one}`
    ])
    assert.deepStrictEqual(await client.grants("workspace=other"), [])
    // In a run that is under way already.
    const live = await ask(client, "/shell echo one\n/shell echo three\n/shell echo one")
    for (const { id } of grants)
      assert.strictEqual((await client.ask("DELETE", `/v1/grants/${id}`)).status, 204)
    assert.deepStrictEqual(await client.grants(), [])
    await client.decide(live.runId, live.approvalId, "allow")
    const { approvalId } = await nextAsked(client, live.reader)
    assert.strictEqual((await client.approval(approvalId)).request.command, "echo one")
    await client.decide(live.runId, approvalId, "deny")
    await live.reader.ended
    for (const id of [grants[0]?.id, "gra_00000000000000000000000000"]) {
      const again = await client.ask("DELETE", `/v1/grants/${id}`)
      assert.deepStrictEqual([again.status, codeOf(again)], [404, "not_found"])
    }
  })

  it("for the session holds in its later runs alone, and is for the run where there is no session", async () => {
    const { client } = edge
    const approval = await ask(client, "/shell echo session", session(1))
    assert.deepStrictEqual((await client.approval(approval.approvalId)).request.scopes, [
      "once",
      "run",
      "session",
      "always"
    ])
    assert.strictEqual((await allow(client, approval, "session")).scope, "session")
    const [grant] = await client.grants()
    assert.strictEqual(grant?.sessionId, session(1).sessionId)
    const by = await decidedBy(client, "/shell echo session", session(1))
    assert.deepStrictEqual(by, [`policy:remembered:${grant?.id}`])
    await isAsked(client, "/shell echo session", session(2))
    await isAsked(client, "/shell echo session")

    const without = await ask(client, "/shell echo none\n/shell echo none")
    assert.strictEqual((await allow(client, without, "session")).scope, "run")
    const states = (await client.approvals(`runId=${without.runId}`)).map((approval) => approval.decidedBy)
    assert.deepStrictEqual(states, ["local", `policy:remembered:${without.approvalId}`])
    await isAsked(client, "/shell echo none")
  })

  it("covers no chain with one unknown part, and no other folder, file or argument", async () => {
    const { client } = edge
    await allow(client, await ask(client, "/shell echo known"), "always")
    for (const line of [
      "echo known && echo unknown",
      "echo known; rm x",
      "echo known | cat",
      "echo known > file.txt",
      "echo $(echo known)",
      "echo known again",
      "mkdir -p sub && cd sub && echo known"
    ]) {
      const { segments = [] } = await isAsked(client, `/shell ${line}`)
      assert.isNotEmpty(segments, line)
    }
    const [by] = await decidedBy(client, "/shell echo known && echo known")
    assert.match(by ?? "", /^policy:remembered:gra_\w{26}$/)
  })

  it("is not made for an interpreter, privilege, a publication or an unclear command: they are asked for again", async () => {
    const { client } = edge
    const before = await client.grants()
    for (const line of [
      "sh -c 'echo hi'",
      "node -e 1",
      "echo hi | sh",
      "git push",
      'eval "echo hi"',
      "echo $HOME"
    ]) {
      const approval = await ask(client, `/shell ${line}\n/shell ${line}`)
      const { request } = await client.approval(approval.approvalId)
      assert.deepStrictEqual(request.scopes, ["once"], line)
      await client.decide(approval.runId, approval.approvalId, "allow", { scope: "always" })
      assert.strictEqual((await client.approval(approval.approvalId)).scope, "once")
      const again = await nextAsked(client, approval.reader)
      assert.notStrictEqual(again.approvalId, approval.approvalId)
      await client.decide(approval.runId, again.approvalId, "deny")
      await approval.reader.ended
    }
    assert.deepStrictEqual(await client.grants(), before)
  })

  it("does not lift what the mode forbids", async () => {
    const { client } = edge
    await allow(client, await ask(client, "/shell touch granted"), "always")
    const run = await client.create("/ask", "read_only")
    await client.log(run.id)
    const [denied] = await client.approvals(`runId=${run.id}`)
    assert.deepStrictEqual([denied?.state, denied?.decidedBy], ["denied", "policy:mode"])
  })

  it("is made once, however many decide at once, and not by a decision that came second", async () => {
    const separateEdge = await openEdgeInProcess()
    const approval = await ask(separateEdge.client, "/shell echo raced")
    const scopes = ["always", "once", "always", "run"]
    const answers = await Promise.all(
      scopes.map((scope) =>
        separateEdge.client.decide(approval.runId, approval.approvalId, "allow", { scope })
      )
    )
    assert.deepStrictEqual(
      answers.map(({ status }) => status),
      scopes.map(() => 200)
    )
    await approval.reader.ended
    const { scope } = await separateEdge.client.approval(approval.approvalId)
    assert.strictEqual((await separateEdge.client.grants()).length, scope === "always" ? 1 : 0)
    await separateEdge.client.decide(approval.runId, approval.approvalId, "allow", { scope: "always" })
    assert.strictEqual((await separateEdge.client.grants()).length, scope === "always" ? 1 : 0)
  })
})

describe("A grant of the configuration", () => {
  it("requests no approval for what it covers, and is not listed", async () => {
    const { client } = await openEdgeInProcess({
      grants: [
        { action: "shell", command: ["echo"], prefix: true },
        { action: "write", files: ["notes/*"] }
      ]
    })
    const by = await decidedBy(client, "/shell echo any words > notes/a.txt\n/write notes/b.txt hello")
    assert.deepStrictEqual(by, ["policy:workspace", "policy:workspace"])
    await isAsked(client, "/shell echo any words > a.txt")
    await isAsked(client, "/write b.txt hello")
    assert.deepStrictEqual(await client.grants(), [])
  })
})

describe("The list of grants", () => {
  it("comes in pages, bound to its workspace", async () => {
    const { client } = edge
    for (const word of ["p1", "p2", "p3"])
      await allow(client, await ask(client, `/shell echo ${word}`), "always")
    const all = await client.grants("limit=200")
    const first = await client.ask("GET", "/v1/grants?limit=1&workspace=ws")
    const { items, nextCursor } = first.body as {
      readonly items: ReadonlyArray<unknown>
      readonly nextCursor: string
    }
    assert.strictEqual(items.length, 1)
    assert.deepStrictEqual(await client.grants(`limit=200&workspace=ws&cursor=${nextCursor}`), all.slice(1))
    const foreign = await client.ask("GET", `/v1/grants?cursor=${nextCursor}`)
    assert.deepStrictEqual([foreign.status, codeOf(foreign)], [422, "schema_validation_failed"])
    const bad = await client.ask("DELETE", "/v1/grants/nothing")
    assert.include([404, 422], bad.status)
  })
})
