/** Raw request body: the bytes as sent, because signatures are made over bytes. */
import { Effect } from "effect"
import type { IncomingMessage } from "node:http"

/** `TooLarge`: the body is over the limit and was discarded. `Late`: the body is incomplete after the timeout. */
export type RawBody =
  | { readonly _tag: "Complete"; readonly bytes: Buffer }
  | { readonly _tag: "TooLarge" }
  | { readonly _tag: "Late" }

/** Reads a body of up to `limit` bytes. A body over the limit is read to its end, so that the client reads the response. */
export const readRawBody = (
  request: IncomingMessage,
  limit: number,
  timeoutMs: number
): Effect.Effect<RawBody> =>
  Effect.callback((resume) => {
    let parts: Array<Buffer> = []
    let length = 0
    const finish = (body: RawBody) => {
      stop()
      resume(Effect.succeed(body))
    }
    const onData = (part: Buffer) => {
      length += part.length
      if (length > limit) parts = []
      else parts.push(part)
    }
    const onEnd = () =>
      finish(
        length > limit ? { _tag: "TooLarge" } : { _tag: "Complete", bytes: Buffer.concat(parts, length) }
      )
    const timer = setTimeout(() => finish({ _tag: length > limit ? "TooLarge" : "Late" }), timeoutMs)
    const stop = () => {
      clearTimeout(timer)
      request.off("data", onData)
      request.off("end", onEnd)
    }
    request.on("error", () => undefined)
    request.on("data", onData)
    request.once("end", onEnd)
    return Effect.sync(stop)
  })
