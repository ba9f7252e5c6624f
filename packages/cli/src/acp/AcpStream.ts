/**
 * Messages of the Agent Client Protocol on byte streams, one JSON object a line.
 *
 * Guarantees: a line that is too long, not JSON or not an object has one error as its answer, and the next line is read. Memory is bounded: the
 * length of a line, and the requests that have no answer yet. A message is written before the next one is accepted.
 */
import { type AnyMessage, RequestError, type Stream } from "@agentclientprotocol/sdk"

/** A prompt with the largest file, as base64. */
const MAX_LINE_BYTES = 32 * 1_048_576
/** Requests without an answer. */
const MAX_OPEN_REQUESTS = 256
const NEWLINE = 0x0a

export interface ByteStreams {
  readonly input: AsyncIterable<Uint8Array>
  /** Completes when the reader has the bytes, or the system has. */
  readonly write: (bytes: Uint8Array) => Promise<void>
}

interface Refusal {
  readonly refusal: RequestError
}

const tooLong: Refusal = {
  refusal: RequestError.invalidRequest(
    undefined,
    `A message can have up to ${MAX_LINE_BYTES / 1_048_576} MiB.`
  )
}

/** A line as a message; `undefined` if it is empty. */
const messageOf = (line: Buffer): AnyMessage | Refusal | undefined => {
  const text = line.toString("utf8").trim()
  if (text === "") return undefined
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return { refusal: RequestError.parseError(undefined, "The line is not JSON.") }
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    return { refusal: RequestError.invalidRequest(undefined, "A message is one JSON object.") }
  // The connection checks the parts of a message.
  return parsed as AnyMessage
}

/** Lines of bytes. A line that is too long is dropped, and reported once. */
class Lines {
  private parts: Array<Buffer> = []
  private bytes = 0
  private isTooLong = false

  take(): Buffer | Refusal {
    const line = this.isTooLong ? tooLong : Buffer.concat(this.parts)
    this.parts = []
    this.bytes = 0
    this.isTooLong = false
    return line
  }

  *push(chunk: Uint8Array): Generator<Buffer | Refusal> {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      this.add(rest.subarray(0, end))
      rest = rest.subarray(end + 1)
      yield this.take()
    }
    this.add(rest)
  }

  private add(part: Buffer): void {
    if (this.isTooLong || part.length === 0) return
    this.bytes += part.length
    if (this.bytes > MAX_LINE_BYTES) {
      this.isTooLong = true
      this.parts = []
    } else this.parts.push(part)
  }
}

const errorAnswer = (id: unknown, refusal: RequestError): AnyMessage =>
  ({ jsonrpc: "2.0", id: id ?? null, error: refusal.toErrorResponse() }) as AnyMessage // a response

const idOfRequest = (message: AnyMessage): unknown =>
  "method" in message && "id" in message ? message.id : undefined

/** Stream of one connection. */
export const acpStream = ({ input, write: writeBytes }: ByteStreams): Stream => {
  const write = (message: AnyMessage) => writeBytes(Buffer.from(`${JSON.stringify(message)}\n`))
  const open = new Set<unknown>()
  const lines = new Lines()

  /** The message, if the connection gets it. */
  const accept = async (line: Buffer | Refusal): Promise<AnyMessage | undefined> => {
    const message = "refusal" in line ? line : messageOf(line)
    if (message === undefined) return undefined
    if ("refusal" in message) {
      await write(errorAnswer(null, message.refusal))
      return undefined
    }
    const id = idOfRequest(message)
    if (id === undefined) return message
    if (open.size >= MAX_OPEN_REQUESTS) {
      const refusal = RequestError.internalError(
        undefined,
        `Up to ${MAX_OPEN_REQUESTS} requests can be open at a time.`
      )
      await write(errorAnswer(id, refusal))
      return undefined
    }
    open.add(id)
    return message
  }

  const messages = async function* (): AsyncGenerator<AnyMessage> {
    for await (const chunk of input)
      for (const line of lines.push(chunk)) {
        const message = await accept(line)
        if (message !== undefined) yield message
      }
    const last = await accept(lines.take())
    if (last !== undefined) yield last
  }
  const received = messages()
  return {
    readable: new ReadableStream<AnyMessage>(
      {
        pull: async (controller) => {
          const { done, value } = await received.next()
          if (done === true) controller.close()
          else controller.enqueue(value)
        },
        cancel: () => void received.return(undefined)
      },
      { highWaterMark: 0 }
    ),
    writable: new WritableStream<AnyMessage>({
      write: (message) => {
        if (!("method" in message) && "id" in message) open.delete(message.id)
        return write(message)
      }
    })
  }
}
