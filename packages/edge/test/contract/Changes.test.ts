/** Change sets over real HTTP: of a run in a worktree, which are accepted and rejected, and of a run in the workspace itself, which is undone. */
import type { ChangedFileContent, ChangeSetPage, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { EarlierDecision } from "@corral/domain/changes/EarlierDecision"
import type { RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { changeSetIdOf } from "../../src/change/ChangeIds.ts"
import { commitAll, sampleRepository } from "../workspace/Repository.ts"

const get = async <A>(client: EdgeClient, target: string): Promise<A> => {
  const answer = await client.ask("GET", target)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body as A
}
const changesOf = (client: EdgeClient, runId: string, query = "") =>
  get<ChangeSetPage>(client, `/v1/runs/${runId}/changes${query}`)
const decide = (client: EdgeClient, runId: string, kind: string, body: object, key?: string) =>
  client.ask("POST", `/v1/runs/${runId}/changes/${kind}`, {
    body,
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } })
  })
const decided = async (client: EdgeClient, runId: string, kind: string, body: object, key?: string) => {
  const answer = await decide(client, runId, kind, body, key)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body as DecidedChanges
}
const pathsOf = ({ items }: ChangeSetPage) => items.map(({ path, status }) => [path, status])

const lines = Array.from({ length: 30 }, (_, n) => `line ${n}\n`).join("")
const inWorktree = { isolation: "worktree" }

describe("/v1/runs/{id}/changes", () => {
  it("lists, accepts, rejects and undoes the changes of a worktree", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { client, workspace } = edge
    writeFileSync(join(workspace, "long.txt"), lines)
    writeFileSync(join(workspace, "gone.txt"), "gone\n")
    sampleRepository(workspace)
    commitAll(workspace)
    const script =
      "sed -i 's/line 3$/three/; s/line 25/twenty-five/' long.txt; rm gone.txt; mkdir deep; echo new > deep/new.txt"
    const run = await client.create(`/shell ${script}`, "full_access", inWorktree)
    await client.result(run.id, 60_000)
    const page = await changesOf(client, run.id)
    assert.deepStrictEqual(pathsOf(page), [
      ["deep/new.txt", "added"],
      ["gone.txt", "deleted"],
      ["long.txt", "modified"]
    ])
    assert.deepInclude(page.set, {
      id: changeSetIdOf(run.id as RunId),
      state: "open",
      isolation: "worktree",
      direct: false,
      live: false,
      fileCount: 3
    })
    const first = await changesOf(client, run.id, "?limit=2")
    const second = await changesOf(client, run.id, `?limit=2&cursor=${first.nextCursor}`)
    assert.deepStrictEqual([...first.items, ...second.items], page.items)
    const long = page.items[2]
    const file = await get<ChangedFileContent>(
      client,
      `/v1/runs/${run.id}/changes/files/${long?.id}?context=4`
    )
    assert.deepStrictEqual(
      file.items.map(({ lines: [line] }) => line),
      [" line 0", " line 21"]
    )
    const parts = { hunks: [file.items[0]?.id] }
    const accepted = await decided(client, run.id, "accept", { parts }, "accept-1")
    assert.strictEqual(
      readFileSync(join(workspace, "long.txt"), "utf8"),
      lines.replace("line 3\n", "three\n")
    )
    assert.deepInclude(accepted.decision, { kind: "accept", by: "local", origin: "terminal", fileCount: 1 })
    const repeated = await decide(client, run.id, "accept", { parts }, "accept-1")
    assert.deepStrictEqual([repeated.status, repeated.body], [200, accepted])
    const late = await decide(client, run.id, "accept", { parts })
    assert.deepStrictEqual([late.status, codeOf(late)], [409, "changes_outdated"])
    const rejected = await decided(client, run.id, "reject", {
      parts: { files: [page.items[0]?.id] },
      comment: "no new files"
    })
    assert.isFalse(existsSync(join(edge.home, "worktrees", run.id, "deep")))
    const all = await decided(client, run.id, "accept", {
      parts: { all: true, version: rejected.set.version }
    })
    assert.deepInclude(all.set, { state: "decided", fileCount: 0 })
    assert.isFalse(existsSync(join(workspace, "gone.txt")))
    const undone = await decided(client, run.id, "undo", { decisionId: all.decision.id })
    assert.strictEqual(readFileSync(join(workspace, "gone.txt"), "utf8"), "gone\n")
    assert.deepInclude(undone.set, { state: "open", fileCount: 2 })
    const again = await decide(client, run.id, "undo", { decisionId: all.decision.id })
    assert.deepInclude(again.body, { code: "conflict", details: { reason: "reversed" } })
    assert.deepStrictEqual(
      undone.set.decisions.map(({ kind }) => kind),
      ["undo", "accept", "reject", "accept"]
    )
  })

  it("shows both sides of a conflict, and changes nothing", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { client, workspace } = edge
    sampleRepository(workspace)
    const run = await client.create("/shell echo theirs > a.txt; echo b > b.txt", "full_access", inWorktree)
    await client.result(run.id, 60_000)
    writeFileSync(join(workspace, "a.txt"), "mine\n")
    const { set } = await changesOf(client, run.id)
    const refused = await decide(client, run.id, "accept", { parts: { all: true, version: set.version } })
    assert.strictEqual(refused.status, 409)
    assert.deepInclude(refused.body, { code: "merge_conflict" })
    assert.deepInclude(
      JSON.stringify(refused.body),
      '"base":"1\\n","workspace":"mine\\n","change":"theirs\\n"'
    )
    assert.isFalse(existsSync(join(workspace, "b.txt")))
  })

  it("decides nothing while a run of the set is live, and says so", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { client, workspace } = edge
    sampleRepository(workspace)
    const run = await client.create("/shell echo 2 > a.txt\n/wait", "full_access", inWorktree)
    const reader = await client.follow({ runId: run.id })
    await reader.event("run.tool.result")
    const page = await changesOf(client, run.id)
    assert.deepInclude(page.set, { live: true, fileCount: 1 })
    const refused = await decide(client, run.id, "accept", {
      parts: { all: true, version: page.set.version }
    })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "run_active"])
    await client.ask("POST", `/v1/runs/${run.id}/cancel`, { body: { reason: "done" } })
  })

  it("undoes what a run wrote into the workspace, also by a shell", async () => {
    const edge = await openEdgeProcess({ grants: ["full_access"] })
    const { workspace } = edge
    writeFileSync(join(workspace, "kept.txt"), lines)
    writeFileSync(join(workspace, "gone.txt"), "gone\n")
    const run = await edge.client.create(
      "/shell sed -i 's/line 3$/three/' kept.txt; rm gone.txt; echo new > new.txt",
      "full_access"
    )
    await edge.client.result(run.id, 60_000)
    const page = await changesOf(edge.client, run.id)
    assert.deepInclude(page.set, { direct: true, state: "decided", fileCount: 3 })
    const refused = await decide(edge.client, run.id, "accept", {
      parts: { all: true, version: page.set.version }
    })
    assert.deepInclude(refused.body, { code: "conflict", details: { reason: "direct" } })
    writeFileSync(
      join(workspace, "kept.txt"),
      lines.replace("line 3\n", "three\n").replace("line 20\n", "mine\n")
    )
    await edge.kill()
    await edge.start()
    const undone = await decided(edge.client, run.id, "undo", {})
    assert.strictEqual(
      readFileSync(join(workspace, "kept.txt"), "utf8"),
      lines.replace("line 20\n", "mine\n")
    )
    assert.strictEqual(readFileSync(join(workspace, "gone.txt"), "utf8"), "gone\n")
    assert.isFalse(existsSync(join(workspace, "new.txt")))
    assert.deepInclude(undone.set, { fileCount: 0, state: "decided" })
    const empty = await decide(edge.client, run.id, "undo", {})
    assert.strictEqual(empty.status, 422)
  })

  it("shows the changes of a live run in the workspace, and undoes them only when it has ended", async () => {
    const { client, workspace } = await openEdgeInProcess({ grants: ["full_access"] })
    sampleRepository(workspace)
    const run = await client.create("/shell echo 2 > a.txt; echo b > b.txt\n/wait", "full_access")
    const reader = await client.follow({ runId: run.id })
    await reader.event("run.tool.result")
    const page = await changesOf(client, run.id)
    assert.deepInclude(page.set, { live: true, direct: true, state: "decided", fileCount: 2 })
    const file = `/v1/runs/${run.id}/changes/files/${page.items[0]?.id}`
    const { items } = await get<ChangedFileContent>(client, file)
    assert.deepStrictEqual(items[0]?.lines, ["-1", "+2"])
    const refused = await decide(client, run.id, "undo", {})
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "run_active"])
    assert.strictEqual(readFileSync(join(workspace, "a.txt"), "utf8"), "2\n")
    await client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
    await reader.ended
    await decided(client, run.id, "undo", {})
    assert.strictEqual(readFileSync(join(workspace, "a.txt"), "utf8"), "1\n")
    assert.isFalse(existsSync(join(workspace, "b.txt")))
  })

  it("undoes a run in the workspace around what was accepted since, or shows both sides", async () => {
    const { client, workspace } = await openEdgeInProcess({ grants: ["full_access"] })
    writeFileSync(join(workspace, "long.txt"), lines)
    sampleRepository(workspace)
    commitAll(workspace)
    const content = (name: string) => readFileSync(join(workspace, name), "utf8")
    const direct = await client.create(
      "/shell sed -i 's/line 3$/three/' long.txt; echo 2 > a.txt; echo b > b.txt",
      "full_access"
    )
    await client.result(direct.id, 60_000)
    commitAll(workspace)
    const worktree = await client.create(
      "/shell sed -i 's/line 25$/accepted/' long.txt; echo 3 > a.txt",
      "full_access",
      inWorktree
    )
    await client.result(worktree.id, 60_000)
    const { set } = await changesOf(client, worktree.id)
    const accepted = await decided(client, worktree.id, "accept", {
      parts: { all: true, version: set.version }
    })
    const refused = await decide(client, direct.id, "undo", {})
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "merge_conflict"])
    assert.include(refused.text, '"path":"a.txt"')
    assert.strictEqual(content("b.txt"), "b\n")
    const { items } = await changesOf(client, direct.id)
    const others = items.filter(({ path }) => path !== "a.txt").map(({ id }) => id)
    const undone = await decided(client, direct.id, "undo", { files: others })
    assert.deepInclude(undone.decision, { fileCount: 2, additions: 1, deletions: 2 })
    assert.strictEqual(content("long.txt"), lines.replace("line 25\n", "accepted\n"))
    assert.isFalse(existsSync(join(workspace, "b.txt")))
    await decided(client, worktree.id, "undo", { decisionId: accepted.decision.id })
    await decided(client, direct.id, "undo", {})
    assert.deepStrictEqual([content("long.txt"), content("a.txt")], [lines, "1\n"])
  })

  it("tells the next run of the worktree what was decided", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    const { client, workspace } = edge
    sampleRepository(workspace)
    const run = await client.create("/shell echo 2 > a.txt; echo b > b.txt", "full_access", inWorktree)
    await client.result(run.id, 60_000)
    const { items } = await changesOf(client, run.id)
    await decided(client, run.id, "accept", { parts: { files: [items[0]?.id] } })
    await decided(client, run.id, "reject", { parts: { files: [items[1]?.id] }, comment: "not this one" })
    const next = await client.create("/shell true", "full_access", { resume: run.id })
    const created = (await client.log(next.id))[0]
    assert.deepStrictEqual(
      (created?.payload["decided"] as ReadonlyArray<EarlierDecision> | undefined)?.map(
        ({ comment, files, kind }) => [kind, files, comment]
      ),
      [
        ["accept", [{ hunks: 1, path: "a.txt" }], undefined],
        ["reject", [{ hunks: 1, path: "b.txt" }], "not this one"]
      ]
    )
    assert.strictEqual((await changesOf(client, next.id)).set.runId, next.id)
  })

  it("does not know other runs, files and decisions", async () => {
    const { client } = await openEdgeInProcess()
    const none = "run_00000000000000000000000000"
    assert.strictEqual((await client.ask("GET", `/v1/runs/${none}/changes`)).status, 404)
    const run = await client.create("/write a.txt x", "auto_edit")
    await client.result(run.id, 60_000)
    const file = await client.ask("GET", `/v1/runs/${run.id}/changes/files/${"0".repeat(32)}`)
    assert.strictEqual(file.status, 404)
    const undo = await decide(client, run.id, "undo", { decisionId: "chd_00000000000000000000000000" })
    assert.strictEqual(undo.status, 404)
    assert.strictEqual((await client.ask("GET", `/v1/runs/${run.id}/changes?cursor=x`)).status, 422)
    assert.strictEqual((await decide(client, run.id, "accept", { parts: {} })).status, 409)
  })
})
