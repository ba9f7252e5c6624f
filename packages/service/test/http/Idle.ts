/** Connections that send something, or nothing, and then wait. */
import { connect, type Socket } from "node:net"
import { within } from "@corral/testing/time/Until"

export interface ReceivedBytes {
  readonly text: string
  /** Of the first answer; `undefined` where the connection was closed without one. */
  readonly status: number | undefined
}

/** Sends the bytes, and gives all that is answered until the server closes. */
export const receiveAll = async (
  port: number,
  bytes: string | Uint8Array,
  seconds: number
): Promise<ReceivedBytes> => {
  const socket: Socket = connect(port, "127.0.0.1")
  const chunks: Array<Buffer> = []
  const closed = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", () => undefined)
    // Half-open: the client does not close the connection first.
    socket.once("close", () => resolve())
  })
  if (bytes.length > 0) socket.write(bytes)
  try {
    await within(closed, seconds * 1_000, "the end of an idle connection")
  } finally {
    socket.destroy()
  }
  const text = Buffer.concat(chunks).toString("latin1")
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1]
  return { text, status: status === undefined ? undefined : Number(status) }
}
