/** Files of messages at an Edge that is linked to a Hub: received before the run starts, once, and named to the agent. */
import type { CommandOutcome, CommandPayload } from "@corral/domain/link/EdgeCommand"
import { MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import type { AttachmentId, MessageId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import type { Attachment } from "@corral/domain/session/Attachment"
import { mint } from "@corral/service/Identifiers"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { LinkPeer } from "@corral/testing/edge/LinkPeer"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const codeOfOutcome = (outcome: CommandOutcome): string =>
  outcome._tag === "Refused" ? outcome.error.code : "done"

describe("Attachments of a linked Edge", () => {
  const peer = new LinkPeer()
  const edge = new EdgeProcess()
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

  const attachment = (name: string, content: Buffer, has = content): Attachment => {
    const id = mint<AttachmentId>("att", Date.now())
    peer.attachments.set(id, content)
    const sha256 = createHash("sha256").update(has).digest("hex")
    return { id, name, mediaType: "text/plain", bytes: has.length, sha256 }
  }
  const newSession = () => mint<SessionId>("ses", Date.now())
  const folderOf = (sessionId: SessionId) => join(edge.home, "attachments", sessionId)
  const fileOf = (sessionId: SessionId, { id, name }: Attachment) =>
    join(folderOf(sessionId), `${id}-${name}`)
  const start = (
    sessionId: SessionId,
    message: ReadonlyArray<Attachment>,
    {
      commandId,
      earlier = [],
      runId = mint<RunId>("run", Date.now()),
      text = "/say done"
    }: {
      readonly commandId?: string
      readonly earlier?: ReadonlyArray<Attachment>
      readonly runId?: RunId
      readonly text?: string
    } = {}
  ) => {
    edge.runIds.add(runId)
    const create = { workspace: "ws", agentId: "scripted", mode: "ask", input: { text }, sessionId }
    const payload = {
      runId,
      create,
      attachments: { message, earlier }
    } as unknown as CommandPayload<"StartRun">
    return { runId, outcome: peer.ask("StartRun", payload, commandId) }
  }
  const ended = (runId: RunId) =>
    peer.until("the end", () => isTerminalType(peer.log(runId).at(-1)?.type ?? ""), 25_000)
  /** What the scripted agent said: the lines of its prompt that are no directives. */
  const outputLines = (runId: RunId) =>
    peer
      .log(runId)
      .flatMap(({ payload, type }) => (type === "run.message.completed" ? [String(payload["text"])] : []))

  it("receives the files before the run starts, for their owner only, and names them after the prompt", async () => {
    assert.include(peer.offer?.commands ?? [], "attachments")
    const sessionId = newSession()
    const [notes, old] = [
      attachment("my notes.txt", Buffer.alloc(MAX_CHUNK_BYTES + 5, "n")),
      attachment("old.txt", Buffer.from("old"))
    ]
    const { outcome, runId } = start(sessionId, [notes], { earlier: [old] })
    assert.strictEqual(codeOfOutcome(await outcome), "done")
    const file = join(folderOf(sessionId), `${notes.id}-my-notes.txt`)
    assert.strictEqual(statSync(file).size, notes.bytes)
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(statSync(folderOf(sessionId)).mode & 0o777, 0o700)
    assert.strictEqual(statSync(join(edge.home, "attachments")).mode & 0o777, 0o700)
    await ended(runId)
    const text = outputLines(runId).join("\n")
    assert.include(text, `attached to this message`)
    assert.include(text, file)
    assert.include(text, fileOf(sessionId, old))
    const [created] = peer.log(runId)
    assert.deepInclude(created?.payload, { input: { text: "/say done" } })
  })

  it("lets a later turn read what an earlier one received, without a question", async () => {
    const sessionId = newSession()
    const notes = attachment("notes.txt", Buffer.from("remember the milk"))
    const first = start(sessionId, [notes])
    await first.outcome
    await ended(first.runId)
    const second = await peer.start(`/shell cat ${fileOf(sessionId, notes)}`, { sessionId })
    assert.strictEqual(second._tag, "Done")
    const { id } = second._tag === "Done" ? (second.value as { readonly id: RunId }) : { id: first.runId }
    await ended(id)
    assert.include(JSON.stringify(peer.log(id)), "remember the milk")
    const [resolved] = peer
      .log(id)
      .flatMap(({ payload, type }) => (type === "run.approval.resolved" ? [payload] : []))
    assert.deepInclude(resolved, { decision: "allow", by: "policy:attachments" })
  })

  it("writes a file once, however often the start is sent", async () => {
    const sessionId = newSession()
    const notes = attachment("notes.txt", Buffer.from("once"))
    const first = start(sessionId, [notes])
    await first.outcome
    const before = statSync(fileOf(sessionId, notes))
    const reads = peer.reads.length
    assert.strictEqual(codeOfOutcome(await start(sessionId, [notes], { runId: first.runId }).outcome), "done")
    assert.strictEqual(codeOfOutcome(await start(sessionId, [notes]).outcome), "done")
    const after = statSync(fileOf(sessionId, notes))
    assert.deepStrictEqual([after.ino, after.mtimeMs], [before.ino, before.mtimeMs])
    assert.strictEqual(peer.reads.length, reads)
  })

  it("continues a file where a broken link interrupted it", async () => {
    const sessionId = newSession()
    const large = attachment("large.txt", Buffer.alloc(3 * MAX_CHUNK_BYTES, "l"))
    const reads = peer.reads.length
    peer.beforeRead = async (offset) => {
      if (offset !== MAX_CHUNK_BYTES) return
      peer.beforeRead = async () => {}
      peer.cut()
    }
    assert.strictEqual(codeOfOutcome(await start(sessionId, [large]).outcome), "done")
    assert.deepStrictEqual(peer.reads.slice(reads), [
      0,
      MAX_CHUNK_BYTES,
      MAX_CHUNK_BYTES,
      2 * MAX_CHUNK_BYTES
    ])
    assert.strictEqual(statSync(fileOf(sessionId, large)).size, large.bytes)
  })

  it("continues a file after the Edge was killed", async () => {
    const sessionId = newSession()
    const large = attachment("large.txt", Buffer.alloc(3 * MAX_CHUNK_BYTES, "l"))
    const reads = peer.reads.length
    peer.beforeRead = (offset) => (offset === MAX_CHUNK_BYTES ? new Promise(() => {}) : Promise.resolve())
    const { outcome } = start(sessionId, [large])
    await peer.until("the second part", () => peer.reads.length === reads + 2)
    await edge.kill()
    peer.beforeRead = async () => {}
    await edge.start()
    assert.strictEqual(codeOfOutcome(await outcome), "done")
    assert.deepStrictEqual(peer.reads.slice(reads), [
      0,
      MAX_CHUNK_BYTES,
      MAX_CHUNK_BYTES,
      2 * MAX_CHUNK_BYTES
    ])
    assert.deepStrictEqual(readdirSync(folderOf(sessionId)), [`${large.id}-large.txt`])
  })

  it("refuses the start where a file is missing or damaged, and keeps no part of it", async () => {
    const sessionId = newSession()
    const missing = {
      ...attachment("missing.txt", Buffer.from("x")),
      id: mint<AttachmentId>("att", Date.now())
    }
    const refused = start(sessionId, [missing])
    assert.strictEqual(codeOfOutcome(await refused.outcome), "not_found")
    assert.strictEqual((await edge.client.ask("GET", `/v1/runs/${refused.runId}`)).status, 404)
    for (const damaged of [
      attachment("other.txt", Buffer.from("sent"), Buffer.from("said")),
      attachment("short.txt", Buffer.from("sent"), Buffer.from("sent and more")),
      attachment("long.txt", Buffer.from("sent and more"), Buffer.from("sent"))
    ]) {
      const outcome = await start(sessionId, [damaged]).outcome
      assert.strictEqual(codeOfOutcome(outcome), "internal", damaged.name)
      assert.include(JSON.stringify(outcome), "damaged")
    }
    assert.deepStrictEqual(readdirSync(folderOf(sessionId)), [])
  })

  it("follows no link in the place of a file", async () => {
    const sessionId = newSession()
    const [first, notes] = [
      attachment("first.txt", Buffer.from("first")),
      attachment("notes.txt", Buffer.from("notes"))
    ]
    await start(sessionId, [first]).outcome
    const outside = join(edge.home, "outside.txt")
    writeFileSync(outside, "outside")
    const runId = mint<RunId>("run", Date.now())
    symlinkSync(outside, `${fileOf(sessionId, notes)}.${runId}.part`)
    assert.strictEqual(codeOfOutcome(await start(sessionId, [notes], { runId }).outcome), "overloaded")
    assert.strictEqual(readFileSync(outside, "utf8"), "outside")
    assert.isFalse(existsSync(fileOf(sessionId, notes)))
  })

  it("names the files of further input to the runtime, and logs its text alone", async () => {
    const sessionId = newSession()
    const notes = attachment("notes.txt", Buffer.from("notes"))
    const { outcome, runId } = start(sessionId, [], { text: "/wait" })
    await outcome
    await peer.until("the start", () => peer.log(runId).some(({ type }) => type === "run.started"))
    const messageId = mint<MessageId>("msg", Date.now())
    const sent = await peer.ask("SendInput", {
      runId,
      input: { text: "More" },
      by: "usr_ada",
      messageId,
      attachments: { message: [notes], earlier: [] }
    })
    assert.strictEqual(codeOfOutcome(sent), "done")
    await ended(runId)
    const [input, ...answers] = peer
      .log(runId)
      .flatMap(({ payload, type }) => (type === "run.message.completed" ? [payload] : []))
    assert.deepInclude(input, { messageId, role: "user", text: "More" })
    assert.include(JSON.stringify(answers), fileOf(sessionId, notes))
  })

  it("cancels a run whose files arrive once it has started", async () => {
    const sessionId = newSession()
    const notes = attachment("notes.txt", Buffer.from("slow"))
    const { promise, resolve } = Promise.withResolvers<void>()
    const reads = peer.reads.length
    peer.beforeRead = () => promise
    const { outcome, runId } = start(sessionId, [notes], { text: "/wait" })
    await peer.until("the first read", () => peer.reads.length > reads)
    const cancelled = peer.ask("CancelRun", { runId, by: "usr_ada" })
    resolve()
    peer.beforeRead = async () => {}
    assert.strictEqual(codeOfOutcome(await outcome), "done")
    assert.strictEqual(codeOfOutcome(await cancelled), "done")
    await ended(runId)
    assert.strictEqual(peer.log(runId).at(-1)?.type, "run.cancelled")
  })
})
