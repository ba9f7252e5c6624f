/** What is true of every list of an Edge: its envelope, its page size, its cursors. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { git, sampleRepository } from "../workspace/Repository.ts"

interface Page {
  readonly items: ReadonlyArray<unknown>
  readonly nextCursor: string | null
  readonly requestId: string
}

let edge: EdgeProcess
let client: EdgeClient
let workspace: string
/** Each with more than two items. */
let lists: ReadonlyArray<string>
beforeAll(async () => {
  workspace = mkdtempSync(join(realpathSync(tmpdir()), "corral-lists-"))
  const entry = { id: "ws", path: workspace, isolation: "copy-unconfined" }
  edge = new EdgeInProcess({ env: { CORRAL_EDGE_WORKSPACES: JSON.stringify([entry]) } })
  await edge.start()
  client = edge.client
  sampleRepository(workspace)
  mkdirSync(join(workspace, "many"))
  for (let i = 0; i < 51; i++) writeFileSync(join(workspace, "many", `${100 + i}.txt`), "")
  git(workspace, "status")
  const created = [1, 2, 3].map((n) => `/artifact ${n}.txt text/plain ${n}\n/write ${n}.txt ${n}`).join("\n")
  const run = await client.create(created, "auto_edit", { isolation: "none" })
  await client.log(run.id)
  for (let i = 0; i < 3; i++) {
    const worked = await client.create("/ask", "plan", { isolation: "worktree" })
    await client.log(worked.id)
    const layered = await client.create("/say hello", "ask", { isolation: "overlay" })
    await client.log(layered.id)
    const preview = { workspace: "ws", title: "All", source: { kind: "folder", path: "" }, runId: run.id }
    assert.strictEqual((await client.ask("POST", "/v1/previews", { body: preview })).status, 201)
  }
  lists = [
    "/v1/runs?",
    "/v1/runs?state=completed&",
    "/v1/permissions?",
    "/v1/permissions?state=denied&",
    "/v1/worktrees?",
    "/v1/layers?",
    "/v1/workspaces/ws/files?path=many&",
    `/v1/runs/${run.id}/diff?`,
    `/v1/runs/${run.id}/artifacts?`,
    `/v1/runs/${run.id}/previews?`
  ]
})
afterAll(async () => {
  await edge.remove()
  rmSync(workspace, { recursive: true, force: true })
})

const page = async (target: string): Promise<Page> => {
  const answer = await client.ask("GET", target)
  assert.strictEqual(answer.status, 200, `${target}: ${answer.text}`)
  return answer.body as Page
}

const assertRefused = async (target: string): Promise<void> => {
  const answer = await client.ask("GET", target)
  assert.deepStrictEqual([target, answer.status, codeOf(answer)], [target, 422, "schema_validation_failed"])
}

describe("A list", () => {
  it("is items, nextCursor and requestId, and its pages hold each item once", async () => {
    for (const list of lists) {
      const whole = await page(`${list}limit=200`)
      assert.isAtLeast(whole.items.length, 3, list)
      assert.isNull(whole.nextCursor, list)
      const found: Array<unknown> = []
      for (let cursor: string | null = ""; cursor !== null;) {
        const next: Page = await page(`${list}limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`)
        assert.isAtMost(next.items.length, 2)
        found.push(...next.items)
        cursor = next.nextCursor
        if (cursor !== null) assert.match(cursor, /^[A-Za-z0-9_-]{1,1024}$/)
      }
      assert.deepStrictEqual(found, whole.items, list)
    }
  })

  it("gives 50 items where nothing is said, and up to 200", async () => {
    const list = "/v1/workspaces/ws/files?path=many"
    const first = await page(list)
    assert.strictEqual(first.items.length, 50)
    assert.strictEqual((await page(`${list}&cursor=${first.nextCursor}`)).items.length, 1)
    assert.strictEqual((await page(`${list}&limit=200`)).items.length, 51)
  })

  it("refuses a limit outside of 1 to 200, and never clamps it", async () => {
    for (const list of lists) {
      for (const limit of ["0", "201", "-1", "1.5", "many", ""]) await assertRefused(`${list}limit=${limit}`)
    }
  })

  it("refuses a cursor that is damaged, too long, or another list's", async () => {
    const cursors = await Promise.all(lists.map(async (list) => (await page(`${list}limit=1`)).nextCursor))
    for (const [at, list] of lists.entries()) {
      const ownCursor = String(cursors[at])
      const damaged = (ownCursor.startsWith("A") ? "B" : "A") + ownCursor.slice(1)
      for (const cursor of ["", "nonsense", damaged, ownCursor.slice(0, -1), "A".repeat(1_025)])
        await assertRefused(`${list}limit=1&cursor=${cursor}`)
      for (const [from, cursor] of cursors.entries()) {
        if (from !== at) await assertRefused(`${list}limit=1&cursor=${cursor}`)
      }
      assert.strictEqual((await page(`${list}limit=1&cursor=${ownCursor}`)).items.length, 1)
    }
  })

  it("of what this machine offers is one page", async () => {
    for (const list of ["/v1/agents", "/v1/runners", "/v1/workspaces"]) {
      const { items, nextCursor } = await page(list)
      assert.isNotEmpty(items)
      assert.isNull(nextCursor)
    }
  })
})

describe("The pages of a log", () => {
  it("take `after` and a limit of 1 to 200, and refuse what is none", async () => {
    const run = await client.create("/say hello")
    const { length } = await client.log(run.id)
    const events = `/v1/runs/${run.id}/events`
    for (const query of ["limit=0", "limit=201", "after=-1", "after=1.5", "after=latest", "after="])
      await assertRefused(`${events}?${query}`)
    const { items, nextCursor } = await page(`${events}?after=1&limit=1`)
    assert.deepStrictEqual([(items[0] as { readonly seq: number }).seq, nextCursor], [2, "2"])
    assert.deepInclude(await page(`${events}?after=${length}`), { items: [], nextCursor: null })
  })
})
