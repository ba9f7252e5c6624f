/** Runs in layers over real HTTP: what they write, what they ask, how they are resumed, and where they are refused. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { type EdgeOptions, type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { canConfine } from "../confinement/CanConfine.ts"
import { Visitor } from "../preview/Visitor.ts"
import { assertWhole } from "../harness/LogInvariants.ts"
import { git, sampleRepository } from "../workspace/Repository.ts"

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
  it("writes without a question, shows its changes, and leaves the workspace as it is", async () => {
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
  })

  it("asks for a write with a name that executes something", async () => {
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

  it("is resumed in the same layer, also after a restart", async () => {
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

  it("is refused with full access, and another isolation is, too", async () => {
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

  it("is the default where the workspace says so", async () => {
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

  it("lets an agent that never asks run in ask", async () => {
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

  it("is listed, and removed by force if something is undecided", async () => {
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

  it("is accepted and rejected in parts, and undone", async () => {
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

  it("publishes a file of its layer, and previews a folder of it, but follows no link", async () => {
    const edge = await openRepository()
    const { client } = edge
    writeFileSync(join(edge.workspace, "a.txt"), "of the workspace\n")
    const run = await client.create(
      "/write a.txt layer\n/write site/index.html home\n/shell cd site && ln -s /etc hosts && ln -s index.html other.html && ln -s ../a.txt up.txt\n/wait",
      "ask",
      { isolation }
    )
    const reader = await client.follow({ runId: run.id })
    const requested = await reader.event(asksFor("shell"))
    await client.decide(run.id, String(requested.payload["approvalId"]), "allow")
    await reader.event(({ seq, type }) => type === "run.tool.result" && seq > requested.seq)
    const publish = (path: string) => client.ask("POST", `/v1/runs/${run.id}/artifacts`, { body: { path } })
    const published = await publish("a.txt")
    assert.strictEqual(published.status, 201, published.text)
    const { id } = published.body as { readonly id: string }
    const { bytes } = await client.bytes("GET", `/v1/artifacts/${id}/content`)
    assert.strictEqual(bytes.toString(), "layer\n")
    for (const path of ["site/up.txt", "site/other.html", "site/../../outside"])
      assert.strictEqual((await publish(path)).status, 403, path)
    assert.strictEqual((await publish("site/hosts/hosts")).status, 404)
    assert.strictEqual((await publish("site")).status, 404)

    const preview = (path: string) =>
      client.ask("POST", "/v1/previews", {
        body: { runId: run.id, workspace: "ws", title: "Site", source: { kind: "folder", path } }
      })
    assert.strictEqual((await preview("site/hosts")).status, 403)
    const opened = await preview("site")
    assert.strictEqual(opened.status, 201, opened.text)
    const visitor = await Visitor.enter((opened.body as { readonly url: string }).url)
    assert.strictEqual((await visitor.visit("/")).text, "home\n")
    for (const path of ["/other.html", "/up.txt", "/hosts/hosts"])
      assert.strictEqual((await visitor.visit(path)).status, 404, path)
    await client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
    await reader.ended
    assert.strictEqual((await visitor.visit("/index.html")).text, "home\n")
    assert.notInclude(readdirSync(edge.workspace), "site")
    await client.ask("DELETE", `/v1/runs/${run.id}/layer?force=true`)
    assert.strictEqual((await visitor.visit("/")).status, 404)
  })

  it("is not resumed where the workspace has moved, until it is back", async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-moved-")))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const [first, second, link] = ["first", "second", "link"].map((name) => join(folder, name)) as [
      string,
      string,
      string
    ]
    mkdirSync(first)
    sampleRepository(first)
    symlinkSync(first, link)
    const { client } = await openEdgeInProcess({
      env: { ...CONFINED, CORRAL_EDGE_WORKSPACES: entries(link, {}) }
    })
    const layered = await client.create("/write one.txt 1", "auto_edit", { isolation })
    const direct = await client.create("/write two.txt 2", "auto_edit", { isolation: "none" })
    await client.log(layered.id)
    await client.log(direct.id)
    const move = (from: string, to: string) => {
      renameSync(from, to)
      rmSync(link)
      symlinkSync(to, link)
    }
    move(first, second)
    const resume = (id: string) => client.tryCreate("/read one.txt", "auto_edit", { resume: id })
    const refused = await resume(layered.id)
    assert.strictEqual(refused.status, 422)
    assert.include(refused.text, "at another path")
    const decide = async (id: string, action: string, body: object) =>
      refusalOf((await client.ask("POST", `/v1/runs/${id}/changes/${action}`, { body })).body)
    assert.deepStrictEqual(await decide(layered.id, "accept", { parts: { all: true, version: "0" } }), [
      "workspace_outside_allowlist",
      undefined
    ])
    assert.deepStrictEqual(await decide(direct.id, "undo", {}), ["changes_unknown", "no_start"])
    assert.deepStrictEqual(readdirSync(second).toSorted(), [".git", ".gitignore", "a.txt", "two.txt"])
    const next = await resume(direct.id)
    assert.strictEqual(next.status, 201, next.text)
    await client.log((next.body as { readonly id: string }).id)
    move(second, first)
    const back = await resume(layered.id)
    assert.strictEqual(back.status, 201, back.text)
    const log = await client.log((back.body as { readonly id: string }).id)
    assert.strictEqual(log.at(-1)?.type, "run.completed")
    assert.deepStrictEqual(await decide(direct.id, "undo", {}), [undefined, undefined])
    assert.notInclude(readdirSync(first), "two.txt")
  })

  it("of nested workspaces merge their changes of a file, or show both sides", async () => {
    const outer = realpathSync(mkdtempSync(join(tmpdir(), "corral-nested-")))
    onTestFinished(() => rmSync(outer, { recursive: true, force: true }))
    const inner = join(outer, "inner")
    mkdirSync(inner)
    const file = join(inner, "a.txt")
    const numbered = (texts: Readonly<Record<number, string>>) =>
      Array.from({ length: 30 }, (_, at) => texts[at] ?? `line ${at}`)
    writeFileSync(file, `${numbered({}).join("\n")}\n`)
    sampleRepository(outer)
    const list = [
      { id: "outer", path: outer },
      { id: "inner", path: inner }
    ]
    const { client } = await openEdgeInProcess({
      env: { ...CONFINED, CORRAL_EDGE_WORKSPACES: JSON.stringify(list) }
    })
    const write = async (workspace: string, texts: Readonly<Record<number, string>>) => {
      const path = workspace === "outer" ? "inner/a.txt" : "a.txt"
      const script = `/write ${path} ${numbered(texts).join("\\n")}`
      const run = await client.create(script, "auto_edit", { isolation, workspace })
      await client.log(run.id)
      return run.id
    }
    const acceptAll = async (id: string) => {
      const at = `/v1/runs/${id}/changes`
      const { body } = await client.ask("GET", at)
      const { version } = (body as { readonly set: { readonly version: string } }).set
      return client.ask("POST", `${at}/accept`, { body: { parts: { all: true, version } } })
    }
    const content = () => readFileSync(file, "utf8")
    const [one, two] = [await write("outer", { 2: "outer" }), await write("inner", { 25: "inner" })]
    const answers = await Promise.all([acceptAll(one), acceptAll(two)])
    for (const { status, text } of answers) assert.strictEqual(status, 200, text)
    assert.strictEqual(content(), `${numbered({ 2: "outer", 25: "inner" }).join("\n")}\n`)
    const three = await write("inner", { 2: "outer", 10: "third", 25: "inner" })
    const four = await write("outer", { 2: "outer", 10: "fourth", 25: "inner" })
    assert.strictEqual((await acceptAll(three)).status, 200)
    const refused = await acceptAll(four)
    assert.deepStrictEqual([refused.status, ...refusalOf(refused.body)], [409, "merge_conflict", undefined])
    assert.strictEqual(content(), `${numbered({ 2: "outer", 10: "third", 25: "inner" }).join("\n")}\n`)
    assert.deepStrictEqual(readdirSync(inner), ["a.txt"])
    assert.notInclude(readdirSync(outer).join(), ".corral-")
  })

  it("accepts files of a submodule, and leaves its repository as it is", async () => {
    const edge = await openRepository()
    const { client, workspace } = edge
    const library = join(edge.folder, "library")
    mkdirSync(library)
    sampleRepository(library)
    git(workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-q", library, "sub")
    git(workspace, "commit", "-q", "-m", "with a submodule")
    const stateOf = () => [
      git(workspace, "-C", "sub", "rev-parse", "HEAD"),
      git(workspace, "ls-files", "--stage"),
      readFileSync(join(workspace, "sub/.git"), "utf8"),
      readFileSync(join(workspace, ".git/modules/sub/HEAD"), "utf8")
    ]
    const before = stateOf()
    const run = await client.create(
      "/write sub/a.txt changed\n/write sub/new.txt new\n/write top.txt top",
      "auto_edit",
      { isolation }
    )
    await client.log(run.id)
    const at = `/v1/runs/${run.id}/changes`
    const { body } = await client.ask("GET", at)
    const { items, set } = body as {
      readonly items: ReadonlyArray<{ readonly path: string; readonly status: string }>
      readonly set: { readonly version: string; readonly incomplete?: ReadonlyArray<string> }
    }
    assert.deepStrictEqual(
      items.map(({ path, status }) => [path, status]),
      [
        ["sub/a.txt", "modified"],
        ["sub/new.txt", "added"],
        ["top.txt", "added"]
      ]
    )
    assert.isUndefined(set.incomplete)
    const accepted = await client.ask("POST", `${at}/accept`, {
      body: { parts: { all: true, version: set.version } }
    })
    assert.strictEqual(accepted.status, 200, accepted.text)
    assert.strictEqual(readFileSync(join(workspace, "sub/a.txt"), "utf8"), "changed\n")
    assert.strictEqual(git(workspace, "-C", "sub", "status", "--porcelain"), " M a.txt\n?? new.txt\n")
    assert.deepStrictEqual(stateOf(), before)
  })

  it("is named in health", async () => {
    const { client } = await openRepository()
    const { body } = await client.ask("GET", "/v1/health")
    const { layers } = body as { readonly layers: { readonly means: string; readonly enforced: boolean } }
    assert.isTrue(layers.enforced)
    assert.include(["overlayfs", "reflink", "copy"], layers.means)
  })
})

describe("A layer of an Edge that does not confine", () => {
  it("is refused, unless the workspace allows a mere copy", async () => {
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
