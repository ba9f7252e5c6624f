/** A body as the bytes that came, up to a size. */
import type { IncomingMessage } from "node:http"

/** Calls once: with the bytes, with "too_large" as soon as there are too many, or not at all where the client has gone. */
export const readBody = (
  request: IncomingMessage,
  limit: number,
  then: (body: Buffer | "too_large") => void
): void => {
  let parts: Array<Buffer> = []
  let length = 0
  const onData = (part: Buffer) => {
    length += part.length
    parts.push(part)
    if (length <= limit) return
    request.off("data", onData)
    request.off("end", onEnd)
    parts = []
    then("too_large")
  }
  const onEnd = () => then(Buffer.concat(parts, length))
  request.on("error", () => undefined)
  request.on("data", onData)
  request.once("end", onEnd)
}
