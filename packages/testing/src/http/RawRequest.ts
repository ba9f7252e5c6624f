/**
 * A request written byte by byte, for what no HTTP client would send; and sockets that ask and then leave the other side waiting.
 */
import { connect, type Socket } from "node:net"
import type { Answer } from "./Contract.ts"
import { within } from "../time/Until.ts"

/** Head lines (the request line first) and a body, as one message. */
export const message = (lines: ReadonlyArray<string>, body = ""): string => [...lines, "", body].join("\r\n")

const parse = (bytes: Buffer): Answer | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const body = bytes.subarray(end + 4)
  const length = Number(headers.get("content-length") ?? 0)
  if (body.length < length) return undefined
  const text = body.subarray(0, length).toString("utf8")
  return { status: Number(first.split(" ")[1]), headers, text, body: jsonOf(text) }
}

/** `undefined` where the text is no JSON. */
const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const opened = (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => undefined)
  return within(
    new Promise((resolve) => socket.once("connect", () => resolve(socket))),
    10_000,
    "a connection"
  )
}

/** Sends the bytes and gives the first answer to them. */
export const sendRaw = async (port: number, bytes: string | Iterable<string>): Promise<Answer> => {
  const socket = await opened(port)
  try {
    const answer = new Promise<Answer>((resolve, reject) => {
      let all = Buffer.alloc(0)
      socket.on("data", (chunk: Buffer) => {
        all = Buffer.concat([all, chunk])
        const found = parse(all)
        if (found !== undefined) resolve(found)
      })
      socket.once("close", () => reject(new Error(`closed after ${all.length} bytes without a whole answer`)))
    })
    for (const part of typeof bytes === "string" ? [bytes] : bytes) {
      if (!socket.destroyed) socket.write(part)
    }
    return await within(answer, 10_000, "an answer")
  } finally {
    socket.destroy()
  }
}

/** Sends the bytes and keeps the connection, reading nothing. */
export const sendAndHold = async (port: number, bytes: string): Promise<Socket> => {
  const socket = await opened(port)
  socket.pause()
  socket.write(bytes)
  return socket
}
