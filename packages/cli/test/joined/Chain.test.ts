/** The whole chain over real processes: a person at the Hub has work done on one machine, follows it, decides, reads what came of it. */
import { assert, beforeAll, afterAll, describe, it } from "@effect/vitest"
import type { Artifact } from "@corral/domain/Artifact"
import type { Diff } from "@corral/domain/Diff"
import type { HubApproval } from "@corral/domain/HubRun"
import type { FileEntry, FilePreview } from "@corral/domain/Workspace"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { join } from "node:path"
import { StreamReader } from "../../../hub/test/harness/StreamReader.ts"
import { codeOf, type HubClient } from "../../../hub/test/harness/HubClient.ts"
import { Joined } from "./Joined.ts"

const players = fileURLToPath(new URL("../../../adapters/test/fixtures/bin", import.meta.url))

describe("Hub and Edge joined", { timeout: 120_000 }, () => {
  let joined: Joined
  let member: HubClient
  beforeAll(async () => {
    joined = await Joined.open({ edge: { env: { PATH: `${players}:${process.env["PATH"]}` } } })
    member = await joined.hub.signedIn("member")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: member.userId, role: "member" }
    })
    assert.strictEqual(added.status, 201, added.text)
  }, 120_000)
  afterAll(() => joined.remove())

  const pendingOf = async (runId: string): Promise<HubApproval> => {
    await joined.runWith(runId as never, ({ pendingApprovals }) => pendingApprovals.length > 0)
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<HubApproval> }>(
      "GET",
      `/client/runs/${runId}/approvals`
    )
    const pending = body.items.find(({ state }) => state === "pending")
    assert.isDefined(pending)
    return pending
  }

  it("does on that machine what a member asked for, once another has approved it", async () => {
    const { runId, task } = await joined.task(
      { text: "/say before\n/write made.txt hello\n/say after" },
      member
    )
    const reader = await StreamReader.open(joined.owner, `runId=${runId}`)
    const approval = await pendingOf(runId)
    assert.isFalse(existsSync(join(joined.edge.workspace, "made.txt")))
    const decided = await joined.owner.ask<HubApproval>("POST", `/client/approvals/${approval.id}/decide`, {
      body: { decision: "allow", scope: "always" }
    })
    assert.deepInclude(decided.body, { id: approval.id, state: "approved" })
    // A lasting grant is for whoever is at the machine.
    assert.notStrictEqual(decided.body.scope, "always")
    assert.deepStrictEqual(await joined.edge.client.grants(), [])
    assert.strictEqual(decided.body.decidedBy, joined.owner.userId)
    assert.deepStrictEqual(await reader.closed(), { code: 1000, reason: "the run has ended" })
    assert.strictEqual(readFileSync(join(joined.edge.workspace, "made.txt"), "utf8"), "hello\n")

    const types = reader.events.map(({ type }) => type)
    assert.strictEqual(types.at(-1), "run.completed")
    assert.deepStrictEqual(
      reader.events.map(({ seq }) => seq),
      types.map((_, at) => at + 1)
    )
    assert.deepStrictEqual(await joined.edge.client.log(runId), reader.events)
    assert.strictEqual((await joined.taskWith(task.id, ({ state }) => state === "completed")).runId, runId)

    const diff = await member.ask<Diff>("GET", `/client/runs/${runId}/diff`)
    assert.deepStrictEqual(
      diff.body.items.map(({ path, status }) => [path, status]),
      [["made.txt", "added"]]
    )
    const audit = await joined.owner.ask<{
      readonly items: ReadonlyArray<{ readonly action: string; readonly actor: string }>
    }>("GET", `/client/audit?projectId=${joined.projectId}&limit=200`)
    const deeds = audit.body.items.map(({ action, actor }) => `${action} ${actor}`)
    assert.include(deeds, `task.create ${member.userId}`)
    assert.include(deeds, `approval.decide ${joined.owner.userId}`)
    const verified = await joined.owner.ask("GET", `/client/audit/verify?projectId=${joined.projectId}`)
    assert.deepInclude(verified.body as object, { ok: true })
  })

  it("does the same with a recorded Claude Code", async () => {
    writeFileSync(join(joined.edge.workspace, "README.md"), "# Demo\n\nHello world\n")
    const { runId } = await joined.task({ agentId: "claude-code", text: "Please do the task." })
    const run = await joined.runWith(
      runId,
      ({ pendingApprovals, state }) => pendingApprovals.length > 0 || state === "completed"
    )
    if (run.pendingApprovals.length > 0) {
      const { id } = await pendingOf(runId)
      const decided = await member.ask("POST", `/client/approvals/${id}/decide`, {
        body: { decision: "allow" }
      })
      assert.strictEqual(decided.status, 200, decided.text)
    }
    assert.strictEqual((await joined.runWith(runId, ({ state }) => state === "completed")).state, "completed")
  })

  it("cancels at the machine what is cancelled at the Hub", async () => {
    const { runId } = await joined.task({ text: "/write never.txt x" })
    await pendingOf(runId)
    const cancelled = await member.ask("POST", `/client/runs/${runId}/cancel`)
    assert.deepInclude(cancelled.body as object, { id: runId, state: "cancelled" })
    assert.strictEqual((await joined.edge.client.run(runId)).state, "cancelled")
    assert.deepStrictEqual(joined.edge.survivorsOf(runId), [])
  })

  it("sends a further message to the run, once under its key", async () => {
    const { runId } = await joined.task({ text: "/wait\n/wait" })
    await joined.runWith(runId, ({ state }) => state === "running")
    const say = (key: string, text: string) =>
      member.ask<{ readonly id: string }>("POST", `/client/runs/${runId}/input`, {
        body: { text },
        headers: { "idempotency-key": key }
      })
    const first = await say("first", "one")
    assert.deepStrictEqual([first.status, first.body.id], [200, runId], first.text)
    const again = await say("first", "one")
    assert.deepStrictEqual([again.status, again.headers.get("idempotency-replayed")], [200, "true"])
    assert.strictEqual((await say("second", "two")).status, 200)
    await joined.runWith(runId, ({ state }) => state === "completed")
    const said = (await joined.edge.client.log(runId)).flatMap(({ payload, type }) =>
      type === "run.message.completed" && payload["role"] === "user" ? [payload["text"]] : []
    )
    assert.deepStrictEqual(said, ["one", "two"])
    const late = await say("third", "three")
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "conflict"])
  })

  it("shows what lies in the workspace and what the run made, byte for byte", async () => {
    writeFileSync(join(joined.edge.workspace, "shown.txt"), "shown here\n")
    const workspace = `/client/targets/${joined.deviceId}/workspaces/ws`
    const inProject = `projectId=${joined.projectId}`
    const folder = await member.ask<{ readonly items: ReadonlyArray<FileEntry> }>(
      "GET",
      `${workspace}/files?${inProject}`
    )
    assert.include(
      folder.body.items.map(({ name }) => name),
      "shown.txt"
    )
    const file = await member.ask<FilePreview>("GET", `${workspace}/file?${inProject}&path=shown.txt`)
    assert.deepInclude(file.body, { content: "shown here\n", encoding: "utf8" })
    const outside = await member.ask("GET", `${workspace}/file?${inProject}&path=..%2F..%2Fetc%2Fpasswd`)
    assert.strictEqual(codeOf(outside), "workspace_outside_allowlist")

    const content = "x".repeat(1_500_000)
    writeFileSync(join(joined.edge.workspace, "large.txt"), content)
    const { runId } = await joined.task({
      text: "/attach large.txt text/plain\n/artifact note.md text/markdown # Done"
    })
    await joined.runWith(runId, ({ state }) => state === "completed")
    const { body } = await member.ask<{ readonly items: ReadonlyArray<Artifact> }>(
      "GET",
      `/client/runs/${runId}/artifacts`
    )
    assert.deepStrictEqual(body.items.map(({ name }) => name).toSorted(), ["large.txt", "note.md"])
    const large = body.items.find(({ name }) => name === "large.txt")
    const response = await fetch(`${member.url}/client/runs/${runId}/artifacts/${large?.id}/content`, {
      headers: { authorization: `Bearer ${member.token}` }
    })
    assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
    assert.match(response.headers.get("content-disposition") ?? "", /^attachment/)
    assert.strictEqual(await response.text(), content)
  })

  it("takes the first of two decisions, one here and one at the machine", async () => {
    const { runId } = await joined.task({ text: "/write both.txt hello" })
    const approval = await pendingOf(runId)
    const answers = await Promise.all([
      member.ask("POST", `/client/approvals/${approval.id}/decide`, { body: { decision: "allow" } }),
      joined.edge.client.decide(runId, approval.id, "deny")
    ])
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
    const run = await joined.runWith(runId, ({ state }) => state === "completed")
    assert.strictEqual(run.state, "completed")
    const resolutions = (await joined.edge.client.log(runId)).filter(
      ({ type }) => type === "run.approval.resolved"
    )
    assert.lengthOf(resolutions, 1)
  })
})
