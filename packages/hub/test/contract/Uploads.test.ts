/** Files of messages: uploads, who reads them, and how they reach an Edge. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AttachmentId, RunId, UserId } from "@corral/domain/identity/Ids"
import { type CommandPayload, MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import type { Attachment } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import type { Session } from "@corral/domain/session/Session"
import { codeOf, PIXEL, upload } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { Effect, Result } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import {
  MAX_DAILY_BYTES,
  MAX_SESSION_BYTES,
  MAX_UNSENT_FILES,
  Uploads
} from "../../src/attachment/Uploads.ts"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { worldOf } from "../link/World.ts"

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")
const absent = "att_00000000000000000000000000" as AttachmentId

describe("Files of messages", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A user with a session and an agent whose Edge is linked. */
  const talking = async (resume = true) => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world, resume)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    return { world, edge, talk: await Talk.open(world) }
  }
  const uploaded = async (client: Talk["client"], name = "notes.txt", text = "Some notes") => {
    const answer = await upload(client, name, "text/plain", text)
    assert.strictEqual(answer.status, 201, answer.text)
    return answer.body
  }
  const sweep = () => hub.people.act(Effect.flatMap(Uploads, ({ sweep }) => Effect.orDie(sweep)))
  const run = (statement: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.orDie(statement(sql))))

  it("are stored with their size and hash, and read back as downloads", async () => {
    const client = await hub.signedIn("uploader")
    const created = await upload(client, "Zoë's dot.png", "image/png", PIXEL)
    assert.strictEqual(created.status, 201, created.text)
    const { id, ...rest } = created.body
    assert.deepStrictEqual<object>(rest, {
      name: "Zoë's dot.png",
      mediaType: "image/png",
      bytes: PIXEL.length,
      sha256: sha256(PIXEL)
    })
    const read = await fetch(`${hub.url}/client/uploads/${id}`, {
      headers: { authorization: `Bearer ${client.token}` }
    })
    assert.deepStrictEqual(Buffer.from(await read.arrayBuffer()), PIXEL)
    assert.strictEqual(read.headers.get("content-type"), "image/png")
    assert.match(read.headers.get("content-disposition") ?? "", /^attachment; filename="Zo_/)
    assert.strictEqual(read.headers.get("x-content-type-options"), "nosniff")
    assert.match(read.headers.get("content-security-policy") ?? "", /sandbox/)
    const text = await upload(client, "page.txt", "text/plain; charset=utf-8", "<script>")
    const page = await client.ask("GET", `/client/uploads/${text.body.id}`)
    assert.deepStrictEqual(
      [page.body, page.headers.get("content-type")],
      ["<script>", "text/plain; charset=utf-8"]
    )
  })

  it("may have 20 MiB, and are read in the pieces in which they arrived", async () => {
    const client = await hub.signedIn("large uploader")
    const whole = Buffer.alloc(MAX_ATTACHMENT_BYTES, "large\n")
    const created = await upload(client, "large.txt", "text/plain", whole)
    assert.strictEqual(created.status, 201, created.text)
    assert.strictEqual(created.body.sha256, sha256(whole))
    const read = await fetch(`${hub.url}/client/uploads/${created.body.id}`, {
      headers: { authorization: `Bearer ${client.token}` }
    })
    assert.strictEqual(sha256(Buffer.from(await read.arrayBuffer())), created.body.sha256)
    const larger = await upload(client, "larger.txt", "text/plain", Buffer.concat([whole, Buffer.from("x")]))
    assert.deepStrictEqual([larger.status, codeOf(larger)], [413, "payload_too_large"])
    const streamed = await fetch(`${hub.url}/client/uploads?name=streamed.txt`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.token}`, "content-type": "text/plain" },
      body: new Blob([whole, "x"]).stream(),
      duplex: "half"
    } as RequestInit)
    assert.strictEqual(streamed.status, 413)
  })

  it("must be of the declared type, and of one that is accepted", async () => {
    const client = await hub.signedIn("wrong uploader")
    for (const [type, content] of [
      ["image/png", "not an image"],
      ["image/jpeg", PIXEL],
      ["application/pdf", "PDF"],
      ["text/plain", PIXEL],
      ["image/svg+xml", "<svg/>"],
      ["text/html", "<p>"],
      ["application/octet-stream", "x"]
    ] as const) {
      const refused = await upload(client, "file", type, content)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [415, "unsupported_media_type"], type)
    }
    for (const name of ["", ".", "..", "a/b", "a\\b", "a\u0000b", "a\nb", "x".repeat(201)]) {
      const refused = await upload(client, name, "text/plain", "x")
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"], name)
    }
    const empty = await upload(client, "empty.txt", "text/plain", "")
    assert.isTrue(empty.status === 415 || empty.status === 422, empty.text)
    assert.deepStrictEqual(
      await run((sql) => sql`SELECT id FROM uploads WHERE user_id = ${client.userId}`),
      [],
      "no refused file is stored"
    )
  })

  it("are stored once per idempotency key", async () => {
    const client = await hub.signedIn("repeating uploader")
    const send = (text: string) =>
      upload(client, "notes.txt", "text/plain", text, { "idempotency-key": "the-key" })
    const first = await send("one")
    const again = await send("one")
    assert.deepStrictEqual(again.body, first.body)
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    const other = await send("two")
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "idempotency_conflict"])
    const stored = await run((sql) => sql`SELECT id FROM uploads WHERE user_id = ${client.userId}`)
    assert.deepStrictEqual(stored, [{ id: first.body.id }])
  })

  it("are limited in number for each user until they are sent", async () => {
    const client = await hub.signedIn("busy uploader")
    await run(
      (sql) => sql`
        INSERT INTO uploads (id, user_id, name, media_type, bytes, sha256, created_at)
        SELECT 'att_busy' || n, ${client.userId ?? ""}, 'x', 'text/plain', 1, 'x', now() FROM generate_series(1, ${MAX_UNSENT_FILES}::int) n`
    )
    const refused = await upload(client, "one.txt", "text/plain", "one more")
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "conflict"])
    await run((sql) => sql`DELETE FROM uploads WHERE id = 'att_busy1'`)
    assert.strictEqual((await upload(client, "one.txt", "text/plain", "one more")).status, 201)
  })

  it("are limited in bytes for each session, and for each user in 24 hours, with the figures", async () => {
    const { talk } = await talking()
    const { client, sessionId } = talk
    const used = (name: string, mib: number, age: string) =>
      run((sql) =>
        Effect.andThen(
          sql`
            INSERT INTO uploads (id, user_id, name, media_type, bytes, sha256, is_sent, created_at)
            SELECT ${name} || n, ${client.userId ?? ""}, 'x', 'text/plain', 1048576, 'x', true, now() - ${age}::interval
            FROM generate_series(1, ${mib}::int) n`,
          sql`INSERT INTO session_uploads (session_id, upload_id) SELECT ${sessionId}, ${name} || n FROM generate_series(1, ${mib}::int) n`
        )
      )
    await used("att_old", 500, "2 days")
    const file = await uploaded(client)
    const refused = await talk.trySend("one more", { attachments: [file.id] })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [413, "payload_too_large"])
    assert.deepInclude<object>(refused.body, {
      details: {
        quota: "session",
        usedBytes: MAX_SESSION_BYTES,
        bytes: file.bytes,
        limitBytes: MAX_SESSION_BYTES
      }
    })
    assert.strictEqual((await talk.trySend("without a file")).status, 201)
    await run((sql) => sql`DELETE FROM session_uploads WHERE upload_id = 'att_old1'`)
    // The refused message took no file.
    assert.strictEqual((await talk.trySend("one more", { attachments: [file.id] })).status, 201)
    await used("att_new", 2_048, "1 hour")
    const late = await upload(client, "late.txt", "text/plain", "late")
    assert.deepStrictEqual([late.status, codeOf(late)], [413, "payload_too_large"])
    assert.deepInclude<object>(late.body, {
      details: {
        quota: "day",
        usedBytes: MAX_DAILY_BYTES + file.bytes,
        bytes: 4,
        limitBytes: MAX_DAILY_BYTES
      }
    })
    const other = await hub.signedIn("another uploader")
    assert.strictEqual((await upload(other, "late.txt", "text/plain", "late")).status, 201)
  })

  it("belong to their uploader, then to the message and its session", async () => {
    const { talk, world } = await talking()
    const [member, stranger] = [await hub.signedIn("a member"), await hub.signedIn("a stranger")]
    await new Mirror(hub).member(world.client.userId, world.projectId, member.userId as UserId, "viewer")
    const file = await uploaded(world.client)
    const read = async (client = world.client) =>
      (await client.ask("GET", `/client/uploads/${file.id}`)).status
    assert.deepStrictEqual([await read(), await read(member), await read(stranger)], [200, 403, 403])
    const { talk: stolen } = await talking()
    const refused = await stolen.trySend("mine", { to: "people", attachments: [file.id] })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    const sent = await talk.send("See this", { to: "people", attachments: [file.id] })
    assert.deepStrictEqual<ReadonlyArray<Attachment> | undefined>(sent.attachments, [file])
    assert.deepStrictEqual((await talk.messages()).at(-1)?.attachments, [file])
    assert.deepStrictEqual([await read(), await read(member), await read(stranger)], [200, 200, 403])
    for (const attachments of [[file.id], [absent], [file.id, file.id]]) {
      const again = await talk.trySend("Again", { to: "people", attachments })
      assert.deepStrictEqual([again.status, codeOf(again)], [422, "schema_validation_failed"])
    }
  })

  it("expire after a day unless they are sent, and are deleted with their session", async () => {
    const { talk, world } = await talking()
    const [lost, referenced] = [await uploaded(world.client), await uploaded(world.client)]
    await talk.send("Keep", { to: "people", attachments: [referenced.id] })
    const ids = [lost.id, referenced.id]
    await run(
      (sql) => sql`UPDATE uploads SET created_at = now() - interval '25 hours' WHERE id = ANY(${ids}::text[])`
    )
    const late = await talk.trySend("Late", { to: "people", attachments: [lost.id] })
    assert.deepStrictEqual([late.status, codeOf(late)], [422, "schema_validation_failed"])
    await sweep()
    const left = () => run((sql) => sql`SELECT id FROM uploads WHERE id = ANY(${ids}::text[])`)
    assert.deepStrictEqual(await left(), [{ id: referenced.id }])
    await run((sql) => sql`DELETE FROM sessions WHERE id = ${talk.sessionId}`)
    await sweep()
    assert.deepStrictEqual(await left(), [])
    assert.deepStrictEqual(
      await run((sql) => sql`SELECT n FROM upload_pieces WHERE upload_id = ANY(${ids}::text[])`),
      []
    )
  })

  it("are named in the start of the run, whose device reads them piece by piece", async () => {
    const { edge, talk, world } = await talking()
    const content = Buffer.alloc(MAX_CHUNK_BYTES + 10, "abc")
    const file = (await upload(world.client, "abc.txt", "text/plain", content)).body
    const sent = await talk.send("Read this", { attachments: [file.id] })
    const turn = await edge.turn(0)
    assert.deepStrictEqual<object | undefined>(turn.attachments, { message: [file], earlier: [] })
    assert.strictEqual(turn.create.input.text, "Read this")
    const read = async (offset: number, runId: RunId = turn.runId, id = file.id) => {
      const answer = await edge.edge.readAttachment(runId, id, offset)
      return Result.isSuccess(answer)
        ? Buffer.from(answer.success.base64, "base64").length
        : answer.failure.code
    }
    assert.deepStrictEqual(
      [await read(0), await read(7), await read(MAX_CHUNK_BYTES), await read(content.length)],
      [MAX_CHUNK_BYTES, MAX_CHUNK_BYTES - 7, 10, 0]
    )
    assert.strictEqual(await read(0, turn.runId, absent), "not_found")
    const other = await talking()
    const foreign = await other.edge.edge.readAttachment(turn.runId, file.id, 0)
    assert.isTrue(Result.isFailure(foreign) && foreign.failure.code === "not_found")
    await edge.perform(turn, "done")
    await talk.inState(sent, "delivered")
    assert.strictEqual(await read(0), "not_found", "after the end of the run")
  })

  it("extend the time for the answer to a start while the device reads them", async () => {
    const { edge, talk, world } = await talking()
    const file = await uploaded(world.client)
    const { promise, resolve } = Promise.withResolvers<RunId>()
    edge.edge.answers = (command) => {
      // The name says which payload it is.
      if (command.name === "StartRun") resolve((command.payload as CommandPayload<"StartRun">).runId)
      return undefined
    }
    await talk.send("Read this", { attachments: [file.id] })
    const runId = await promise
    const sentAt = (change: string) =>
      run(
        (
          sql
        ) => sql`UPDATE edge_commands SET sent_at = sent_at - ${change}::interval WHERE id = ${`start.${runId}`}
        RETURNING sent_at > now() - interval '10 seconds' AS recent`
      )
    assert.deepStrictEqual(await sentAt("50 seconds"), [{ recent: false }])
    assert.isTrue(Result.isSuccess(await edge.edge.readAttachment(runId, file.id, 0)))
    assert.deepStrictEqual(await sentAt("0 seconds"), [{ recent: true }])
  })

  it("are named by a transcript, and sent with it", async () => {
    const { edge, talk, world } = await talking(false)
    const file = await uploaded(world.client)
    await talk.send("Read this", { attachments: [file.id] })
    await edge.perform(await edge.turn(0), "done")
    await talk.send("What did it say?")
    const { attachments, create } = await edge.turn(1)
    assert.include(create.input.text, "| (Attached file: notes.txt)")
    assert.deepStrictEqual<object | undefined>(attachments, { message: [], earlier: [file] })
  })

  it("are part of a fork and of exports", async () => {
    const { edge, talk, world } = await talking()
    const file = await uploaded(world.client)
    const sent = await talk.send("Read this", { attachments: [file.id] })
    await edge.perform(await edge.turn(0), "done")
    await talk.inState(sent, "delivered")
    const fork = await world.client.ask<Session>("POST", `/client/sessions/${talk.sessionId}/fork`, {
      body: { messageId: sent.id }
    })
    assert.strictEqual(fork.status, 201, fork.text)
    const { body } = await world.client.ask<{
      readonly items: ReadonlyArray<{ readonly attachments: unknown }>
    }>("GET", `/client/sessions/${fork.body.id}/messages`)
    assert.deepStrictEqual(body.items[0]?.attachments, [file])
    await run((sql) => sql`DELETE FROM sessions WHERE id = ${talk.sessionId}`)
    await sweep()
    assert.strictEqual((await world.client.ask("GET", `/client/uploads/${file.id}`)).status, 200)
    const exported = (format: string) =>
      world.client.ask("GET", `/client/sessions/${fork.body.id}/export?format=${format}`)
    assert.include((await exported("markdown")).text, "- File: notes\\.txt, text/plain, 10 bytes")
    assert.include((await exported("json")).text, JSON.stringify([file]))
  })

  it("are sent with further input, and refused for an Edge that is too old for them", async () => {
    const { edge, talk, world } = await talking()
    await talk.send("Work")
    const turn = await edge.turn(0)
    await edge.begin(turn)
    const file = await uploaded(world.client)
    const sent = await talk.send("Also this", { when: "now", attachments: [file.id] })
    assert.deepStrictEqual<object | undefined>((await edge.input(0)).attachments, {
      message: [file],
      earlier: []
    })
    await talk.inState(sent, "delivered")

    const old = await talking()
    await old.edge.forgetFeatures()
    const second = await uploaded(old.world.client)
    const refused = await old.talk.trySend("Read", { attachments: [second.id] })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "conflict"])
    assert.match(refused.text, /too old for attachments/)
    assert.strictEqual(
      (await old.talk.trySend("Read", { to: "people", attachments: [second.id] })).status,
      201
    )
  })
})
