/**
 * The Edge's end of a connection to the holder.
 *
 * All connections share one buffer, because each read is processed before the next one: a connection without data holds no memory for
 * reads. Payloads are valid until their handler returns.
 */
import { connect, type Socket } from "node:net"
import { FrameReader, frameTypes } from "./HolderFrames.ts"

export interface HolderSocketHandlers {
  readonly onFrame: (type: number, payload: Buffer) => void
  /** A part of the program's output. */
  readonly onData?: (piece: Buffer) => void
  /** Called once. */
  readonly onClose: (reason: NodeJS.ErrnoException) => void
}

/** A reason that is not of the operating system. Without a code, the holder has ended. */
const problem = (message: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code: "PROTOCOL" })

const READ_BYTES = 65_536
let shared: Buffer | undefined

export const connectSocket = (path: string, handlers: HolderSocketHandlers): Socket => {
  shared ??= Buffer.allocUnsafeSlow(READ_BYTES)
  // An error keeps what its stack has: none is made before there is a reason.
  let reason: NodeJS.ErrnoException | undefined
  const reader = new FrameReader(
    {
      onFrame: (type, payload) => {
        if (type !== frameTypes.refused) return handlers.onFrame(type, payload)
        reason = problem(`the holder refused: ${payload.toString("utf8")}`)
      },
      ...(handlers.onData === undefined ? {} : { onPiece: handlers.onData }),
      onInvalid: (bytes) => socket.destroy(problem(`the holder sent ${bytes}`))
    },
    { streamed: frameTypes.data }
  )
  const socket = connect({
    path,
    onread: {
      buffer: shared,
      callback: (count, bytes) => {
        reader.push(Buffer.from(bytes.buffer, bytes.byteOffset, count))
        return true
      }
    }
  })
  socket.on("error", (error) => (reason = error))
  socket.once("close", () => {
    reader.stop()
    handlers.onClose(reason ?? new Error("the holder closed the connection"))
  })
  return socket
}
