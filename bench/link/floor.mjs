/**
 * The floor of the link: a bare-Node program that follows a bare Edge (bench/edge/floor.mjs), writes what comes to PostgreSQL before it
 * sends it on, and carries a word back. It has no sign-in, no authority, no commands that survive, no fencing, no folding and no contract.
 *
 * Environment: BENCH_SOCKETS (folder of the database's socket), BENCH_EDGE and BENCH_TOKEN (the bare Edge; it may be missing).
 */
import { createServer } from "node:http"
import { Pool } from "pg"
import { WebSocket, WebSocketServer } from "ws"

const { BENCH_SOCKETS: host, BENCH_EDGE: edge, BENCH_TOKEN: token } = process.env

const pool = new Pool({ host, user: "corral", database: "postgres", max: 20 })
await pool.query(
  "CREATE TABLE IF NOT EXISTS floor_events (run_id text, last_seq int, lines text, PRIMARY KEY (run_id, last_seq))"
)

const store = (runId, lastSeq, lines) =>
  pool.query({
    name: "store",
    text: "INSERT INTO floor_events VALUES ($1, $2, $3)",
    values: [runId, lastSeq, lines]
  })

/** By run: what was sent, who follows (some follow all runs), and what waits to be written while something is being written. */
const sent = new Map()
const followers = new Map()
const followersOfAll = new Set()
const waiting = new Map()

const write = async (runId) => {
  for (let frames = waiting.get(runId); frames.length > 0; frames = waiting.get(runId)) {
    waiting.set(runId, [])
    const texts = frames.map((frame) => frame.toString("utf8"))
    await store(runId, JSON.parse(texts.at(-1)).seq, texts.join("\n"))
    sent.set(runId, (sent.get(runId) ?? []).concat(texts))
    for (const follower of [...(followers.get(runId) ?? []), ...followersOfAll])
      for (const text of texts) follower.send(text)
    if (/"type":"run\.completed"/.test(texts.at(-1)))
      for (const follower of followers.get(runId) ?? []) follower.close(1000)
  }
  waiting.delete(runId)
}

if (edge !== undefined) {
  const link = new WebSocket(`${edge.replace("http", "ws")}/v1/events`, {
    headers: { authorization: `Bearer ${token}` }
  })
  link.on("message", (frame) => {
    const runId = /"runId":"([^"]*)"/.exec(frame.toString("latin1", 0, 200))[1]
    const held = waiting.get(runId)
    if (held !== undefined) return void held.push(frame)
    waiting.set(runId, [frame])
    void write(runId)
  })
}

/** Small pushes of all sockets that wait to be written while others are being written. */
let gathered = []
let isWriting = false

const writeGathered = async () => {
  isWriting = true
  while (gathered.length > 0) {
    const pushes = gathered
    gathered = []
    await pool.query({
      name: "gathered",
      text: "INSERT INTO floor_events SELECT * FROM unnest($1::text[], $2::int[], $3::text[])",
      values: [
        pushes.map(({ runId }) => runId),
        pushes.map(({ lastSeq }) => lastSeq),
        pushes.map(({ lines }) => lines)
      ]
    })
    for (const { lastSeq, socket } of pushes) socket.send(String(lastSeq))
  }
  isWriting = false
}

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const told = await fetch(edge + request.url, {
    method: request.method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: Buffer.concat(chunks)
  })
  response.writeHead(told.status, { "content-type": "application/json" }).end(await told.text())
})
const sockets = new WebSocketServer({ server, perMessageDeflate: false, maxPayload: 8_388_608 })
sockets.on("connection", (socket, request) => {
  const { searchParams } = new URL(request.url, "http://floor")
  const runId = searchParams.get("runId")
  const isGathered = searchParams.has("gathered")
  if (searchParams.has("all")) {
    followersOfAll.add(socket)
    socket.on("close", () => followersOfAll.delete(socket))
    return
  }
  if (runId !== null) {
    followers.set(runId, (followers.get(runId) ?? new Set()).add(socket))
    for (const text of sent.get(runId) ?? []) socket.send(text)
    socket.on("close", () => followers.get(runId)?.delete(socket))
    return
  }
  // A push: {"runId","firstSeq","events"}; answered with the last seq once it is durable.
  socket.on("message", async (data) => {
    const { events, firstSeq, runId } = JSON.parse(data.toString("utf8"))
    if (isGathered) {
      gathered.push({ runId, lastSeq: firstSeq + events.length - 1, lines: events.join("\n"), socket })
      if (!isWriting) void writeGathered()
      return
    }
    await store(runId, firstSeq + events.length - 1, events.join("\n"))
    socket.send(String(firstSeq + events.length - 1))
  })
})
server.listen(0, "127.0.0.1", () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }))
)
process.once("SIGTERM", () => process.exit(0))
