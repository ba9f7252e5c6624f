/** Both clients against a live Edge and a live Hub: start, follow, approve, read the diff. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AgentId, InputRequestId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { envelopeOf, type SequencedEvent } from "@corral/domain/run/EventSequence"
import type { RunView } from "@corral/domain/run/RunView"
import { makeSession } from "@corral/testing/hub/People"
import { Joined } from "@corral/testing/stack/Joined"
import { Effect, Redacted, Stream } from "effect"
import { edgeClient, type EdgeConnection } from "../../src/Edge.ts"
import { EdgeEffects } from "../../src/effect/EdgeEffects.ts"
import { HubEffects } from "../../src/effect/HubEffects.ts"
import { CorralError } from "../../src/http/CorralError.ts"
import { hubClient, type HubConnection } from "../../src/Hub.ts"
import { sealSecrets } from "../../src/run/sealSecrets.ts"

const writeFile = (name: string) => ({ text: `/write ${name} hello\n/say done` })
const types = (events: ReadonlyArray<SequencedEvent>) => events.map(({ decoded }) => envelopeOf(decoded).type)

const drained = async (events: AsyncIterable<SequencedEvent>): Promise<void> => {
  for await (const _ of events) continue
}

describe("clients", () => {
  let joined: Joined
  let edge: EdgeConnection
  let hub: HubConnection
  beforeAll(async () => {
    joined = await Joined.open()
    edge = edgeClient({ url: joined.edge.url, token: joined.edge.token })
    hub = hubClient({ url: joined.hub.url, token: joined.owner.token ?? "" })
  })
  afterAll(() => joined.remove())

  /** A run at the Edge that waits for approval of a new file. */
  const startAtEdge = (name: string) =>
    edge.runs.create({
      payload: { workspace: "ws", agentId: "scripted", mode: "ask", input: writeFile(name) }
    })

  const hubLayer = () =>
    HubEffects.layer({ url: joined.hub.url, token: Redacted.make(joined.owner.token ?? "") })

  it("start, follow, approve and read the diff at an Edge", async () => {
    const { id: runId } = await startAtEdge("plain.txt")
    let last: RunView | undefined
    for await (const view of edge.runView(runId)) {
      last = view
      for (const approvalId of view.pending)
        await edge.permissions
          .decide({ payload: { runId, approvalId, decision: "allow" } })
          .catch((error: unknown) => assert.include(error, { code: "approval_already_resolved" }))
    }
    assert.strictEqual(last?.state, "completed")
    const diff = await edge.diffs.diff({ params: { id: runId } })
    assert.deepStrictEqual(
      diff.items.map(({ path }) => path),
      ["plain.txt"]
    )
  })

  it("start, follow, approve and read the diff at a Hub", async () => {
    const task = await hub.tasks.create({
      payload: {
        projectId: joined.projectId,
        targetId: joined.deviceId,
        workspace: "ws",
        agentId: "scripted",
        mode: "ask",
        input: writeFile("hub.txt")
      }
    })
    const { runId = "" } = await joined.taskWith(task.id, ({ runId }) => runId !== undefined)
    const seen: Array<string> = []
    for await (const { decoded } of hub.runEvents(runId)) {
      seen.push(envelopeOf(decoded).type)
      if (decoded._tag === "KnownEvent" && decoded.event.type === "run.approval.requested")
        await hub.approvals.decide({
          params: { id: decoded.event.payload.approvalId },
          payload: { decision: "allow" }
        })
    }
    assert.strictEqual(seen[0], "run.created")
    assert.strictEqual(seen.at(-1), "run.completed")
    const diff = await hub.runs.diff({ params: { id: runId } })
    assert.include(
      diff.items.map(({ path }) => path),
      "hub.txt"
    )
  })

  it("do the same with Effect, with failures by tag", () =>
    Effect.gen(function* () {
      const edge = yield* EdgeEffects
      const { id: runId } = yield* edge.runs.create({
        payload: {
          workspace: "ws" as WorkspaceId,
          agentId: "scripted" as AgentId,
          mode: "ask",
          input: writeFile("effect.txt")
        }
      })
      const events = yield* edge.runEvents(runId).pipe(
        Stream.tap(({ decoded }) =>
          decoded._tag === "KnownEvent" && decoded.event.type === "run.approval.requested"
            ? edge.permissions.decide({
                payload: { runId, approvalId: decoded.event.payload.approvalId, decision: "allow" }
              })
            : Effect.void
        ),
        Stream.runCollect
      )
      assert.strictEqual(types(events).at(-1), "run.completed")
      const diff = yield* edge.diffs.diff({ params: { id: runId } })
      assert.include(
        diff.items.map(({ path }) => path),
        "effect.txt"
      )
      const reason = yield* edge.runs.cancel({ params: { id: runId } }).pipe(
        Effect.as("cancelled"),
        Effect.catchTag("RunNotCancellable", ({ code, requestId }) =>
          Effect.succeed([code, typeof requestId])
        )
      )
      assert.deepStrictEqual(reason, ["run_not_cancellable", "string"])
    }).pipe(
      Effect.provide(EdgeEffects.layer({ url: joined.edge.url, token: Redacted.make(joined.edge.token) })),
      Effect.runPromise
    ))

  const question = { text: "/question Which colour? | Red | Blue\n/say done" }

  it("answer a question and finish background work at an Edge", async () => {
    const payload = { workspace: "ws", agentId: "scripted", mode: "ask", input: question } as const
    const { id: runId } = await edge.runs.create({ payload })
    let last: RunView | undefined
    for await (const view of edge.runView(runId)) {
      last = view
      for (const inputId of view.pendingInputs)
        await edge.inputs
          .answer({ payload: { runId, inputId, answers: { "1": "2" } } })
          .catch((error: unknown) => assert.include(error, { code: "input_already_resolved" }))
    }
    assert.strictEqual(last?.state, "completed")
    const input = { text: "/work dev command npm run dev\n/say started\n/end-turn\n/hang" }
    const { id } = await edge.runs.create({ payload: { ...payload, input } })
    for await (const view of edge.runView(id)) {
      last = view
      if (view.isIdle) await edge.runs.finish({ params: { id } })
    }
    assert.strictEqual(last?.state, "completed")
    assert.deepInclude(last?.blocks.at(-1), { kind: "end", stopped: ["npm run dev"] })
  })

  it("answer a question at a Hub with Effect, a sealed secret, and fail a second answer by tag", () =>
    Effect.gen(function* () {
      const corral = yield* HubEffects
      const task = yield* Effect.promise(() =>
        hub.tasks.create({
          payload: {
            projectId: joined.projectId,
            targetId: joined.deviceId,
            workspace: "ws",
            agentId: "scripted",
            mode: "ask",
            input: { text: "/secret Token?" }
          }
        })
      )
      const { runId = "" } = yield* Effect.promise(() =>
        joined.taskWith(task.id, ({ runId }) => runId !== undefined)
      )
      const answer = Effect.fnUntraced(function* (params: { readonly id: InputRequestId }) {
        const request = yield* corral.inputs.get({ params })
        const [{ id = "" } = {}] = request.questions ?? []
        const payload = yield* Effect.promise(() => sealSecrets(request, { answers: { [id]: "s3cr3t" } }))
        const answered = yield* corral.inputs.answer({ params, payload })
        assert.strictEqual(answered.state, "answered")
        const again: string = yield* corral.inputs.answer({ params, payload }).pipe(
          Effect.as("accepted"),
          Effect.catchTag("InputAlreadyResolved", ({ code }) => Effect.succeed(code))
        )
        return again
      })
      const outcomes = yield* corral.runEvents(runId as RunId).pipe(
        Stream.mapEffect(({ decoded }) =>
          decoded._tag === "KnownEvent" && decoded.event.type === "run.input.requested"
            ? answer({ id: decoded.event.payload.inputId })
            : Effect.succeed(undefined)
        ),
        Stream.filter((outcome) => outcome !== undefined),
        Stream.runCollect
      )
      assert.deepStrictEqual([...outcomes], ["input_already_resolved"])
    }).pipe(Effect.provide(hubLayer()), Effect.runPromise))

  it("upload a file for a message, and download it, with Effect and without", () =>
    Effect.gen(function* () {
      const file = (text: string) => new Blob([text], { type: "text/plain" })
      const created = yield* Effect.promise(() =>
        hub.uploads.create({ query: { name: "notes.txt" }, payload: file("some notes") })
      )
      assert.deepInclude(created, { name: "notes.txt", mediaType: "text/plain", bytes: 10 })
      const content = yield* Effect.promise(() => hub.uploads.content({ params: { id: created.id } }))
      assert.strictEqual(yield* Effect.promise(() => new Response(content).text()), "some notes")

      const { uploads } = yield* HubEffects
      const headers = { "idempotency-key": "one-upload" }
      const upload = uploads.create({ query: { name: "other.txt" }, headers, payload: file("other notes") })
      const [first, again] = [yield* upload, yield* upload]
      assert.deepStrictEqual(again, first)
      const bytes = yield* Effect.flatMap(uploads.content({ params: { id: first.id } }), (content) =>
        Stream.mkString(Stream.decodeText(content))
      )
      assert.strictEqual(bytes, "other notes")
      const tag = yield* uploads
        .create({ query: { name: "dot.png" }, payload: new Blob(["x"], { type: "image/png" }) })
        .pipe(
          Effect.as("created"),
          Effect.catchTag("UnsupportedMediaType", ({ code }) => Effect.succeed(code))
        )
      assert.strictEqual(tag, "unsupported_media_type")
    }).pipe(Effect.provide(hubLayer()), Effect.runPromise))

  it("end an Effect stream with its scope, and fail it by tag", () =>
    Effect.gen(function* () {
      const hub = yield* HubEffects
      const first = yield* hub.changes().pipe(Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(
        first.map(({ kind }) => kind),
        ["device"]
      )
      const unknown = "run_01K00000000000000000000000" as RunId
      const tag = yield* hub.runEvents(unknown).pipe(
        Stream.runDrain,
        Effect.as("ended"),
        Effect.catchTag("PermissionDenied", ({ _tag }) => Effect.succeed(_tag))
      )
      assert.strictEqual(tag, "PermissionDenied")
    }).pipe(Effect.provide(hubLayer()), Effect.runPromise))

  it("follow all runs of an Edge over a WebSocket with the token in its header", async () => {
    const stop = new AbortController()
    const live = Promise.withResolvers<void>()
    const events = edge.allEvents({ signal: stop.signal, onConnection: () => live.resolve() })
    const { id: runId } = await startAtEdge("all.txt")
    for await (const { decoded } of events) if (envelopeOf(decoded).runId === runId) break
    await live.promise
    const following = edge.allEvents({ signal: stop.signal })
    await following.next()
    stop.abort("enough")
    assert.strictEqual(await drained(following).catch((reason: unknown) => reason), "enough")
    await edge.runs.cancel({ params: { id: runId } })
  })

  it("refuse a WebSocket with the error of the service, and with that of its close code", async () => {
    const session = await makeSession(joined.owner, { id: joined.projectId })
    const stranger = hubClient({ url: joined.hub.url, token: "wrong" })
    const refused = await stranger
      .sessionEvents(session.id)
      .next()
      .catch((error: unknown) => error)
    assert.instanceOf(refused, CorralError)
    assert.strictEqual(refused.code, "unauthorized")

    const guest = await joined.hub.signedIn("guest")
    const address = `/client/projects/${joined.projectId}/members`
    await joined.owner.ask("POST", address, { body: { userId: guest.userId, role: "viewer" } })
    const live = Promise.withResolvers<void>()
    const following = hubClient({ url: joined.hub.url, token: guest.token ?? "" })
      .sessionEvents(session.id, { onConnection: () => live.resolve() })
      .next()
      .catch((error: unknown) => error)
    await live.promise
    await joined.owner.ask("DELETE", `${address}/${guest.userId}`)
    assert.include(await following, { code: "permission_denied" })
  })
})
