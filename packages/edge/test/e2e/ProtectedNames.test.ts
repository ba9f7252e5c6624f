/** Protected names of a workspace in confined runs: which changes are reported, when, and what an approval covers. */
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import type { RunMode } from "@corral/domain/run/Run"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canConfine } from "../confinement/CanConfine.ts"
import { git, sampleRepository } from "../workspace/Repository.ts"

/** Writes two files whose names it does not contain. */
const HIDDEN = `sh -c 'a=package b=.en; echo x >> $a.json; echo x > "$b"vrc'`

describe.skipIf(!canConfine)("protected names", () => {
  let edge: EdgeProcess
  beforeAll(async () => {
    edge = new EdgeProcess({ env: { CORRAL_EDGE_CONFINEMENT: "required" }, grants: ["full_access"] })
    await edge.start()
  })
  afterAll(() => edge.remove())
  beforeEach(() => {
    for (const name of readdirSync(edge.workspace))
      rmSync(join(edge.workspace, name), { recursive: true, force: true })
    writeFileSync(join(edge.workspace, "package.json"), "{}")
  })

  /** The events of a run in which every request is allowed, and the run. */
  const allowed = async (script: string, mode: RunMode = "ask") => {
    const { id } = await edge.client.create(script, mode)
    const reader = await edge.client.follow({ runId: id })
    for (let after = 0; ;) {
      const { payload, seq, type } = await reader.event(
        (event) => event.seq > after && /^run\.(approval\.requested|completed|failed)$/.test(event.type)
      )
      if (type !== "run.approval.requested") break
      await edge.client.decide(id, String(payload["approvalId"]), "allow")
      after = seq
    }
    const { events } = reader
    const reported = events.filter(({ type }) => type === "run.protected.changed")
    return { events, reported, run: await edge.client.run(id) }
  }
  const linesOf = (reported: Awaited<ReturnType<typeof allowed>>["reported"]): ReadonlyArray<string> =>
    reported
      .flatMap(({ payload }) => payload["files"] as ReadonlyArray<{ path: string; change: string }>)
      .map(({ change, path }) => `${path} ${change}`)
      .toSorted()

  it("reports what a command changed and did not name, and says so in the run", async () => {
    const { reported, run } = await allowed(`/shell ${HIDDEN}\n/say done`)
    assert.deepStrictEqual(linesOf(reported), [".envrc created", "package.json modified"])
    assert.strictEqual(run.state, "completed")
    assert.strictEqual(run.protectedChanges?.count, 2)
  })

  it("reports nothing that an approval names", async () => {
    const { reported, run } = await allowed(
      "/write package.json changed\n/shell echo x > .envrc\n/write CLAUDE.md hello\n/say done"
    )
    assert.deepStrictEqual(linesOf(reported), [])
    assert.notProperty(run, "protectedChanges")
  })

  it("reports a change after the last tool call, before the end of the run", async () => {
    const { events, reported } = await allowed("/breach .envrc\n/say done")
    assert.deepStrictEqual(linesOf(reported), [".envrc created"])
    assert.strictEqual(events.at(-1)?.type, "run.completed")
  })

  it("reports while the run continues", async () => {
    const { id } = await edge.client.create(`/shell ${HIDDEN}\n/hang`, "ask")
    const reader = await edge.client.follow({ runId: id })
    const requested = await reader.event("run.approval.requested")
    await edge.client.decide(id, String(requested.payload["approvalId"]), "allow")
    const reported = await reader.event("run.protected.changed")
    assert.strictEqual(reported.payload["count"], 2)
    await edge.client.cancel(id)
    await reader.ended
    assert.strictEqual((await edge.client.run(id)).protectedChanges?.count, 2)
  })

  it("hints at the confinement where the kernel refused a write", async () => {
    const { events } = await allowed("/shell echo x > /usr/tasks.json\n/say done")
    const result = events.find(({ type }) => type === "run.tool.result")
    assert.strictEqual(result?.payload["kernelRefusal"], "write")
  })

  it("reports nothing in a run that is not confined", async () => {
    const { reported } = await allowed("/breach .envrc\n/say done", "full_access")
    assert.deepStrictEqual(linesOf(reported), [])
  })

  it("reports a repository that the run made, once", async () => {
    mkdirSync(join(edge.workspace, "sub"))
    const { reported } = await allowed("/shell git init -q sub\n/say done")
    assert.deepStrictEqual(linesOf(reported), ["sub/.git created"])
  })

  it("reports what changed in the repository without an approved git command, and puts it back", async () => {
    sampleRepository(edge.workspace)
    const before = git(edge.workspace, "for-each-ref")
    const hidden = `sh -c 'g=gi; "$g"t update-ref refs/heads/evil HEAD; "$g"t branch -m main other'`
    const explained = await allowed("/shell git branch fine\n/say done")
    assert.notInclude(JSON.stringify(explained.events), "run.repository.changed")
    git(edge.workspace, "branch", "-d", "fine")
    const { events, run } = await allowed(`/shell ${hidden}\n/say done`)
    const changed = events.filter(({ type }) => type === "run.repository.changed")
    const names = changed.flatMap(
      ({ payload }) => payload["refs"] as ReadonlyArray<{ readonly name: string }>
    )
    assert.deepStrictEqual(
      names.map(({ name }) => name),
      ["refs/heads/evil", "refs/heads/main", "refs/heads/other"]
    )
    const restored = await edge.client.ask("POST", `/v1/runs/${run.id}/repository/restore`)
    assert.strictEqual(restored.status, 204, restored.text)
    assert.strictEqual(git(edge.workspace, "for-each-ref"), before)
    assert.strictEqual(git(edge.workspace, "symbolic-ref", "HEAD"), "refs/heads/main\n")
    assert.strictEqual((await edge.client.ask("POST", `/v1/runs/${run.id}/repository/restore`)).status, 404)
  })

  it("removes and reports the list of further objects of a repository that the run made", async () => {
    const list = ".git/objects/info/alternates"
    const hidden = `sh -c 'g=gi; "$g"t init -q .; echo /elsewhere/objects > ${list}'`
    const { events } = await allowed(`/shell ${hidden}\n/say done`)
    const files = events.flatMap(({ payload, type }) =>
      type === "run.repository.changed" ? ((payload["files"] ?? []) as ReadonlyArray<object>) : []
    )
    const name = "objects/info/alternates"
    assert.deepInclude(files, { path: name, change: "created", discarded: true })
    assert.isFalse(existsSync(join(edge.workspace, list)))
    assert.strictEqual(git(edge.workspace, "rev-parse", "--git-dir"), ".git\n")
  })
})
