#!/usr/bin/env node
/**
 * The bridge to `opencode serve`: an HTTP server of a run, driven over stdin and stdout.
 *
 *   node opencode-bridge.mjs PROGRAM      PROGRAM is OpenCode. The working directory is the workspace
 *
 * It starts the server on loopback with a random password, subscribes to its events, and then reads requests.
 *
 * Host → bridge, one JSON object a line:
 *   {"id","method","path","body"?}                                   a request to the server
 *
 * Bridge → host, one JSON object a line:
 *   {"type":"bridge.response","properties":{"id","status","body"}}   its response; `body` is parsed JSON, or a text
 *   {"id","type","properties"}                                       an event, as the server sent it
 *
 * Guarantees: no request is sent before the events are subscribed to. Requests are sent in order, one at a time. The server ends when stdin ends,
 * when the bridge receives a signal, and at the latest with the process group. Commands do not inherit the password.
 * Does not: interpret an event, keep a state, or use a proxy. It speaks HTTP/1.0 over a socket, because Node's HTTP client costs 15 MB.
 */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { connect } from "node:net"
import { createInterface } from "node:readline"

const USER = "opencode"
const HOST = "127.0.0.1"
/** Time that the server has to end after SIGTERM, in milliseconds. */
const GRACE_MS = 2_000
const PLUGIN = new URL("./opencode-plugin.mjs", import.meta.url).href
const LISTENING = /listening on http:\/\/[^\s:]+:(\d+)/

const [program = "opencode"] = process.argv.slice(2)
const password = randomBytes(32).toString("base64url")
const authorization = `Basic ${Buffer.from(`${USER}:${password}`).toString("base64")}`

/** The configuration of the environment, with the plugin that keeps the password from commands. */
const configuration = (text) => {
  const { plugin = [], ...others } = JSON.parse(text)
  return JSON.stringify({ ...others, plugin: [...plugin, PLUGIN] })
}

const server = spawn(program, ["serve", "--hostname", HOST, "--port", "0"], {
  env: {
    ...process.env,
    OPENCODE_CONFIG_CONTENT: configuration(process.env.OPENCODE_CONFIG_CONTENT || "{}"),
    OPENCODE_SERVER_USERNAME: USER,
    OPENCODE_SERVER_PASSWORD: password
  },
  stdio: ["ignore", "pipe", "inherit"]
})

let isLeaving = false
/** Ends the server, then this program. */
const leave = (code) => {
  if (isLeaving) return
  isLeaving = true
  process.exitCode = code
  if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) process.exit()
  server.once("exit", () => process.exit())
  server.kill("SIGTERM")
  setTimeout(() => server.kill("SIGKILL"), GRACE_MS)
}

const fail = (message) => {
  if (isLeaving) return
  process.stderr.write(`${message}\n`)
  leave(1)
}

server.once("error", (error) => fail(`${program}: ${error.message}`))
server.once("exit", (code, signal) => fail(`${program} serve ended (${signal ?? code}).`))
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => leave(143))
process.stdout.on("error", () => leave(1))

const print = (line) => process.stdout.write(`${line}\n`)

/** Resolves with the port that the server prints. */
const listening = () =>
  new Promise((resolve) => {
    createInterface({ input: server.stdout }).on("line", (line) => {
      const port = LISTENING.exec(line)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
  })

/** Resolves with the status when the response's head was read; `onText` receives the body in pieces, then `undefined`. */
const call = (port, { method, path, body }, onText) =>
  new Promise((resolve, reject) => {
    const sent = body === undefined ? "" : JSON.stringify(body)
    const socket = connect(port, HOST).setEncoding("utf8")
    let head = ""
    let isBody = false
    socket.once("error", reject)
    socket.once("close", () => onText(undefined))
    socket.on("data", (text) => {
      if (isBody) return onText(text)
      head += text
      const end = head.indexOf("\r\n\r\n")
      if (end === -1) return
      isBody = true
      resolve(Number(head.split(" ", 2)[1]))
      onText(head.slice(end + 4))
    })
    socket.write(
      `${method} ${path} HTTP/1.0\r\nHost: ${HOST}\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`
    )
  })

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Prints each event of the stream, which has one `data:` line per event. */
const subscribe = async (port) => {
  let rest = ""
  const status = await call(port, { method: "GET", path: "/event" }, (text) => {
    if (text === undefined) return fail("The event stream of OpenCode ended.")
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line.startsWith("data:")) print(line.slice(5).trim())
  })
  if (status !== 200) throw new Error(`the event stream answered ${status}`)
}

const answer = async (port, line) => {
  const { id, ...wanted } = JSON.parse(line)
  let text = ""
  let status = 0
  await new Promise((resolve, reject) => {
    call(port, wanted, (piece) => (piece === undefined ? resolve() : (text += piece))).then(
      (found) => (status = found),
      reject
    )
  })
  print(JSON.stringify({ type: "bridge.response", properties: { id, status, body: parsed(text) } }))
}

const run = async () => {
  const port = await listening()
  await subscribe(port)
  for await (const line of createInterface({ input: process.stdin })) await answer(port, line)
  leave(0)
}

// A request may be in progress, such as one that the server does not answer.
process.stdin.once("end", () => leave(0))
run().catch((error) => fail(`The bridge to OpenCode failed: ${error.message}`))
