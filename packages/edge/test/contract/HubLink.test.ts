import { type CommandId, type CommandOutcome, INPUTS_FEATURE } from "@corral/domain/link/EdgeCommand"
import { sealValue } from "@corral/domain/input/Seal"
import type { InputRequestId, MessageId, PreviewId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { LinkReadiness } from "@corral/domain/http/Health"
import { Run } from "@corral/domain/run/Run"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { mint } from "@corral/service/Identifiers"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { Schema } from "effect"
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { LinkPeer, openPeer } from "@corral/testing/edge/LinkPeer"
import { Visitor } from "../preview/Visitor.ts"
import { Seeded } from "../harness/Seeded.ts"

const runOf = (outcome: CommandOutcome): Run => {
  if (outcome._tag === "Refused") assert.fail(JSON.stringify(outcome.error))
  return Schema.decodeUnknownSync(Run)(outcome.value)
}

const codeOfOutcome = (outcome: CommandOutcome): string =>
  outcome._tag === "Refused" ? outcome.error.code : "done"

/** An Edge that is a device of that Hub from its start. */
const joined = async (peer: LinkPeer, edge: EdgeProcess = new EdgeInProcess()): Promise<EdgeProcess> => {
  onTestFinished(() => edge.remove())
  await peer.join(edge.home)
  await edge.start()
  await peer.linked()
  return edge
}

const linkOf = async (edge: EdgeProcess): Promise<LinkReadiness | undefined> => {
  const { body } = await edge.client.ask("GET", "/v1/health")
  return (body as { readonly link?: LinkReadiness }).link
}

/** Asks until it says so. */
const textOf = async (edge: EdgeProcess, is: (link: LinkReadiness) => boolean): Promise<void> => {
  const look = async () => {
    const link = await linkOf(edge)
    return link !== undefined && is(link) ? link : undefined
  }
  await until(look, "what the Edge says of its link")
}

const ended = (peer: LinkPeer, runId: RunId) =>
  peer.until(`the end of ${runId}`, () => isTerminalType(peer.log(runId).at(-1)?.type ?? ""), 25_000)

describe("an Edge that stays linked to a Hub", () => {
  const peer = new LinkPeer()
  const edge = new EdgeInProcess()
  beforeAll(async () => {
    await peer.open()
    await peer.join(edge.home)
    await edge.start()
    await peer.linked()
  })
  afterAll(async () => {
    await edge.remove()
    await peer.end()
  })

  it("starts a run, pushes every event as it is stored, and tells who decided and cancelled", async () => {
    const run = runOf(await peer.start("/ask\n/say done"))
    edge.runIds.add(run.id)
    await peer.until("the question", () =>
      peer.log(run.id).some(({ type }) => type === "run.approval.requested")
    )
    const [approval] = await edge.client.approvals(`runId=${run.id}`)
    if (approval === undefined) return assert.fail("an approval waits")
    const decision = {
      runId: run.id,
      approvalId: approval.id,
      decision: "allow",
      by: "usr_ada"
    } as const
    assert.strictEqual((await peer.ask("DecideApproval", decision))._tag, "Done")
    assert.strictEqual((await peer.ask("DecideApproval", decision))._tag, "Done", "the same once more")
    await ended(peer, run.id)
    assertWhole(peer.log(run.id))
    assert.deepStrictEqual(peer.log(run.id), await edge.client.log(run.id))
    assert.strictEqual((await edge.client.approval(approval.id)).decidedBy, "usr_ada")

    const quiet = runOf(await peer.start("/sleep 60000"))
    edge.runIds.add(quiet.id)
    const cancel = { runId: quiet.id, by: "usr_ada" }
    assert.strictEqual(runOf(await peer.ask("CancelRun", cancel)).state, "cancelled")
    assert.strictEqual(runOf(await peer.ask("CancelRun", cancel)).state, "cancelled")
    await ended(peer, quiet.id)
    assert.strictEqual(peer.log(quiet.id).at(-1)?.payload["by"], "usr_ada")
  })

  it("answers questions of its runs with the name of the person, once for each command", async () => {
    assert.include(peer.offer?.commands ?? [], INPUTS_FEATURE)
    const run = runOf(await peer.start("/question Which? | A | B\n/secret Password?\n/say done"))
    edge.runIds.add(run.id)
    const nthAsked = async (n: number) => {
      await peer.until("the question", () => inputsOf(run.id).length >= n)
      return inputsOf(run.id)[n - 1] ?? assert.fail("a question waits")
    }
    const inputsOf = (runId: RunId) =>
      peer
        .log(runId)
        .flatMap(({ payload, type }) =>
          type === "run.input.requested" ? [payload["inputId"] as InputRequestId] : []
        )
    const first = await nthAsked(1)
    const give = (answer: object, commandId?: string) =>
      peer.ask(
        "AnswerInput",
        { answer: { runId: run.id, ...answer }, by: "usr_ada", origin: "console" } as never,
        commandId
      )
    const answer = { inputId: first, answers: { "1": "2" } }
    const commandId = mint<CommandId>("cmd", 1)
    assert.strictEqual((await give(answer, commandId))._tag, "Done")
    assert.strictEqual((await give(answer, commandId))._tag, "Done", "the same command once more")
    assert.strictEqual(codeOfOutcome(await give(answer)), "input_already_resolved")
    const second = await nthAsked(2)
    const plain = { inputId: second, answers: { "1": "correct horse" } }
    assert.strictEqual(codeOfOutcome(await give(plain)), "schema_validation_failed")
    const { sealingKey = "" } = await edge.client.input(second)
    const sealed = await sealValue(sealingKey, second, "correct horse")
    assert.strictEqual((await give({ inputId: second, answers: { "1": sealed } }))._tag, "Done")
    await ended(peer, run.id)
    assertWhole(peer.log(run.id))
    assert.notInclude(JSON.stringify(peer.log(run.id)), "correct horse")
    const { answeredBy, origin } = await edge.client.input(first)
    assert.deepStrictEqual({ answeredBy, origin }, { answeredBy: "usr_ada", origin: "console" })
  })

  it("finishes a run between its turns, once or several times, and refuses during a turn", async () => {
    const run = runOf(await peer.start("/say up\n/work w1 command serve\n/wait\n/end-turn\n/wait"))
    edge.runIds.add(run.id)
    const finish = { runId: run.id, by: "usr_ada" }
    assert.strictEqual(codeOfOutcome(await peer.ask("FinishRun", finish)), "conflict")
    await edge.client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "on" } })
    await peer.until("the end of the turn", () =>
      peer.log(run.id).some(({ type }) => type === "run.turn.ended")
    )
    for (let time = 0; time < 2; time++)
      assert.strictEqual(runOf(await peer.ask("FinishRun", finish)).state, "completed")
    await ended(peer, run.id)
    assert.deepStrictEqual(peer.log(run.id).at(-1)?.payload["stopped"], ["serve"] as never)
  })

  it.skipIf(groupsHere === undefined)("pauses and resumes a run, once or several times", async () => {
    const run = runOf(await peer.start("/say ready\n/hang"))
    edge.runIds.add(run.id)
    await peer.until("the message", () =>
      peer.log(run.id).some(({ type }) => type === "run.message.completed")
    )
    const request = { runId: run.id, by: "usr_ada", reason: "lunch" }
    for (let time = 0; time < 2; time++) assert.isTrue(runOf(await peer.ask("PauseRun", request)).paused)
    for (let time = 0; time < 2; time++)
      assert.notProperty(runOf(await peer.ask("ResumeRun", request)), "paused")
    await peer.ask("CancelRun", request)
    await ended(peer, run.id)
    const changes = peer.log(run.id).filter(({ type }) => /^run\.(paused|resumed)$/.test(type))
    assert.deepStrictEqual(
      changes.map(({ payload, type }) => [type, payload]),
      ["run.paused", "run.resumed"].map((type) => [type, { v: 1, by: "usr_ada", reason: "lunch" }])
    )
    assert.strictEqual(codeOfOutcome(await peer.ask("PauseRun", request)), "conflict")
  })

  it("keeps the Edge's own runs to itself", async () => {
    const localRun = await edge.client.create("/say mine")
    await edge.client.log(localRun.id)
    const { id: runId } = localRun
    const by = "usr_ada"
    const requested = [
      peer.ask("CancelRun", { runId, by }),
      peer.ask("PauseRun", { runId, by }),
      peer.ask("ResumeRun", { runId, by }),
      peer.ask("SendInput", { runId, input: { text: "hello" }, by }),
      peer.ask("ReadDiff", { runId }),
      peer.ask("ListArtifacts", { runId }),
      peer.ask("OpenPreview", { runId, previewId: mint<PreviewId>("prv", Date.now()) })
    ]
    assert.deepStrictEqual((await Promise.all(requested)).map(codeOfOutcome), Array(7).fill("not_found"))
    const resumed = await peer.start("/say more", { resume: runId })
    assert.strictEqual(codeOfOutcome(resumed), "schema_validation_failed")
    const taken = await peer.start("/say more", {}, runId)
    assert.strictEqual(codeOfOutcome(taken), "conflict")
    assert.isUndefined(peer.pushed.lines.get(runId))
  })

  it("refuses what the local API refuses", async () => {
    const codes = await Promise.all([
      peer.start("/say x", { workspace: "elsewhere" }),
      peer.start("/say x", { agentId: "missing" }),
      peer.start("/say x", { mode: "full_access" }),
      peer.start("/say x", { env: { SECRET: "1" } }),
      peer.ask("ListFiles", { workspace: "ws" as WorkspaceId, path: "../" }),
      peer.ask("ReadFile", { workspace: "elsewhere" as WorkspaceId, path: "x" })
    ])
    assert.deepStrictEqual(codes.map(codeOfOutcome), [
      "workspace_outside_allowlist",
      "invalid_agent_id",
      "permission_denied",
      "permission_denied",
      "workspace_outside_allowlist",
      "workspace_outside_allowlist"
    ])
  })

  it("reads files, and the diff and artifacts of the Hub's runs, and opens their previews", async () => {
    mkdirSync(join(edge.workspace, "read"))
    writeFileSync(join(edge.workspace, "read/a.txt"), "before\n")
    const ask = { workspace: "ws" as WorkspaceId, path: "read/a.txt" }
    const file = await peer.ask("ReadFile", ask)
    assert.deepInclude(file._tag === "Done" ? file.value : {}, { content: "before\n" })
    const files = await peer.ask("ListFiles", { ...ask, path: "read" })
    assert.lengthOf(files._tag === "Done" ? (files.value as ReadonlyArray<unknown>) : [], 1)
    const run = runOf(await peer.start("/artifact notes.md text/markdown hello\n/say done"))
    const other = runOf(await peer.start("/say done"))
    await ended(peer, run.id)
    const { id: runId } = run
    const listed = await peer.ask("ListArtifacts", { runId })
    const [artifact] = (listed._tag === "Done" ? listed.value : []) as ReadonlyArray<{ id: never }>
    if (artifact === undefined) return assert.fail("there is an artifact")
    const chunk = await peer.ask("ReadArtifact", { runId, artifactId: artifact.id, offset: 1 })
    const { base64, size } = (chunk._tag === "Done" ? chunk.value : {}) as { base64: string; size: number }
    assert.strictEqual(Buffer.from(base64, "base64").length, size - 1)
    const beyond = await peer.ask("ReadArtifact", { runId, artifactId: artifact.id, offset: 1_000_000 })
    assert.deepInclude(beyond._tag === "Done" ? beyond.value : {}, { base64: "" })
    const foreign = { runId: other.id, artifactId: artifact.id, offset: 0 }
    assert.strictEqual(codeOfOutcome(await peer.ask("ReadArtifact", foreign)), "not_found")
    const source = { kind: "folder", path: "" }
    const create = (more: object) =>
      edge.client.ask("POST", "/v1/previews", { body: { workspace: "ws", title: "All", source, ...more } })
    const { body: preview } = await create({ runId })
    const { id: previewId, url } = preview as { readonly id: PreviewId; readonly url: string }
    const opened = await peer.ask("OpenPreview", { runId, previewId })
    assert(opened._tag === "Done")
    const fresh = opened.value as { readonly id: string; readonly url: string }
    assert.deepStrictEqual([fresh.id, fresh.url !== url], [previewId, true])
    await Visitor.enter(fresh.url)
    const { body: nobodys } = await create({})
    const { id: unrelated } = nobodys as { readonly id: PreviewId }
    for (const elsewhere of [
      { runId: other.id, previewId },
      { runId, previewId: unrelated }
    ])
      assert.strictEqual(codeOfOutcome(await peer.ask("OpenPreview", elsewhere)), "not_found")
    assert.include(peer.offer?.commands ?? [], "OpenPreview")
    const diff = await peer.ask("ReadDiff", { runId })
    assert.deepInclude(diff._tag === "Done" ? diff.value : diff, { runId, nextCursor: null })
  })

  it("answers more commands than it executes at once", async () => {
    writeFileSync(join(edge.workspace, "a.txt"), "content\n")
    const ask = { workspace: "ws" as WorkspaceId, path: "a.txt" }
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => peer.ask("ReadFile", ask)))
    assert.deepStrictEqual(new Set(outcomes.map(codeOfOutcome)), new Set(["done"]))
    assert.strictEqual(peer.dials, 1)
  })

  it("says a further input once, however often it is sent, and logs it under the id of its message", async () => {
    const run = runOf(await peer.start("/wait\n/say bye"))
    edge.runIds.add(run.id)
    await peer.until("its start", () => peer.log(run.id).some(({ type }) => type === "run.started"))
    const messageId = mint<MessageId>("msg", Date.now())
    const payload = { runId: run.id, input: { text: "and this" }, by: "usr_ada", messageId }
    const send = () => peer.ask("SendInput", payload, "say-it")
    const outcomes = [await send(), await send(), await send()]
    assert.deepStrictEqual(outcomes.map(codeOfOutcome), ["done", "done", "done"])
    await ended(peer, run.id)
    const messages = peer
      .log(run.id)
      .filter(({ payload, type }) => type === "run.message.completed" && payload["role"] === "user")
    assert.deepStrictEqual(
      messages.map(({ payload }) => payload["messageId"]),
      [messageId]
    )
  })
})

describe("the link to a Hub", () => {
  it("starts when the device file appears, and ends when it is deleted; a caller without a token does not see it", async () => {
    const peer = await openPeer()
    const edge = await openEdgeInProcess()
    await textOf(edge, ({ state }) => state === "none")
    const deviceId = await peer.join(edge.home)
    await peer.linked()
    await textOf(edge, ({ state }) => state === "linked")
    assert.deepInclude(await linkOf(edge), { state: "linked", hub: peer.url, deviceId })
    assert.deepStrictEqual(
      peer.offer?.workspaces.map(({ id }) => id),
      ["ws" as WorkspaceId]
    )
    assert.include(peer.offer?.agents.map(({ id }) => String(id)) ?? [], "scripted")
    const anyone = await edge.client.ask("GET", "/v1/health", { token: null })
    assert.notProperty(anyone.body, "link")
    rmSync(join(edge.home, "device.json"))
    await peer.until("the end of the link", () => !peer.isLinked)
    await textOf(edge, ({ state }) => state === "none")
  })

  it("starts one run for one id, asked a hundred times at once and over broken links", async () => {
    const peer = await openPeer()
    const edge = await joined(peer)
    const runId = mint<RunId>("run", Date.now())
    const requested = Array.from({ length: 100 }, (_, i) =>
      peer.start("/say once", {}, runId, i % 2 === 0 ? "same" : `other-${i}`)
    )
    peer.cut()
    const outcomes = await Promise.all(requested)
    assert.deepStrictEqual(new Set(outcomes.map((outcome) => runOf(outcome).id)), new Set([runId]))
    await ended(peer, runId)
    assertWhole(peer.log(runId))
    const { body } = await edge.client.ask("GET", "/v1/runs")
    assert.lengthOf((body as { readonly items: ReadonlyArray<unknown> }).items, 1)
  })

  describe("with pauses that make no sense", () => {
    const edge = new EdgeInProcess()
    beforeAll(() => edge.start())
    afterAll(() => edge.remove())

    it.each([
      { heartbeatSeconds: 0 },
      { heartbeatSeconds: -1 },
      { accessSeconds: 0 },
      { accessSeconds: 2 ** 40 }
    ])("is not kept (%o)", async (seconds) => {
      const peer = await openPeer()
      await peer.join(edge.home)
      await peer.linked()
      Object.assign(peer, seconds)
      const { proofs } = peer
      peer.cut()
      await peer.until("two more dials", () => peer.dials >= 3)
      assert.notStrictEqual((await linkOf(edge))?.state, "linked")
      assert.isAtMost(peer.proofs - proofs, peer.dials)
    })
  })

  it("answers the same run where the Edge died between the command and its answer", async () => {
    const peer = await openPeer()
    const edge = await joined(peer, new EdgeProcess())
    const runId = mint<RunId>("run", Date.now())
    edge.runIds.add(runId)
    peer.losesAnswers = true
    const answer = peer.start("/sleep 60000", {}, runId)
    await peer.until("its start", () => peer.log(runId).some(({ type }) => type === "run.started"))
    await edge.kill()
    peer.losesAnswers = false
    await edge.start()
    assert.strictEqual(runOf(await answer).id, runId)
    await ended(peer, runId)
    assertWhole(peer.log(runId))
    assert.strictEqual(peer.log(runId).at(-1)?.type, "run.failed")
  })

  it("pushes every event once and in order while the Hub cuts and stalls", async () => {
    const seeded = new Seeded("cuts")
    const peer = await openPeer()
    const edge = await joined(peer)
    peer.pushed.beforeAck = async () => {
      if (peer.pushed.pushes === 3) return peer.cut()
      if (seeded.whole(0, 4) > 0) return
      if (seeded.whole(0, 2) === 0) return peer.cut()
      await new Promise((resolve) => setTimeout(resolve, seeded.whole(1, 60)))
    }
    const many = runOf(await peer.start("/stream 20000 0 40"))
    const few = runOf(await peer.start("/stream 500 0 40"))
    await Promise.all([ended(peer, many.id), ended(peer, few.id)])
    assertWhole(peer.log(many.id))
    assert.isAbove(peer.log(many.id).length, 20_000)
    assert.deepStrictEqual(peer.log(few.id), await edge.client.log(few.id))
    assert.isAbove(peer.dials, 1)
    assert.isAtMost(peer.pushed.maxInFlight, 4)
    assert.isAtMost(peer.pushed.maxPushCharacters, 1_048_576)
  })

  it("pushes the events of a run in order while other runs end", async () => {
    const peer = await openPeer()
    const edge = await joined(peer)
    // So that commits take time, and events wait when an acknowledgement comes.
    await edge.client.create("/stream 60000 10000 40")
    peer.pushed.beforeAck = () => new Promise((resolve) => setTimeout(resolve, 20))
    const long = runOf(await peer.start("/stream 3000 1000 40"))
    while (peer.log(long.id).length < 3_000) {
      const short = runOf(await peer.start("/say done"))
      await ended(peer, short.id)
    }
    await ended(peer, long.id)
    assert.deepStrictEqual(peer.log(long.id), await edge.client.log(long.id))
    assert.strictEqual(peer.pushed.gaps, 0)
  })

  it("pushes what happened without a Hub when there is one again", async () => {
    const peer = await openPeer()
    const edge = await joined(peer)
    const run = runOf(await peer.start("/sleep 1000\n/say done"))
    const port = Number(new URL(peer.url).port)
    await peer.end()
    assert.include(["completed", "created", "starting", "running"], (await edge.client.run(run.id)).state)
    await edge.client.log(run.id)
    assert.strictEqual((await edge.client.run(run.id)).state, "completed")
    await peer.open(port)
    await ended(peer, run.id)
    assertWhole(peer.log(run.id))
  })

  it("does not go on with another Hub than the one that it joined", async () => {
    const peer = await openPeer()
    peer.helloUrl = "https://elsewhere.example"
    const edge = await openEdgeInProcess()
    await peer.join(edge.home)
    await peer.until("two tries", () => peer.dials >= 2)
    assert.strictEqual(peer.proofs, 0)
    assert.match((await linkOf(edge))?.problem ?? "", /another Hub/)
  })

  it("stops dialling when it is revoked, until the device file changes", async () => {
    const peer = await openPeer()
    const edge = await joined(peer)
    peer.proveWith = "unauthorized"
    peer.cut()
    await peer.until("two tries", () => peer.dials >= 3 && !peer.isLinked)
    await textOf(edge, ({ state }) => state === "refused")
    assert.strictEqual(peer.dials, 3)
    peer.proveWith = undefined
    await peer.join(edge.home)
    await peer.linked()
    assert.strictEqual(peer.dials, 4)
  })

  it("proves itself again on the same socket before the proof is over", async () => {
    const peer = await openPeer()
    peer.accessSeconds = 1
    await joined(peer)
    await peer.until("three proofs", () => peer.proofs >= 3)
    assert.strictEqual(peer.dials, 1)
  })

  it("rotates its key, and finds out which one counts after a crash in between", async () => {
    const peer = await openPeer()
    const edge = await joined(peer)
    const file = join(edge.home, "device.json")
    const keyIn = () => JSON.parse(readFileSync(file, "utf8")) as { privateKey: string; next?: unknown }
    const first = keyIn().privateKey
    const answer = await edge.client.ask("POST", "/v1/link/rotate")
    assert.strictEqual(answer.status, 200, answer.text)
    const second = keyIn()
    assert.notStrictEqual(second.privateKey, first)
    assert.notProperty(second, "next")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    // The Hub knows the second; the file says that it may.
    writeFileSync(
      file,
      JSON.stringify({ ...second, privateKey: first, next: { privateKey: second.privateKey } })
    )
    await peer.until("another link", () => peer.dials === 2 && peer.isLinked)
    await textOf(edge, ({ state }) => state === "linked" && keyIn().next === undefined)
    assert.strictEqual(keyIn().privateKey, second.privateKey)
    assert.notInclude(edge.stderr, second.privateKey)
    rmSync(file)
    await textOf(edge, ({ state }) => state === "none")
    assert.strictEqual(codeOf(await edge.client.ask("POST", "/v1/link/rotate")), "conflict")
  })

  it("takes no device file that others can read, and serves on", async () => {
    const peer = await openPeer()
    const edge = await openEdgeInProcess()
    await peer.join(edge.home)
    await peer.linked()
    chmodSync(join(edge.home, "device.json"), 0o644)
    await peer.until("the end of the link", () => !peer.isLinked)
    await textOf(edge, ({ state }) => state === "refused")
    assert.match((await linkOf(edge))?.problem ?? "", /can be read by others/)
    writeFileSync(join(edge.home, "device.json"), "{", { mode: 0o600 })
    chmodSync(join(edge.home, "device.json"), 0o600)
    await textOf(edge, ({ problem = "" }) => problem.includes("damaged"))
    const run = await edge.client.create("/say on")
    assert.strictEqual((await edge.client.log(run.id)).at(-1)?.type, "run.completed")
    await peer.join(edge.home)
    await peer.linked()
  })
})
