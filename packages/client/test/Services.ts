/** A service in memory: a `fetch` with one response after the other, which records its requests. */
import { eventIdOf, type RunId } from "@corral/domain/identity/Ids"
import { draft, type EventType, type PayloadOf } from "@corral/domain/run/RunEvent"

export const runId = "run_01K00000000000000000000000" as RunId

/** One event as the services send it. */
export const sent = <T extends EventType>(seq: number, type: T, payload: PayloadOf<T>): string => {
  const event = draft(type, payload)
  const data = JSON.stringify({
    id: eventIdOf(runId, seq),
    seq,
    type: event.type,
    runId,
    createdAt: "2026-01-01T00:00:00.000Z",
    payload: { v: 1, ...event.payload }
  })
  return `id: ${seq}\ndata: ${data}\n\n`
}

export const delta = (seq: number): string =>
  sent(seq, "run.message.delta", { messageId: "m", channel: "text", text: `${seq}` })
export const completed = (seq: number): string => sent(seq, "run.completed", {})

/** A stream that sends these pieces, then ends or breaks. */
export const streaming = (pieces: ReadonlyArray<string>, breaks = false): Response => {
  const waiting = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const piece = waiting.shift()
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece))
      else if (breaks) controller.error(new Error("connection reset"))
      else controller.close()
    }
  })
  return new Response(body, { headers: { "content-type": "text/event-stream" } })
}

export const refusing = (status: number, code: string, details?: object): Response =>
  Response.json({ code, message: `Refused with ${code}.`, requestId: "req_1", details }, { status })

export const run = (state: string, lastSeq: number): Response =>
  Response.json({ id: runId, state, lastSeq, updatedAt: "2026-01-01T00:00:00.000Z" })

export interface RecordedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: unknown
  readonly redirect: RequestRedirect | undefined
}

/** `visits` handle the requests in their order. A request without one fails. */
export const serviceOf = (...visits: ReadonlyArray<() => Response | Promise<Response>>) => {
  const requests: Array<RecordedRequest> = []
  const send: typeof fetch = async (input, init = {}) => {
    const { pathname, search } = new URL(String(input))
    requests.push({
      method: init.method ?? "GET",
      path: pathname + search,
      headers: new Headers(init.headers),
      body: init.body,
      redirect: init.redirect
    })
    init.signal?.throwIfAborted()
    const visit = visits[requests.length - 1]
    if (visit === undefined) throw new TypeError("connection refused")
    return visit()
  }
  return { requests, fetch: send, paths: () => requests.map(({ path }) => path) }
}
