/** Runs in worktrees over real HTTP: where they work, what their diff compares, how they are resumed, listed and removed. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeOptions, type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assertWhole } from "../harness/LogInvariants.ts"
import { commitAll, git, knownWorkspace, repository, sampleRepository } from "../workspace/Repository.ts"

const isolation = "worktree"

const openRepository = async (
  options: EdgeOptions = {},
  open: typeof openEdgeProcess = openEdgeInProcess
): Promise<EdgeProcess> => {
  const edge = await open(options)
  sampleRepository(edge.workspace)
  return edge
}

const bodyOf = async (client: EdgeClient, target: string) => {
  const answer = await client.ask("GET", target)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body as Readonly<Record<string, unknown>>
}

const worktreeOf = (client: EdgeClient, runId: string) => bodyOf(client, `/v1/runs/${runId}/worktree`)
const remove = (client: EdgeClient, runId: string, query = "") =>
  client.ask("DELETE", `/v1/runs/${runId}/worktree${query}`)
const listed = async (client: EdgeClient, query = "") =>
  (await bodyOf(client, `/v1/worktrees${query}`)) as {
    readonly items: ReadonlyArray<{ readonly runId: string; readonly state: string }>
    readonly nextCursor: string | null
  }

/** What a preview of the run's folder shows under that name. */
const previewed = async (client: EdgeClient, runId: string, name: string): Promise<string> => {
  const body = { workspace: "ws", runId, title: "t", source: { kind: "folder", path: "" } }
  const answer = await client.ask("POST", "/v1/previews", { body })
  assert.strictEqual(answer.status, 201, answer.text)
  const { url } = answer.body as { readonly url: string }
  const entered = await fetch(url, { redirect: "manual" })
  const cookie = (entered.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? ""
  return (await fetch(new URL(`/${name}`, url), { headers: { cookie } })).text()
}

const issueOf = (body: unknown) =>
  (body as { readonly details: { readonly issues: ReadonlyArray<{ readonly path: string }> } }).details
    .issues[0]?.path

describe("A run in a worktree", () => {
  it("works beside the workspace; its log says what the checkout had, its diff is of the worktree", async () => {
    const edge = await openRepository()
    const { client } = edge
    writeFileSync(join(edge.workspace, "a.txt"), "not committed\n")
    const run = await client.create("/shell pwd\n/write a.txt work\n/write new.txt new", "ask", {
      isolation
    })
    assert.deepInclude(run, { isolation, worktree: run.id })
    const reader = await client.follow({ runId: run.id })
    const base = git(edge.workspace, "rev-parse", "HEAD").trim()
    const branch = `corral/${run.id}`
    assert.deepInclude(reader.events[0]?.payload ?? (await reader.event("run.created")).payload, {
      worktree: { runId: run.id, branch, base, leftOut: { count: 1, paths: ["a.txt"] } }
    })
    /** The approval that waits; `null` after the end of the run. */
    const waiting = () =>
      until(async () => {
        const [approval] = await client.approvals(`runId=${run.id}&state=pending`)
        if (approval !== undefined) return approval
        return isTerminal((await client.run(run.id)).state) ? null : undefined
      }, "an approval or the end")
    let decided = 0
    for (let approval = await waiting(); approval !== null; approval = await waiting()) {
      assert.deepInclude(await worktreeOf(client, run.id), { state: "active" })
      const refusal = await remove(client, run.id, "?force=true")
      assert.deepStrictEqual([refusal.status, codeOf(refusal)], [409, "conflict"])
      await client.decide(run.id, approval.id, "allow", { scope: "run" })
      decided++
    }
    assert.isAtLeast(decided, 1)
    await reader.ended
    assertWhole(reader.events)
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    assert.strictEqual(readFileSync(join(edge.workspace, "a.txt"), "utf8"), "not committed\n")
    assert.isFalse(existsSync(join(edge.workspace, "new.txt")))
    const path = join(edge.home, "worktrees", run.id)
    assert.strictEqual(readFileSync(join(path, "a.txt"), "utf8"), "work\n")
    const diff = async () => {
      const { items } = (await bodyOf(client, `/v1/runs/${run.id}/diff`)) as {
        readonly items: ReadonlyArray<{ readonly path: string; readonly status: string }>
      }
      return items.map((item) => [item.path, item.status])
    }
    const changes = [
      ["a.txt", "modified"],
      ["new.txt", "untracked"]
    ]
    assert.deepStrictEqual(await diff(), changes)
    assert.strictEqual(await previewed(client, run.id, "new.txt"), "new\n")
    const examined = await worktreeOf(client, run.id)
    assert.deepInclude(examined, {
      state: "kept",
      branch,
      base,
      head: base,
      uncommitted: true,
      unmerged: false
    })
    assert.notInclude(JSON.stringify(examined), edge.folder)
    const refusal = await remove(client, run.id)
    assert.deepInclude(refusal.body, { code: "conflict", details: { uncommitted: true, unmerged: false } })
    assert.strictEqual((await remove(client, run.id, "?force=yes")).status, 422)
    assert.strictEqual((await remove(client, run.id, "?force=true")).status, 204)
    const ref = `refs/corral/${run.id}`
    assert.deepInclude(await worktreeOf(client, run.id), { state: "removed", ref })
    assert.strictEqual(git(edge.workspace, "show", `${ref}:new.txt`), "new\n")
    assert.isFalse(existsSync(path))
    assert.deepStrictEqual(knownWorkspace(edge.workspace), { folders: [], branches: [] })
    assert.deepStrictEqual(await diff(), changes, "the diff outlives the worktree")
  })

  it("is gone on with in the same worktree, by one run at a time, also after a restart", async () => {
    const edge = await openRepository({}, openEdgeProcess)
    const first = await edge.client.create("/write one.txt 1", "auto_edit", { isolation })
    await edge.client.log(first.id)
    await edge.kill()
    await edge.start()
    const { client } = edge
    const second = await client.create("/read one.txt\n/write two.txt 2\n/wait", "auto_edit", {
      resume: first.id
    })
    assert.deepInclude(second, { isolation, worktree: first.id })
    const reader = await client.follow({ runId: second.id })
    await reader.event("run.file.changed")
    const third = await client.tryCreate("/say no", "ask", { resume: first.id })
    assert.deepStrictEqual([third.status, issueOf(third.body)], [422, "resume"])
    assert.strictEqual((await remove(client, first.id, "?force=true")).status, 409)
    await client.ask("POST", `/v1/runs/${second.id}/input`, { body: { text: "go on" } })
    await reader.ended
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    const path = join(edge.home, "worktrees", first.id)
    assert.strictEqual(readFileSync(join(path, "two.txt"), "utf8"), "2\n")
    const { items } = (await bodyOf(client, `/v1/runs/${second.id}/diff`)) as {
      readonly items: ReadonlyArray<{ readonly path: string }>
    }
    assert.deepStrictEqual(
      items.map((item) => item.path),
      ["two.txt"],
      "against the worktree as it was when that run started"
    )
    const elsewhere = await client.tryCreate("/say no", "ask", { resume: first.id, isolation: "none" })
    assert.deepStrictEqual([elsewhere.status, issueOf(elsewhere.body)], [422, "isolation"])
    assert.deepInclude(await worktreeOf(client, second.id), { runId: first.id, state: "kept" })
    assert.strictEqual((await remove(client, second.id, "?force=true")).status, 204)
    const afterwards = await client.tryCreate("/say no", "ask", { resume: second.id })
    assert.deepStrictEqual([afterwards.status, issueOf(afterwards.body)], [422, "resume"])
  })

  it("is one of many that do not meet, listed in pages until they are removed", async () => {
    const edge = await openRepository()
    const { client } = edge
    const runs = await Promise.all(
      [1, 2, 3].map((n) => client.create(`/write a.txt ${n}`, "auto_edit", { isolation }))
    )
    for (const run of runs) assert.strictEqual((await client.log(run.id)).at(-1)?.type, "run.completed")
    const contents = runs.map((run) => readFileSync(join(edge.home, "worktrees", run.id, "a.txt"), "utf8"))
    assert.deepStrictEqual(contents, ["1\n", "2\n", "3\n"])
    const newest = runs
      .map(({ id }) => id)
      .toSorted()
      .toReversed()
    const first = await listed(client, "?limit=2")
    const second = await listed(client, `?limit=2&cursor=${first.nextCursor}`)
    assert.deepStrictEqual(
      [...first.items, ...second.items].map(({ runId }) => runId),
      newest
    )
    assert.isNull(second.nextCursor)
    for (const id of newest) assert.strictEqual((await remove(client, id, "?force=true")).status, 204)
    assert.deepStrictEqual((await listed(client)).items, [])
  })

  it("is taken down where it was cancelled before it could start", async () => {
    const edge = await openRepository({ env: { CORRAL_EDGE_MAX_RUNS: "1" } })
    const { client } = edge
    const busy = await client.create("/hang")
    const waiting = await client.create("/say hi", "ask", { isolation })
    assert.strictEqual((await client.cancel(waiting.id)).status, 200)
    assert.strictEqual((await client.cancel(busy.id)).status, 200)
    assert.deepStrictEqual(knownWorkspace(edge.workspace), { folders: [], branches: [] })
  })

  it("that ends holds its worktree no longer than its last event", async () => {
    const edge = await openRepository()
    const run = await edge.client.create("/say hi", "ask", { isolation })
    await edge.client.log(run.id)
    assert.strictEqual((await remove(edge.client, run.id)).status, 204)
  })

  it("needs a repository with a commit, and another run has none to show", async () => {
    const { client, workspace } = await openEdgeInProcess()
    const refused = async () => {
      const answer = await client.tryCreate("/say hi", "ask", { isolation })
      assert.deepStrictEqual(
        [answer.status, codeOf(answer), issueOf(answer.body)],
        [422, "schema_validation_failed", "isolation"]
      )
    }
    await refused()
    repository(workspace)
    await refused()
    commitAll(workspace)
    const run = await client.create("/say hi")
    assert.notProperty(run, "worktree")
    for (const id of [run.id, "run_01K9ZZZZZZZZZZZZZZZZZZZZZZ"]) {
      assert.strictEqual((await client.ask("GET", `/v1/runs/${id}/worktree`)).status, 404)
      assert.strictEqual((await remove(client, id)).status, 404)
    }
    assert.strictEqual((await client.ask("GET", "/v1/worktrees?cursor=abc")).status, 422)
  })

  it("in read_only is held to it", async () => {
    const edge = await openRepository()
    const run = await edge.client.create("/breach own.txt", "read_only", { isolation })
    const end = (await edge.client.log(run.id)).at(-1)
    assert.deepInclude(end?.payload["error"], {
      code: "permission_denied",
      details: { reason: "workspace_changed", mode: "read_only", files: ["own.txt"] }
    })
  })
})
