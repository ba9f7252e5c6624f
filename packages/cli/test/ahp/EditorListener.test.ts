/** The listener of `corral ahp` with real editors and a real service: what it refuses before the upgrade, and what it passes on. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import { within, until } from "@corral/testing/time/Until"
import { Effect, Exit, Scope } from "effect"
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { type RawData, WebSocket, WebSocketServer } from "ws"
import { refused } from "../../src/CommandFailed.ts"
import { serveEditors, type EditorListenerOptions } from "../../src/ahp/EditorListener.ts"

const TOKEN = "a".repeat(43)

const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A service that accepts this authorization. */
const openService = async (authorization = "Bearer person") => {
  const sockets: Array<WebSocket> = []
  const requests: Array<IncomingMessage> = []
  const handshakes = new WebSocketServer({ noServer: true })
  const server = createServer()
  server.on("upgrade", (request, stream, head) => {
    requests.push(request)
    if (request.headers.authorization !== authorization) {
      stream.end("HTTP/1.1 401 Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
      return
    }
    handshakes.handleUpgrade(request, stream, head, (socket) => void sockets.push(socket))
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  closers.push(async () => {
    for (const socket of sockets) socket.terminate()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { sockets, requests, url: `ws://127.0.0.1:${port}/client/ahp?workspace=site` }
}

const listen = async (service: EditorListenerOptions["service"]) => {
  const lines: Array<string> = []
  const scope = Scope.makeUnsafe()
  const options = { port: 0, token: TOKEN, service, report: (line: string) => void lines.push(line) }
  const port = await Effect.runPromise(Scope.provide(serveEditors(options), scope))
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  closers.push(close)
  return { lines, port, close }
}

const accepting = (url: string, authorization = "Bearer person") =>
  Effect.succeed({ name: `the Hub at ${url}`, url, authorization })

interface Editor {
  readonly socket: WebSocket
  readonly received: ReadonlyArray<string>
  readonly closed: Promise<readonly [code: number, reason: string]>
}

const openEditor = async (port: number, token = TOKEN): Promise<Editor> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/?tkn=${token}`)
  const received: Array<string> = []
  socket.on("message", (data: RawData) => void received.push(String(data)))
  const closed = new Promise<readonly [number, string]>((resolve) =>
    socket.once("close", (code: number, reason: Buffer) => resolve([code, reason.toString("utf8")]))
  )
  await within(once(socket, "open"), 10_000, "the editor's connection")
  closers.push(async () => socket.terminate())
  return { socket, received, closed }
}

/** Status and code of a refused upgrade. */
const refusal = async (
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Promise<readonly [number | undefined, unknown]> => {
  const socket = new WebSocket(url, { headers })
  socket.on("error", () => undefined)
  const answer = new Promise<readonly [number | undefined, unknown]>((resolve, reject) => {
    socket.once("open", () => reject(new Error("it was not refused")))
    socket.once("unexpected-response", (_, response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.once("end", () => resolve([response.statusCode, JSON.parse(text).code]))
    })
  })
  return within(answer, 10_000, "the refusal")
}

describe("serveEditors", () => {
  it("refuses a missing or wrong token with 403 before the upgrade, and asks no service", async () => {
    const service = await openService()
    const { port } = await listen(accepting(service.url))
    for (const query of ["", "?tkn=", `?tkn=${"b".repeat(43)}`, `?tkn=${TOKEN}x`, `?token=${TOKEN}`])
      assert.deepStrictEqual(
        await refusal(`ws://127.0.0.1:${port}/${query}`),
        [403, "permission_denied"],
        query
      )
    assert.deepStrictEqual(service.requests, [])
  })

  it("refuses web pages, other names of this machine and other paths also with the token", async () => {
    const service = await openService()
    const { port } = await listen(accepting(service.url))
    const url = `ws://127.0.0.1:${port}/?tkn=${TOKEN}`
    for (const origin of ["https://evil.example", "http://127.0.0.1:3000", "null"])
      assert.deepStrictEqual(await refusal(url, { origin }), [403, "permission_denied"], origin)
    assert.deepStrictEqual(await refusal(url, { host: `evil.example:${port}` }), [403, "permission_denied"])
    assert.deepStrictEqual(await refusal(`ws://127.0.0.1:${port}/ahp?tkn=${TOKEN}`), [404, "not_found"])
    const plain = await fetch(`http://127.0.0.1:${port}/?tkn=${TOKEN}`)
    assert.strictEqual(plain.status, 426)
    assert.deepStrictEqual(service.requests, [])
  })

  it("writes one line for each kind of refusal in the terminal", async () => {
    const service = await openService()
    const { lines, port } = await listen(accepting(service.url))
    const right = `ws://127.0.0.1:${port}/?tkn=${TOKEN}`
    for (let attempt = 0; attempt < 3; attempt++) {
      await refusal(`ws://127.0.0.1:${port}/?tkn=${"b".repeat(43)}`)
      await refusal(right, { origin: "https://evil.example" })
      await refusal(right, { host: `evil.example:${port}` })
      await refusal(`ws://127.0.0.1:${port}/ahp?tkn=${TOKEN}`)
    }
    assert.deepStrictEqual(lines, [
      "A connection was refused. The token is missing or wrong. Use the one that `corral ahp` prints.",
      "A connection was refused. Web pages can't connect to the listener.",
      `A connection was refused. The address is not one of 127.0.0.1:${port}, localhost:${port}, [::1]:${port}.`,
      "A connection was refused. The address has a path."
    ])
  })

  it("writes a line when the service is lost and another one when an editor is connected again", async () => {
    const service = await openService()
    let url = service.url
    const { lines, port } = await listen(Effect.suspend(() => accepting(url)))
    await openEditor(port)
    assert.deepStrictEqual(lines, [])
    url = "ws://127.0.0.1:1/"
    const address = `ws://127.0.0.1:${port}/?tkn=${TOKEN}`
    const lost = `Can't reach the Hub at ${url}. Check that it is running. The editor tries again.`
    for (let attempt = 0; attempt < 3; attempt++) await refusal(address)
    assert.deepStrictEqual(lines, [lost])
    url = service.url
    await openEditor(port)
    assert.deepStrictEqual(lines, [lost, "An editor is connected."])
    url = "ws://127.0.0.1:1/"
    await refusal(address)
    assert.deepStrictEqual(lines, [lost, "An editor is connected.", lost])
  })

  it("connects with the sign-in of the terminal, which the editor does not see, and passes messages on", async () => {
    const service = await openService()
    const { port } = await listen(accepting(service.url))
    const editor = await openEditor(port)
    const [request] = service.requests
    assert.strictEqual(request?.url, "/client/ahp?workspace=site")
    assert.strictEqual(request?.headers.authorization, "Bearer person")
    const socket = await until(async () => service.sockets[0], "the service's connection")
    const seen: Array<string> = []
    socket.on("message", (data: RawData) => void seen.push(String(data)))
    const texts = Array.from({ length: 200 }, (_, i) => JSON.stringify({ id: i, text: "é😀" }))
    for (const text of texts) editor.socket.send(text)
    for (const text of texts) socket.send(text)
    await until(
      async () => (seen.length === 200 && editor.received.length === 200) || undefined,
      "all messages"
    )
    assert.deepStrictEqual([seen, editor.received], [texts, texts])
  })

  it("refuses the upgrade if the service does, and says in the terminal what to do", async () => {
    const service = await openService()
    const { lines, port } = await listen(accepting(service.url, "Bearer expired"))
    assert.deepStrictEqual(await refusal(`ws://127.0.0.1:${port}/?tkn=${TOKEN}`), [401, "unauthorized"])
    assert.deepStrictEqual(lines, [
      `An editor was refused by the Hub at ${service.url}, which does not accept the sign-in of this terminal. Sign in again with \`corral login\`.`
    ])
  })

  it("refuses the upgrade while no service is reached, and takes the next one", async () => {
    const service = await openService()
    let url: string | undefined
    const { lines, port } = await listen(
      Effect.suspend(() =>
        url === undefined ? Effect.fail(refused("No Edge is running on this machine.")) : accepting(url)
      )
    )
    const address = `ws://127.0.0.1:${port}/?tkn=${TOKEN}`
    assert.deepStrictEqual(await refusal(address), [503, "overloaded"])
    assert.deepStrictEqual(lines, ["No Edge is running on this machine."])
    url = "ws://127.0.0.1:1/"
    assert.deepStrictEqual(await refusal(address), [503, "overloaded"])
    assert.match(lines.at(-1) ?? "", /^Can't reach the Hub at ws:\/\/127\.0\.0\.1:1\/\. /)
    url = service.url
    await openEditor(port)
  })

  it("ends the editor's connection as the service ends its own, and the other way around", async () => {
    const service = await openService()
    const { port } = await listen(accepting(service.url))
    const [first, second, third] = [await openEditor(port), await openEditor(port), await openEditor(port)]
    const [one, two, three] = await until(
      async () => (service.sockets.length === 3 ? service.sockets : undefined),
      "the service's connections"
    )
    one?.close(4401, "the sign-in has ended")
    assert.deepStrictEqual(await within(first.closed, 5_000, "the end"), [4401, "the sign-in has ended"])
    two?.terminate()
    assert.deepStrictEqual(await within(second.closed, 5_000, "the end"), [1006, ""])
    const closed = once(three ?? service.sockets[2] ?? new WebSocket(null), "close")
    third.socket.close(1000)
    const [code] = await within(closed, 5_000, "the end at the service")
    assert.strictEqual(code, 1000)
  })

  it("ends all connections with 1001 when it stops", async () => {
    const service = await openService()
    const { close, port } = await listen(accepting(service.url))
    const editor = await openEditor(port)
    await close()
    assert.deepStrictEqual(await within(editor.closed, 5_000, "the end"), [1001, "corral ahp has ended"])
  })

  it("serves 32 connections at a time and refuses another", async () => {
    const service = await openService()
    const { port } = await listen(accepting(service.url))
    const editors = await Promise.all(Array.from({ length: 32 }, () => openEditor(port)))
    const address = `ws://127.0.0.1:${port}/?tkn=${TOKEN}`
    assert.deepStrictEqual(await refusal(address), [503, "overloaded"])
    const [first] = editors
    first?.socket.close()
    await first?.closed
    const another = await until(async () => {
      const socket = new WebSocket(address)
      return new Promise<WebSocket | undefined>((resolve) => {
        socket.once("open", () => resolve(socket))
        socket.once("error", () => resolve(undefined))
      })
    }, "a free place")
    another.terminate()
  })

  it("stops reading the service while an editor reads nothing, in bounded memory", async () => {
    const service = await openService()
    const { port } = await listen(accepting(service.url))
    const editor = await openEditor(port)
    const socket = await until(async () => service.sockets[0], "the service's connection")
    editor.socket.pause()
    const part = "x".repeat(1_048_576)
    const parts = 96
    let sent = 0
    const sendNext = (): void => {
      if (sent < parts) socket.send(part, sendNext)
      sent++
    }
    sendNext()
    let before = 0
    await until(async () => {
      const isHeld = sent > 4 && sent === before
      before = sent
      return isHeld || undefined
    }, "a service that waits")
    // What the kernel and the listener hold is a fraction of all parts.
    assert.isBelow(sent, parts / 2)
    editor.socket.resume()
    await until(async () => editor.received.length === parts || undefined, "all parts", 20_000)
  })
})
