/** Approved edits of folders that the kernel protects, in confined runs of a real Edge: they arrive, and nothing else does. */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"

const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required" }
const SETTINGS = ".vscode/settings.json"

/** Makes a repository, settings of an editor, and a folder that is too large for a copy. */
const fill = ({ workspace }: EdgeProcess): void => {
  for (const name of readdirSync(workspace)) rmSync(join(workspace, name), { recursive: true, force: true })
  execFileSync("git", ["init", "-q"], { cwd: workspace })
  mkdirSync(join(workspace, ".vscode"))
  mkdirSync(join(workspace, ".idea"))
  writeFileSync(join(workspace, SETTINGS), "{}\n", { mode: 0o640 })
  writeFileSync(join(workspace, ".idea", "large"), Buffer.alloc(3_000_000))
}

const linesOf = (payload: Readonly<Record<string, unknown>> | undefined): ReadonlyArray<string> =>
  ((payload?.["files"] ?? []) as ReadonlyArray<{ path: string; change: string; discarded?: boolean }>)
    .map(({ change, discarded, path }) => `${path} ${change}${discarded === true ? " discarded" : ""}`)
    .toSorted()

/** The events of a run in which every request is allowed. */
const allowed = async (
  { client }: EdgeProcess,
  script: string,
  more: Parameters<EdgeProcess["client"]["create"]>[2] = {}
) => {
  const { id } = await client.create(script, "ask", more)
  const reader = await client.follow({ runId: id })
  for (let after = 0; ;) {
    const { payload, seq, type } = await reader.event(
      (event) => event.seq > after && /^run\.(approval\.requested|completed|failed)$/.test(event.type)
    )
    if (type !== "run.approval.requested") break
    await client.decide(id, String(payload["approvalId"]), "allow")
    after = seq
  }
  const { events } = reader
  const reported = events
    .filter(({ type }) => type === "run.protected.changed")
    .flatMap(({ payload }) => linesOf(payload))
  const results = events.filter(({ type }) => type === "run.tool.result").map(({ payload }) => payload)
  return { events, reported, results, run: await client.run(id) }
}

describe.skipIf(!canConfine)("approved edits of protected folders", () => {
  let edge: EdgeProcess
  const contentOf = (path: string) => readFileSync(join(edge.workspace, path), "utf8")
  beforeAll(async () => {
    edge = new EdgeProcess({ env: CONFINED })
    await edge.start()
  })
  afterAll(() => edge.remove())
  beforeEach(() => fill(edge))

  it("arrive: a changed file, a new file, and a hook that the approval names", async () => {
    const { reported, results } = await allowed(
      edge,
      `/write ${SETTINGS} changed\n/write .vscode/tasks.json new\n/write .git/hooks/pre-commit echo\n/say done`
    )
    assert.deepStrictEqual(
      results.map(({ status }) => status),
      ["completed", "completed", "completed"]
    )
    assert.deepStrictEqual([SETTINGS, ".vscode/tasks.json", ".git/hooks/pre-commit"].map(contentOf), [
      "changed\n",
      "new\n",
      "echo\n"
    ])
    assert.strictEqual(statSync(join(edge.workspace, SETTINGS)).mode & 0o777, 0o640)
    // No other name, and no program that Git would run.
    assert.deepStrictEqual(readdirSync(join(edge.workspace, ".vscode")).toSorted(), [
      "settings.json",
      "tasks.json"
    ])
    assert.strictEqual(statSync(join(edge.workspace, ".git/hooks/pre-commit")).mode & 0o111, 0)
    assert.deepStrictEqual(reported, [])
  })

  it("arrive while the run continues", async () => {
    const { id } = await edge.client.create(`/write ${SETTINGS} changed\n/hang`, "ask")
    const reader = await edge.client.follow({ runId: id })
    const requested = await reader.event("run.approval.requested")
    await edge.client.decide(id, String(requested.payload["approvalId"]), "allow")
    await until(async () => contentOf(SETTINGS) === "changed\n" || undefined, "the edit")
    await edge.client.cancel(id)
    await reader.ended
    assert.strictEqual(contentOf(SETTINGS), "changed\n")
  })

  it("do not let other changes of the folder through, which are reported as discarded", async () => {
    const script =
      "cd .vscode && chmod u+w . settings.json && echo evil > settings.json && echo evil > b.json"
    const hook = "cd .git/hooks && chmod u+w . && echo evil > post-commit && chmod +x post-commit"
    const { reported, run } = await allowed(
      edge,
      `/write ${SETTINGS} changed\n/shell ${script}\n/shell ${hook}\n/say done`
    )
    assert.strictEqual(run.state, "completed")
    assert.strictEqual(contentOf(SETTINGS), "changed\n")
    assert.isFalse(existsSync(join(edge.workspace, ".vscode", "b.json")))
    assert.isFalse(existsSync(join(edge.workspace, ".git", "hooks", "post-commit")))
    assert.deepStrictEqual(reported, [
      ".git/hooks/post-commit created discarded",
      ".vscode/b.json created discarded",
      `${SETTINGS} modified discarded`
    ])
    assert.strictEqual(run.protectedChanges?.count, 3)
  })

  it("do not follow links that the run puts into the folder, and do not remove what it removes", async () => {
    writeFileSync(join(edge.folder, "outside.txt"), "outside")
    const script = `cd .vscode && chmod u+w . && rm settings.json && ln -s ${edge.folder}/outside.txt settings.json && ln -s ${edge.folder} sub`
    const { reported } = await allowed(
      edge,
      `/shell ${script}\n/write ${SETTINGS} evil\n/write .vscode/sub/outside.txt evil\n/say done`
    )
    assert.strictEqual(contentOf(SETTINGS), "{}\n")
    assert.strictEqual(readFileSync(join(edge.folder, "outside.txt"), "utf8"), "outside")
    assert.deepStrictEqual(reported, [`${SETTINGS} modified discarded`, ".vscode/sub created discarded"])
  })

  it("fail in a folder that is too large for a copy", async () => {
    const { results } = await allowed(edge, "/write .idea/a.xml new\n/say done")
    assert.deepStrictEqual([results[0]?.["status"], results[0]?.["kernelRefusal"]], ["failed", "write"])
    assert.isFalse(existsSync(join(edge.workspace, ".idea", "a.xml")))
  })

  it("fail for other folders of the workspace that an approval does not name, with a hint", async () => {
    const { results } = await allowed(edge, "/shell echo x > .vscode/tasks.json\n/say done")
    assert.strictEqual(results[0]?.["kernelRefusal"], "access")
    assert.isFalse(existsSync(join(edge.workspace, ".vscode", "tasks.json")))
  })

  it("leave the old file or the whole new one if the Edge is killed, and no copy after the next start", async () => {
    const killed = await openEdgeProcess({ env: CONFINED })
    fill(killed)
    const { id } = await killed.client.create(`/write ${SETTINGS} changed\n/hang`, "ask")
    const reader = await killed.client.follow({ runId: id })
    const requested = await reader.event("run.approval.requested")
    await killed.client.decide(id, String(requested.payload["approvalId"]), "allow")
    await reader.event("run.tool.result")
    await killed.kill()
    await killed.start()
    assert.include(["{}\n", "changed\n"], readFileSync(join(killed.workspace, SETTINGS), "utf8"))
    assert.deepStrictEqual(readdirSync(join(killed.workspace, ".vscode")), ["settings.json"])
    const left = join(killed.home, "tmp")
    await until(async () => !existsSync(left) || readdirSync(left).length === 0 || undefined, "no copies")
  })

  it("reach the layer of a run, are apart from everything else there, and leave the workspace as it is", async () => {
    const { client, workspace } = edge
    const script =
      "cd .vscode && chmod u+w . settings.json && echo evil > settings.json && echo evil > b.json"
    const first = await allowed(
      edge,
      `/write ${SETTINGS} changed\n/write .vscode/tasks.json new\n/write plain.txt plain\n/shell ${script}\n/say done`,
      { isolation: "overlay" }
    )
    assert.deepStrictEqual(
      first.results.map(({ status }) => status),
      ["completed", "completed", "completed", "completed"]
    )
    assert.deepStrictEqual(first.reported, [
      ".vscode/b.json created discarded",
      `${SETTINGS} modified discarded`
    ])
    const second = await allowed(edge, `/read ${SETTINGS}\n/write ${SETTINGS} again\n/say done`, {
      resume: first.run.id
    })
    assert.include(JSON.stringify(second.events), "changed")
    assert.deepStrictEqual(second.reported, [])
    assert.strictEqual(contentOf(SETTINGS), "{}\n")
    assert.deepStrictEqual(readdirSync(workspace).toSorted(), [".git", ".idea", ".vscode"])
    const at = `/v1/runs/${second.run.id}/changes`
    const { body } = await client.ask("GET", at)
    const { items, set } = body as {
      readonly set: { readonly version: string }
      readonly items: ReadonlyArray<{ id: string; path: string; apart?: ReadonlyArray<string> }>
    }
    assert.deepStrictEqual(
      items.map(({ apart = [], path }) => [path, ...apart]),
      [[SETTINGS, "protected_name"], [".vscode/tasks.json", "protected_name"], ["plain.txt"]]
    )
    const accept = async (parts: object) => {
      const { status, text } = await client.ask("POST", `${at}/accept`, { body: { parts } })
      assert.strictEqual(status, 200, text)
    }
    await accept({ all: true, version: set.version })
    assert.deepStrictEqual([contentOf("plain.txt"), contentOf(SETTINGS)], ["plain\n", "{}\n"])
    await accept({ files: items.slice(0, 2).map(({ id }) => id) })
    assert.deepStrictEqual([SETTINGS, ".vscode/tasks.json"].map(contentOf), ["again\n", "new\n"])
    assert.strictEqual(statSync(join(workspace, SETTINGS)).mode & 0o777, 0o640)
    assert.isFalse(existsSync(join(workspace, ".vscode", "b.json")))
  })
})
