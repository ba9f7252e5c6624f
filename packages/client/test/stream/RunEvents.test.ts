import { assert, describe, it } from "@effect/vitest"
import { envelopeOf, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { CorralError } from "../../src/http/CorralError.ts"
import { edgeClient } from "../../src/Edge.ts"
import type { RunEventOptions } from "../../src/stream/RunEvents.ts"
import type { Run } from "@corral/domain/run/Run"
import { completed, delta, refusing, run, runId, serviceOf, streaming } from "../Services.ts"

const noWait = () => Promise.resolve()
const eventsPath = (after: number) => `/v1/runs/${runId}/events?after=${after}`
const runPath = `/v1/runs/${runId}`

/** Positions that a reader receives from a service. */
const seqsOf = async (
  service: ReturnType<typeof serviceOf>,
  options: RunEventOptions<Run> = {}
): Promise<ReadonlyArray<number>> => {
  const edge = edgeClient({ url: "http://127.0.0.1:1", token: "secret", fetch: service.fetch })
  const seqs: Array<number> = []
  for await (const { decoded } of edge.runEvents(runId, { wait: noWait, ...options }))
    seqs.push(envelopeOf(decoded).seq)
  return seqs
}

const failureOf = (reading: Promise<unknown>): Promise<CorralError> =>
  reading.then(
    () => assert.fail("the stream did not fail"),
    (error: unknown) => {
      assert.instanceOf(error, CorralError)
      return error
    }
  )

describe("run events", () => {
  it("sends the token in the header only, emits each event once and ends with the last one", async () => {
    const junk = "data: not an envelope\n\n"
    const service = serviceOf(() =>
      streaming([delta(1) + delta(2) + delta(2), junk, delta(1), delta(3), completed(4) + delta(5)])
    )
    assert.deepStrictEqual(await seqsOf(service), [1, 2, 3, 4])
    const [request] = service.requests
    assert.isDefined(request)
    assert.strictEqual(request.path, eventsPath(0))
    assert.strictEqual(request.headers.get("authorization"), "Bearer secret")
    assert.strictEqual(request.headers.get("accept"), "text/event-stream")
    assert.strictEqual(request.redirect, "manual")
    assert.strictEqual(service.requests.length, 1)
  })

  it("reads events that are split anywhere", async () => {
    const text = delta(1) + completed(2)
    const service = serviceOf(() => streaming([...text]))
    assert.deepStrictEqual(await seqsOf(service), [1, 2])
  })

  it("reconnects after the last event when the connection breaks or ends", async () => {
    const states: Array<string> = []
    const service = serviceOf(
      () => streaming([delta(1)], true),
      () => streaming([delta(1), delta(2)]),
      () => run("running", 2),
      () => refusing(503, "overloaded"),
      () => streaming([completed(3)])
    )
    const onConnection = (state: string) => void states.push(state)
    assert.deepStrictEqual(await seqsOf(service, { onConnection }), [1, 2, 3])
    assert.deepStrictEqual(service.paths(), [
      eventsPath(0),
      eventsPath(1),
      runPath,
      eventsPath(2),
      eventsPath(2)
    ])
    assert.deepStrictEqual(states, ["live", "lost", "live", "lost", "live"])
  })

  it("ends when the run has already ended", async () => {
    const service = serviceOf(
      () => streaming([]),
      () => run("failed", 9)
    )
    assert.deepStrictEqual(await seqsOf(service, { after: 9 }), [])
    assert.deepStrictEqual(service.paths(), [eventsPath(9), runPath])
  })

  it("reports events that were not sent", async () => {
    const service = serviceOf(() => streaming([delta(1), completed(4)]))
    const edge = edgeClient({ url: "http://127.0.0.1:1", fetch: service.fetch })
    const events: Array<SequencedEvent> = []
    for await (const event of edge.runEvents(runId)) events.push(event)
    assert.deepInclude(events[1]?.missing, { from: 2, to: 3 })
  })

  it.each([
    [401, "unauthorized"],
    [403, "permission_denied"],
    [404, "not_found"],
    [422, "schema_validation_failed"]
  ])("fails with the error of a refusal with %i, without a retry", async (status, code) => {
    const service = serviceOf(() => refusing(status, code, { hint: "x" }))
    const error = await failureOf(seqsOf(service))
    const { details, message, requestId } = error
    assert.deepStrictEqual(
      [error.code, error.status, message, requestId, details],
      [code as never, status, `Refused with ${code}.`, "req_1", { hint: "x" }]
    )
    assert.strictEqual(service.requests.length, 1)
  })

  it("fails with replay_gap when events are no longer kept", async () => {
    const service = serviceOf(() => refusing(409, "conflict", { reason: "replay_gap" }))
    assert.strictEqual((await failureOf(seqsOf(service, { after: 5 }))).code, "replay_gap")
    assert.deepStrictEqual(service.paths(), [eventsPath(5)])
  })

  it("continues after a gap that the caller accepts", async () => {
    const gaps: Array<unknown> = []
    const service = serviceOf(
      () => refusing(409, "conflict", { reason: "replay_gap" }),
      () => run("running", 7),
      () => streaming([completed(8)])
    )
    const onGap: RunEventOptions<Run>["onGap"] = ({ from, to }, { state }) =>
      void gaps.push([from, to, state])
    assert.deepStrictEqual(await seqsOf(service, { after: 5, onGap }), [8])
    assert.deepStrictEqual(gaps, [[6, 7, "running"]])
    assert.deepStrictEqual(service.paths(), [eventsPath(5), runPath, eventsPath(7)])
  })

  it("fails as unreachable after the given number of failed connections in a row", async () => {
    const service = serviceOf(() => streaming([delta(1)], true))
    assert.strictEqual((await failureOf(seqsOf(service, { maxFailures: 3 }))).code, "unreachable")
    assert.strictEqual(service.requests.length, 4)
  })

  it("ends the request when the caller stops, and fails with the reason when the caller aborts", async () => {
    const cancelled = Promise.withResolvers<void>()
    const endless = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode(delta(1))),
          cancel: () => cancelled.resolve()
        })
      )
    const edge = edgeClient({ url: "http://127.0.0.1:1", fetch: serviceOf(endless).fetch })
    for await (const _ of edge.runEvents(runId)) break
    await cancelled.promise

    const stop = new AbortController()
    const wait = async () => stop.abort("enough")
    const reading = seqsOf(serviceOf(), { signal: stop.signal, wait })
    assert.strictEqual(await reading.catch((reason: unknown) => reason), "enough")
  })

  it("folds events into a view that shows a gap", async () => {
    const service = serviceOf(
      () => streaming([delta(1), delta(2)], true),
      () => refusing(409, "conflict", { reason: "replay_gap" }),
      () => run("completed", 9),
      () => streaming([]),
      () => run("completed", 9)
    )
    const edge = edgeClient({ url: "http://127.0.0.1:1", fetch: service.fetch })
    const kinds: Array<ReadonlyArray<string>> = []
    for await (const view of edge.runView(runId, { wait: noWait }))
      kinds.push(view.blocks.map(({ kind }) => kind))
    assert.deepStrictEqual(kinds, [["message"], ["message"], ["message", "gap"]])
  })
})
