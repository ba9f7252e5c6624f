/** A dev server for one test: what it answers is the test's, and it goes with the test. */
import { onTestFinished } from "@effect/vitest"
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { WebSocketServer } from "ws"

export interface Upstream {
  readonly server: Server
  readonly port: number
  readonly stop: () => Promise<void>
}

export const openUpstream = async (
  listener: RequestListener,
  { host = "127.0.0.1", port = 0 } = {}
): Promise<Upstream> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const sockets = new Set<Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  // Upgraded ones too.
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  onTestFinished(() => (server.listening ? stop() : undefined))
  return { server, port: (server.address() as AddressInfo).port, stop }
}

/** Echoes what it is sent, after it has said hello; `seen` are the heads of the handshakes. */
export const echo = ({ server }: Upstream): { readonly seen: Array<Record<string, unknown>> } => {
  const seen: Array<Record<string, unknown>> = []
  const sockets = new WebSocketServer({ server, path: "/hmr" })
  sockets.on("connection", (socket, { headers, url }) => {
    seen.push({ url, host: headers.host, origin: headers.origin, cookie: headers.cookie })
    socket.send("hello")
    socket.on("message", (data, binary) => socket.send(data, { binary }))
  })
  return { seen }
}
