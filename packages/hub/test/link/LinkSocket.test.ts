import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { WebSocket, WebSocketServer } from "ws"
import { within } from "@corral/testing/time/Until"
import { LinkSocket } from "../../src/link/LinkSocket.ts"

/** A real socket as the server holds it from time 0 on, and its other end. */
const pair = async (autoPong: boolean) => {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 })
  onTestFinished(() => server.close())
  await once(server, "listening")
  const connected = once(server, "connection") as Promise<[WebSocket, IncomingMessage]>
  const peer = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, { autoPong })
  onTestFinished(() => peer.terminate())
  const closed = new Promise<number>((resolve) => peer.once("close", resolve))
  const opened = once(peer, "open")
  const [accepted, { socket: stream }] = await connected
  await opened
  return { own: accepted, peer, closed, socket: new LinkSocket(accepted, stream, 0) }
}

describe("LinkSocket", () => {
  it("terminates a peer that answers no ping for 25 s", async () => {
    const { closed, peer, socket } = await pair(false)
    const pinged = once(peer, "ping")
    socket.tick(10_000)
    await within(pinged, 5_000, "a ping")
    socket.tick(25_000)
    assert.strictEqual(peer.readyState, WebSocket.OPEN)
    socket.tick(25_001)
    assert.strictEqual(await within(closed, 5_000, "the end"), 1006)
  })

  it("pings every 10 s and stays open while the peer answers", async () => {
    const { own, peer, socket } = await pair(true)
    let pings = 0
    peer.on("ping", () => pings++)
    for (const at of [10_000, 20_000, 30_000, 40_000]) {
      socket.tick(at - 1)
      const answered = once(own, "pong")
      socket.tick(at)
      await within(answered, 5_000, "a pong")
    }
    assert.strictEqual(pings, 4)
    assert.strictEqual(peer.readyState, WebSocket.OPEN)
  })

  it("limits received data until the proof", async () => {
    const frame = "x".repeat(600_000)
    const unproved = await pair(true)
    unproved.peer.send(frame)
    unproved.peer.send(frame)
    assert.strictEqual(await within(unproved.closed, 5_000, "the end"), 1006)
    const proved = await pair(true)
    proved.socket.markProved()
    let received = 0
    const both = new Promise<void>((resolve) => proved.own.on("message", () => ++received === 2 && resolve()))
    proved.peer.send(frame)
    proved.peer.send(frame)
    await within(both, 5_000, "both frames")
  })

  it("closes with a code, and terminates a peer that does not close", async () => {
    const { closed, socket } = await pair(true)
    socket.end(4409, "a newer link")
    assert.strictEqual(await within(closed, 5_000, "the end"), 4409)
    const silentPair = await pair(true)
    silentPair.peer.pause()
    silentPair.socket.end(4409, "a newer link")
    const exit = once(silentPair.own, "close")
    for (const at of [1_000, 2_000, 3_000]) silentPair.socket.tick(at)
    await within(exit, 5_000, "the end by force")
  })
})
