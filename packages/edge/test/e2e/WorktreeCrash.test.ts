/** SIGKILL of the Edge while worktrees are made and used: nothing dangles after the next start, and no work is lost. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { watch } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writeProgram } from "../Folder.ts"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until, within } from "@corral/testing/time/Until"
import { findProgram } from "../../src/process/ChildEnvironment.ts"
import { commitAll, git, knownWorkspace, sampleRepository } from "../workspace/Repository.ts"

const isolation = "worktree"

/** Succeeds when the folder has that number of entries. */
const entries = async (folder: string, count: number): Promise<void> => {
  const abort = new AbortController()
  const changes = watch(folder, { signal: abort.signal })[Symbol.asyncIterator]()
  // The folder is watched from the first call on: no change is between a call and the look after it.
  const change = () => {
    const next = changes.next()
    next.catch(() => undefined)
    return next
  }
  for (let next = change(); readdirSync(folder).length < count; next = change())
    await within(next, 10_000, `${count} entries`)
  abort.abort()
}

/** Folders, branches and the Edge's list are of the same worktrees, and git's own list has none. */
const assertNothingDangles = async (edge: EdgeProcess): Promise<ReadonlyArray<string>> => {
  const { body } = await edge.client.ask("GET", "/v1/worktrees?limit=200")
  const items = (body as { readonly items: ReadonlyArray<{ readonly runId: string }> }).items
  const ids = items.map(({ runId }) => runId).toSorted()
  const folder = join(edge.home, "worktrees")
  const parts = ids.flatMap((id) => [id, `${id}.git`, `${id}.received`])
  assert.deepStrictEqual(existsSync(folder) ? readdirSync(folder).toSorted() : [], parts)
  assert.deepStrictEqual(knownWorkspace(edge.workspace), {
    folders: [],
    branches: ids.map((id) => `corral/${id}`)
  })
  return ids
}

describe("A killed Edge", () => {
  it("leaves nothing of an incomplete worktree, and no git process", async () => {
    const signs = mkdtempSync(join(tmpdir(), "corral-signs-"))
    onTestFinished(() => rmSync(signs, { recursive: true, force: true }))
    const [hang, hangs] = [join(signs, "hang"), join(signs, "hangs")]
    const sleep = `if test -e '${hang}'; then mkdir '${hangs}'; exec sleep 600; fi`
    const real = findProgram("git", process.env.PATH)
    writeProgram(
      join(signs, "bin/git"),
      `case "$*" in *"read-tree --reset"*) ${sleep};; esac\nexec '${real}' "$@"`
    )
    const edge = await openEdgeProcess({
      env: { PATH: `${join(signs, "bin")}:/usr/local/bin:/usr/bin:/bin` }
    })
    sampleRepository(edge.workspace)
    writeFileSync(hang, "")
    const run = await edge.client.create("/say hi", "ask", { isolation })
    await entries(signs, 3)
    assert.lengthOf(knownWorkspace(edge.workspace).branches, 1)
    await edge.kill()
    // The program that made the sign may be ending.
    await until(async () => edge.survivorsOf(run.id).length <= 1 || undefined, "git without its programs")
    assert.lengthOf(edge.survivorsOf(run.id), 1, "git outlives the Edge")
    rmSync(hang)
    // What an Edge leaves that dies while it replaces a file of the worktree.
    for (const end of [".new", ".git.new"]) writeFileSync(join(edge.home, "worktrees", `${run.id}${end}`), "")
    await edge.start()
    assert.deepStrictEqual(edge.survivorsOf(run.id), [])
    assert.deepStrictEqual(await assertNothingDangles(edge), [])
    assert.strictEqual((await edge.client.run(run.id)).state, "failed")
    assert.strictEqual((await edge.client.ask("GET", `/v1/runs/${run.id}/worktree`)).status, 404)
    const next = await edge.client.create("/say hi", "ask", { isolation })
    assert.strictEqual((await edge.client.log(next.id)).at(-1)?.type, "run.completed")
    assert.deepStrictEqual(await assertNothingDangles(edge), [next.id])
  })

  it("keeps the work of runs that were under way, whenever it dies", async () => {
    const edge = await openEdgeProcess()
    sampleRepository(edge.workspace)
    for (let n = 0; n < 100; n++) writeFileSync(join(edge.workspace, `file${n}`), `${n}\n`)
    commitAll(edge.workspace)
    const folder = join(edge.home, "worktrees")
    mkdirSync(folder)
    const saved = new Map<string, string>()
    for (const more of [1, 2]) {
      const worker = await edge.client.create(`/write work.txt ${more}\n/hang`, "auto_edit", { isolation })
      const reader = await edge.client.follow({ runId: worker.id })
      await reader.event("run.file.changed")
      saved.set(worker.id, `${more}\n`)
      const before = readdirSync(folder).length
      const making = [1, 2, 3].map(() =>
        edge.client.create("/hang", "ask", { isolation }).catch(() => undefined)
      )
      await entries(folder, before + more)
      await edge.kill()
      await Promise.all(making)
      await edge.start()
      const ids = await assertNothingDangles(edge)
      for (const [id, text] of saved) {
        assert.include(ids, id)
        assert.strictEqual(readFileSync(join(folder, id, "work.txt"), "utf8"), text)
      }
      for (const id of ids) assert.strictEqual(git(join(folder, id), "ls-files", "--deleted"), "", id)
    }
    assert.deepStrictEqual(edge.survivors(), [])
  })
})
