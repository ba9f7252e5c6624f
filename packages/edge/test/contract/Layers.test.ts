/** Runs in layers over real HTTP: what they write, what they ask, how they are resumed, and where they are refused. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeOptions, type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { assertWhole } from "../harness/LogInvariants.ts"
import { sampleRepository } from "../workspace/Repository.ts"

const isolation = "overlay"
const CONFINED = { CORRAL_EDGE_CONFINEMENT: "required" }

const openRepository = async (
  { env, ...options }: EdgeOptions = {},
  open: typeof openEdgeProcess = openEdgeInProcess
): Promise<EdgeProcess> => {
  const edge = await open({ env: { ...CONFINED, ...env }, ...options })
  sampleRepository(edge.workspace)
  return edge
}

const files = ({ workspace }: EdgeProcess) =>
  readdirSync(workspace)
    .filter((name) => name !== ".git")
    .map((name) => [name, readFileSync(join(workspace, name), "utf8")])

const diffOf = async (client: EdgeClient, runId: string) => {
  const { body, status, text } = await client.ask("GET", `/v1/runs/${runId}/diff`)
  assert.strictEqual(status, 200, text)
  const { items } = body as {
    readonly items: ReadonlyArray<{ readonly path: string; readonly status: string }>
  }
  return items.map((item) => [item.path, item.status])
}

/** A workspace with an isolation. */
const entries = (path: string, more: object) => JSON.stringify([{ id: "ws", path, ...more }])

const isAbout = (payload: object, text: string): boolean => JSON.stringify(payload).includes(text)
/** An action that the run asks for. */
const asksFor =
  (action: string) =>
  ({ payload, type }: { readonly type: string; readonly payload: object }): boolean =>
    type === "run.approval.requested" && isAbout(payload, `"action":"${action}"`)

const refusalOf = (body: unknown) => {
  const { code, details } = body as { readonly code: string; readonly details?: { readonly reason?: string } }
  return [code, details?.reason]
}

describe.skipIf(!canConfine)("A run in a layer", () => {
  it(
    "writes without a question, shows its changes, and leaves the workspace as it is",
    { timeout: 60_000 },
    async () => {
      const edge = await openRepository()
      const { client } = edge
      writeFileSync(join(edge.workspace, "a.txt"), "not committed\n")
      const before = files(edge)
      const run = await client.create(
        "/write a.txt work\n/write new.txt new\n/shell cat a.txt new.txt",
        "ask",
        {
          isolation
        }
      )
      assert.deepInclude(run, { isolation })
      assert.deepInclude(run.layer, { owner: run.id, enforced: true })
      const reader = await client.follow({ runId: run.id })
      const requested = await reader.event(asksFor("shell"))
      assert.deepStrictEqual(await diffOf(client, run.id), [
        ["a.txt", "modified"],
        ["new.txt", "untracked"]
      ])
      await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
      await reader.ended
      assertWhole(reader.events)
      assert.deepInclude(reader.events[0]?.payload, { layer: run.layer })
      assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
      assert.include(JSON.stringify(reader.events), "policy:layer")
      assert.include(JSON.stringify(reader.events), "work\\nnew")
      assert.deepStrictEqual(files(edge), before)
      assert.deepStrictEqual(await diffOf(client, run.id), [
        ["a.txt", "modified"],
        ["new.txt", "untracked"]
      ])
    }
  )

  it("asks for a write with a name that executes something", { timeout: 60_000 }, async () => {
    const { client } = await openRepository()
    const run = await client.create("/write plain.txt x\n/write package.json {}", "ask", { isolation })
    const reader = await client.follow({ runId: run.id })
    await reader.event("run.approval.resolved")
    await reader.event(
      ({ payload, type }) => type === "run.approval.requested" && isAbout(payload, "package.json")
    )
    const pending = await client.approvals(`runId=${run.id}&state=pending`)
    assert.lengthOf(pending, 1)
    await client.cancel(run.id)
    await reader.ended
  })

  it("is resumed in the same layer, also after a restart", { timeout: 60_000 }, async () => {
    const edge = await openRepository({}, openEdgeProcess)
    const first = await edge.client.create("/write one.txt 1", "auto_edit", { isolation })
    await edge.client.log(first.id)
    await edge.kill()
    await edge.start()
    const { client } = edge
    const second = await client.create("/read one.txt\n/write two.txt 2\n/wait", "auto_edit", {
      resume: first.id
    })
    assert.deepInclude(second, { isolation })
    assert.deepStrictEqual(second.layer, first.layer)
    const reader = await client.follow({ runId: second.id })
    await reader.event("run.file.changed")
    const third = await client.tryCreate("/say no", "ask", { resume: first.id })
    assert.strictEqual(third.status, 422)
    await client.ask("POST", `/v1/runs/${second.id}/input`, { body: { text: "go on" } })
    await reader.ended
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    assert.deepStrictEqual(await diffOf(client, second.id), [["two.txt", "untracked"]])
    assert.notInclude(readdirSync(edge.workspace), "one.txt")
  })

  it("is refused with full access, and another isolation is, too", { timeout: 60_000 }, async () => {
    const { client } = await openRepository({ grants: ["full_access"] })
    const refused = await client.tryCreate("/say no", "full_access", { isolation })
    assert.deepStrictEqual(
      [refused.status, ...refusalOf(refused.body)],
      [403, "permission_denied", "isolation"]
    )
    const run = await client.create("/say yes", "ask", { isolation })
    await client.log(run.id)
    const other = await client.tryCreate("/say no", "ask", { isolation: "none", resume: run.id })
    assert.strictEqual(other.status, 422)
  })

  it("is the default where the workspace says so", { timeout: 60_000 }, async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-usual-")))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    sampleRepository(folder)
    const { client } = await openEdgeInProcess({
      env: { ...CONFINED, CORRAL_EDGE_WORKSPACES: entries(folder, { isolation }) }
    })
    const { body } = await client.ask("GET", "/v1/workspaces")
    assert.deepInclude((body as { readonly items: ReadonlyArray<object> }).items[0], { isolation })
    const run = await client.create("/write one.txt 1", "auto_edit")
    await client.log(run.id)
    assert.strictEqual(run.layer?.owner, run.id)
    assert.notInclude(readdirSync(folder), "one.txt")
    const direct = await client.create("/write one.txt 1", "auto_edit", { isolation: "none" })
    await client.log(direct.id)
    assert.include(readdirSync(folder), "one.txt")
  })

  it("lets an agent that never asks run in ask", { timeout: 60_000 }, async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-runner-")))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const config = join(folder, "edge.config.json")
    const runner = { id: "sh", label: "Shell", runtime: "text", command: ["/bin/sh"], stdin: "prompt" }
    writeFileSync(config, JSON.stringify({ runners: [runner] }), { mode: 0o600 })
    const edge = await openRepository({ env: { CORRAL_EDGE_CONFIG_FILE: config } })
    const { client } = edge
    const refused = await client.tryCreate("echo x > x.txt", "ask", { agentId: "sh" })
    assert.deepStrictEqual(
      [refused.status, ...refusalOf(refused.body)],
      [403, "permission_denied", "isolation"]
    )
    const run = await client.create("echo x > x.txt", "ask", { agentId: "sh", isolation })
    const log = await client.log(run.id)
    assert.strictEqual(log.at(-1)?.type, "run.completed")
    assert.deepStrictEqual(await diffOf(client, run.id), [["x.txt", "untracked"]])
    assert.notInclude(readdirSync(edge.workspace), "x.txt")
  })

  it("is listed, and removed by force if something is undecided", { timeout: 60_000 }, async () => {
    const { client } = await openRepository()
    const run = await client.create("/write one.txt 1\n/wait", "auto_edit", { isolation })
    const reader = await client.follow({ runId: run.id })
    await reader.event("run.file.changed")
    const listed = async () => {
      const { body } = await client.ask("GET", "/v1/layers")
      const { items } = body as { readonly items: ReadonlyArray<{ runId: string; state: string }> }
      return items.map(({ runId, state }) => [runId, state])
    }
    const remove = (query = "") => client.ask("DELETE", `/v1/runs/${run.id}/layer${query}`)
    assert.deepStrictEqual(await listed(), [[run.id, "active"]])
    assert.strictEqual((await remove("?force=true")).status, 409)
    await client.cancel(run.id)
    await reader.ended
    assert.deepStrictEqual(await listed(), [[run.id, "kept"]])
    assert.deepStrictEqual((await remove()).status, 409)
    assert.strictEqual((await remove("?force=true")).status, 204)
    assert.deepStrictEqual(await listed(), [])
    assert.deepStrictEqual(
      await diffOf(client, run.id),
      [["one.txt", "untracked"]],
      "the diff outlives the layer"
    )
    const plain = await client.create("/say no layer", "ask")
    const refusal = await client.ask("DELETE", `/v1/runs/${plain.id}/layer`)
    assert.strictEqual(refusal.status, 404)
  })

  it("is accepted and rejected in parts, and undone", { timeout: 60_000 }, async () => {
    const edge = await openRepository()
    const { client } = edge
    const before = files(edge)
    const first = await client.create(
      "/write a.txt work\n/write good.txt good\n/write bad.txt bad",
      "auto_edit",
      {
        isolation
      }
    )
    await client.log(first.id)
    const changesOf = async (id: string) => {
      const { body, status, text } = await client.ask("GET", `/v1/runs/${id}/changes`)
      assert.strictEqual(status, 200, text)
      return (body as { readonly items: ReadonlyArray<{ readonly id: string; readonly path: string }> }).items
    }
    const found = new Map((await changesOf(first.id)).map(({ id, path }) => [path, id]))
    assert.deepStrictEqual([...found.keys()], ["a.txt", "bad.txt", "good.txt"])
    const decide = async (id: string, action: string, body: object) => {
      const answer = await client.ask("POST", `/v1/runs/${id}/changes/${action}`, { body })
      assert.strictEqual(answer.status, 200, answer.text)
      return (answer.body as { readonly decision: { readonly id: string } }).decision.id
    }
    const accepted = await decide(first.id, "accept", { parts: { files: [found.get("good.txt")] } })
    assert.deepStrictEqual(files(edge), [...before, ["good.txt", "good\n"]])
    await decide(first.id, "reject", { parts: { files: [found.get("bad.txt")] }, comment: "Not this one." })
    assert.deepStrictEqual(
      (await changesOf(first.id)).map(({ path }) => path),
      ["a.txt"]
    )
    writeFileSync(join(edge.workspace, ".gitignore"), "edited\n")
    const second = await client.create(
      "/read good.txt\n/read .gitignore\n/read bad.txt\n/read a.txt",
      "auto_edit",
      {
        resume: first.id
      }
    )
    const log = JSON.stringify(await client.log(second.id))
    for (const text of ["good", "edited", "work", "Not this one."]) assert.include(log, text)
    assert.deepStrictEqual(
      (await changesOf(second.id)).map(({ path }) => path),
      ["a.txt"]
    )
    await decide(second.id, "undo", { decisionId: accepted })
    assert.notInclude(readdirSync(edge.workspace), "good.txt")
    assert.deepStrictEqual(
      (await changesOf(second.id)).map(({ path }) => path),
      ["a.txt", "good.txt"]
    )
  })

  it("is named in health", { timeout: 60_000 }, async () => {
    const { client } = await openRepository()
    const { body } = await client.ask("GET", "/v1/health")
    const { layers } = body as { readonly layers: { readonly means: string; readonly enforced: boolean } }
    assert.isTrue(layers.enforced)
    assert.include(["overlayfs", "reflink", "copy"], layers.means)
  })
})

describe("A layer of an Edge that does not confine", () => {
  it("is refused, unless the workspace allows a mere copy", { timeout: 60_000 }, async () => {
    const edge = await openEdgeInProcess()
    sampleRepository(edge.workspace)
    const refused = await edge.client.tryCreate("/say no", "ask", { isolation })
    assert.deepStrictEqual(
      [refused.status, ...refusalOf(refused.body)],
      [403, "permission_denied", "isolation"]
    )
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-copied-")))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    sampleRepository(folder)
    const { client } = await openEdgeInProcess({
      env: { CORRAL_EDGE_WORKSPACES: entries(folder, { isolation: "copy-unconfined" }) }
    })
    const run = await client.create(
      "/read a.txt\n/write new.txt new\n/shell git status --porcelain",
      "auto_edit"
    )
    assert.deepInclude(run.layer, { owner: run.id, enforced: false })
    const reader = await client.follow({ runId: run.id })
    const requested = await reader.event("run.approval.requested")
    await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
    await reader.ended
    assert.strictEqual(reader.events.at(-1)?.type, "run.completed")
    assert.include(JSON.stringify(reader.events), "?? new.txt")
    assert.notInclude(JSON.stringify(reader.events), "policy:layer")
    assert.deepStrictEqual(await diffOf(client, run.id), [["new.txt", "untracked"]])
    assert.notInclude(readdirSync(folder), "new.txt")
    const second = await client.create("/read new.txt\n/write two.txt 2", "auto_edit", { resume: run.id })
    assert.strictEqual((await client.log(second.id)).at(-1)?.type, "run.completed")
    assert.deepStrictEqual(await diffOf(client, second.id), [["two.txt", "untracked"]])
  })
})
