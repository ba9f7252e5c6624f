/** What a run changed, as its diff tells it; and a run that may change nothing. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { commitAll, repository } from "../workspace/Repository.ts"

const diffOf = async (client: EdgeClient, runId: string, query = "") => {
  const answer = await client.ask("GET", `/v1/runs/${runId}/diff${query}`)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body as {
    readonly items: ReadonlyArray<FileDiff>
    readonly additions: number
    readonly nextCursor: string | null
  }
}

describe("/v1/runs/{id}/diff", () => {
  it("is listed before the run's end, shown while it works, and stable after a restart", async () => {
    const edge = await openEdgeProcess()
    writeFileSync(join(edge.workspace, "old.txt"), "old\n")
    const run = await edge.client.create("/write new.txt hello\n/wait\n/write old.txt changed", "auto_edit")
    const reader = await edge.client.follow({ runId: run.id })
    await reader.event("run.file.changed")
    const during = await diffOf(edge.client, run.id)
    assert.deepStrictEqual(
      during.items.map(({ path, status }) => [path, status]),
      [["new.txt", "added"]]
    )
    await edge.client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
    await reader.ended
    assertWhole(reader.events)
    const ready = reader.events.at(-2)
    assert.strictEqual(ready?.type, "run.diff.ready")
    assert.deepInclude(ready?.payload, { files: 2, additions: 2, deletions: 1 })
    const after = await diffOf(edge.client, run.id)
    assert.deepStrictEqual(
      after.items.map(({ path }) => path),
      ["new.txt", "old.txt"]
    )
    const first = await diffOf(edge.client, run.id, "?limit=1")
    const second = await diffOf(edge.client, run.id, `?limit=1&cursor=${first.nextCursor}`)
    assert.deepStrictEqual([...first.items, ...second.items], after.items)
    writeFileSync(join(edge.workspace, "old.txt"), "later\n")
    await edge.kill()
    await edge.start()
    assert.deepStrictEqual((await diffOf(edge.client, run.id)).items, after.items)
  })

  it("tells hunks, renames, binary and untracked files and deletions, with a repository and without", async () => {
    for (const withGit of [true, false]) {
      const edge = await openEdgeInProcess({ grants: ["full_access"] })
      const at = (name: string) => join(edge.workspace, name)
      const long = Array.from({ length: 40 }, (_, n) => `line ${n}\n`).join("")
      writeFileSync(at("long.txt"), long)
      writeFileSync(at("moved.txt"), long.replaceAll("line", "word"))
      writeFileSync(at("gone.txt"), "gone\n")
      writeFileSync(at("image.bin"), Buffer.from([0, 1, 2, 3]))
      if (withGit) {
        repository(edge.workspace)
        commitAll(edge.workspace)
      }
      const script = [
        "sed -i 's/line 20/LINE 20/' long.txt",
        "mv moved.txt renamed.txt",
        "rm gone.txt",
        "printf '\\0\\9\\0' > image.bin",
        "echo new > new.txt"
      ]
      const run = await edge.client.create(`/shell ${script.join("; ")}`, "full_access")
      assertWhole(await edge.client.log(run.id))
      const { items } = await diffOf(edge.client, run.id)
      assert.deepStrictEqual(
        items.map(({ binary, fromPath, path, status }) => [path, status, binary, fromPath]),
        [
          ["gone.txt", "deleted", false, undefined],
          ["image.bin", "modified", true, undefined],
          ["long.txt", "modified", false, undefined],
          ["new.txt", withGit ? "untracked" : "added", false, undefined],
          ["renamed.txt", "renamed", false, "moved.txt"]
        ]
      )
      const [hunk] = items[2]?.hunks ?? []
      assert.deepInclude(hunk, { oldStart: 18, oldLines: 7, newStart: 18, newLines: 7 })
      assert.deepStrictEqual(
        hunk?.lines.filter((line) => !line.startsWith(" ")),
        ["-line 20", "+LINE 20"]
      )
      assert.deepStrictEqual(items[1]?.hunks, [])
    }
  })

  it("says that the changes of a run are unknown, and why, if they are", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"], env: { PATH: "/nowhere" } })
    const run = await edge.client.create("/write new.txt hello", "auto_edit")
    const events = await edge.client.log(run.id)
    assertWhole(events)
    assert.deepInclude(events.at(-2), { type: "run.changes.unknown" })
    assert.deepInclude(events.at(-2)?.payload, { reason: "no_git" })
    const { body } = await edge.client.ask("GET", `/v1/runs/${run.id}`)
    assert.deepInclude(body, { state: "completed", changesUnknown: { reason: "no_git" } })
    const diff = await edge.client.ask("GET", `/v1/runs/${run.id}/diff`)
    assert.deepInclude(diff.body, { code: "changes_unknown", details: { reason: "no_git" } })
    assert.strictEqual(diff.status, 409)
  })

  it("names files that could not be compared", async () => {
    const edge = await openEdgeInProcess({ grants: ["full_access"] })
    // A pipe makes the Edge read the files itself, and it reads no file of this size.
    const run = await edge.client.create("/shell mkfifo .gitignore; truncate -s 100M large", "full_access")
    const events = await edge.client.log(run.id)
    const leftOut = { count: 1, paths: ["large"] }
    assert.deepInclude(events.at(-2)?.payload, { files: 0, leftOut })
    const { body } = await edge.client.ask("GET", `/v1/runs/${run.id}/diff`)
    assert.deepInclude(body, { items: [], leftOut })
  })

  it("is refused with a foreign cursor, and not found for a run that is not there", async () => {
    const { client } = await openEdgeInProcess()
    const run = await client.create("/say hi")
    await client.log(run.id)
    assert.strictEqual(
      codeOf(await client.ask("GET", `/v1/runs/${run.id}/diff?cursor=abc`)),
      "schema_validation_failed"
    )
    const missing = await client.ask("GET", "/v1/runs/run_01K9ZZZZZZZZZZZZZZZZZZZZZZ/diff")
    assert.strictEqual(codeOf(missing), "not_found")
  })
})

describe("A run in read_only or plan", () => {
  const edge = new EdgeInProcess()
  beforeAll(() => edge.start())
  afterAll(() => edge.remove())

  it("that changed a file fails as permission_denied and names it", async () => {
    const { client } = edge
    for (const mode of ["read_only", "plan"] as const) {
      // Its own program breaks the mode: it writes a line without a request.
      const run = await client.create(`/breach ${mode}.txt`, mode)
      const events = await client.log(run.id)
      assertWhole(events)
      assert.strictEqual(events.at(-1)?.type, "run.failed")
      assert.deepInclude(events.at(-1)?.payload["error"], {
        code: "permission_denied",
        details: { reason: "workspace_changed", mode, files: [`${mode}.txt`] }
      })
      const result = await client.result(run.id)
      assert.deepStrictEqual([result.status, codeOf(result)], [403, "permission_denied"])
    }
  })

  it("that changed nothing completes", async () => {
    writeFileSync(join(edge.workspace, "a.txt"), "text\n")
    const run = await edge.client.create("/read a.txt\n/list\n/write b.txt no", "read_only")
    assert.strictEqual((await edge.client.log(run.id)).at(-1)?.type, "run.completed")
  })
})
