/**
 * Two WebSockets joined as one: what an editor sends goes to the service, and the other way around, message by message.
 *
 * Guarantees: bounded memory, because a side is not read while the other one is full. When one side ends, the other one ends with the same code. A
 * service that is silent for two checks ends both.
 *
 * Does not: read messages.
 */
import { Effect } from "effect"
import type { WebSocket } from "ws"

/** Bytes that wait for a side. Beyond the first, the other side is not read until there are fewer than the second. */
const FULL_BYTES = 4 * 1_048_576
const ROOM_BYTES = 1_048_576

/** No answer from the other side: a code that only programs see, never the wire. */
const NO_CODE = 1005
const ABNORMAL = 1006

/** RFC 6455: codes that an endpoint may send. */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_CODE && code !== ABNORMAL) ||
  (code >= 3000 && code <= 4999)

const closeLike = (socket: WebSocket, code: number, reason: Buffer): void => {
  if (code === ABNORMAL) socket.terminate()
  else if (isSendable(code)) socket.close(code, reason)
  else socket.close()
}

const forward = (from: WebSocket, to: WebSocket): void => {
  const resume = () => {
    if (from.isPaused && to.bufferedAmount <= ROOM_BYTES) from.resume()
  }
  // Either side reports its errors by its end.
  from.on("error", () => undefined)
  from.on("message", (data, isBinary) => {
    to.send(data, { binary: isBinary }, resume)
    if (to.bufferedAmount > FULL_BYTES) from.pause()
  })
  from.once("close", (code: number, reason: Buffer) => closeLike(to, code, reason))
}

export class EditorBridge {
  private readonly editor: WebSocket
  private readonly service: WebSocket
  private isAlive = true

  constructor(editor: WebSocket, service: WebSocket) {
    this.editor = editor
    this.service = service
    forward(editor, service)
    forward(service, editor)
    service.on("pong", () => (this.isAlive = true))
  }

  /** Ends the connection of a service that has not answered since the last check. Called regularly. */
  check(): void {
    if (!this.isAlive) return this.service.terminate()
    this.isAlive = false
    // A paused socket reads no answer either.
    if (this.service.isPaused) this.isAlive = true
    else this.service.ping()
  }

  /** Ends both sides. Succeeds when the editor has answered. */
  end(code: number, reason: string): Effect.Effect<void> {
    return Effect.callback((resume) => {
      this.editor.once("close", () => resume(Effect.void))
      this.service.close(code)
      this.editor.close(code, reason)
    })
  }

  terminate(): void {
    this.service.terminate()
    this.editor.terminate()
  }
}
