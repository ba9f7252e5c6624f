/**
 * The floor: what a bare-Node program pays for the Edge's durable path, without a framework and without the Edge's other promises.
 *
 * It runs the same program, writes the same envelopes, commits each read chunk (WAL, synchronous=FULL) before it sends, and serves the
 * same WebSocket with replay and back-pressure. It has no approvals, no run machine, no recovery, no policy and no schemas.
 *
 * Environment: CORRAL_HOME (folder of `floor.db`; made), BENCH_VOLATILE (does not wait for the disk), BENCH_TOKEN, BENCH_PROGRAM (the runtime's
 * program), BENCH_QUICK (that of the agent "quick"), BENCH_WORKSPACE.
 */
import Database from "better-sqlite3"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdirSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { WebSocketServer } from "ws"

const { CORRAL_HOME: home, BENCH_TOKEN: token, BENCH_PROGRAM: program, BENCH_QUICK: quick } = process.env
const { BENCH_WORKSPACE: cwd } = process.env

mkdirSync(home, { recursive: true })
const db = new Database(join(home, "floor.db"))
db.pragma("journal_mode = WAL")
// Without durability, a commit does not wait for the disk.
db.pragma(`synchronous = ${process.env.BENCH_VOLATILE === undefined ? "FULL" : "OFF"}`)
db.pragma("wal_autocheckpoint = 2000")
db.exec(
  "CREATE TABLE IF NOT EXISTS events (run_id TEXT, seq INTEGER, event TEXT, PRIMARY KEY (run_id, seq)) STRICT, WITHOUT ROWID"
)
const begin = db.prepare("BEGIN IMMEDIATE")
const commit = db.prepare("COMMIT")
const insert = db.prepare("INSERT INTO events VALUES (?, ?, ?)")
const after = db.prepare("SELECT seq, event FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT 512")

const runs = new Map()
const followersOfAll = new Set()

/** Bytes that wait in one socket before its reader is served from the table instead. */
const HIGH_WATER = 1_048_576
const TEXT = { binary: false }

/** Commits first, then sends to those who are up to date; the others follow at their own pace. */
const publish = (run, drafts) => {
  const first = run.seq + 1
  const createdAt = new Date().toISOString()
  const frames = []
  begin.run()
  for (const [type, payload] of drafts) {
    const seq = ++run.seq
    const id = `evt_${run.id.slice(4, 22)}${String(seq).padStart(8, "0")}`
    const event = JSON.stringify({ id, seq, type, runId: run.id, agentId: "scripted", createdAt, payload })
    insert.run(run.id, seq, event)
    frames.push(Buffer.from(event))
  }
  commit.run()
  const live = (follower) => {
    follower.socket.cork()
    for (const frame of frames) follower.ws.send(frame, TEXT)
    follower.socket.uncork()
  }
  for (const follower of run.followers) {
    if (follower.seq !== first - 1) continue
    live(follower)
    follower.seq = run.seq
    if (run.over || follower.ws.bufferedAmount > HIGH_WATER) pump(run, follower)
  }
  for (const follower of followersOfAll) live(follower)
}

/** Sends what the table has after the follower's position, as long as its socket takes it. */
const pump = (run, follower) => {
  while (follower.ws.bufferedAmount <= HIGH_WATER) {
    const rows = after.all(run.id, follower.seq)
    if (rows.length === 0) {
      if (run.over) follower.ws.close(1000)
      return
    }
    follower.socket.cork()
    for (const { event } of rows) follower.ws.send(event)
    follower.socket.uncork()
    follower.seq = rows.at(-1).seq
  }
  // Not up to date until then: `publish` passes it over.
  follower.socket.once("drain", () => pump(run, follower))
}

const draftOf = (said) => {
  switch (said.type) {
    case "delta":
      return ["run.message.delta", { v: 1, messageId: said.id, channel: said.channel, text: said.text }]
    case "hello":
      return [
        "run.started",
        { v: 1, runtimeSessionId: said.session, runtimeVersion: said.version, mode: said.mode }
      ]
    case "stream_event": {
      const { delta, index } = said.event
      return delta === undefined
        ? undefined
        : ["run.message.delta", { v: 1, messageId: `message:${index}`, channel: "text", text: delta.text }]
    }
    case "system":
      return ["run.started", { v: 1, runtimeSessionId: said.session_id }]
    case "message":
      return [
        "run.message.completed",
        { v: 1, messageId: said.id, role: "assistant", channel: said.channel, text: said.text }
      ]
  }
}

/** The program of an agent, the scripted one where it has none. */
const commandOf = (agentId) => {
  if (agentId === "claude-code") return ["claude", []]
  return agentId === "quick" ? [quick, []] : [process.execPath, [program]]
}

const start = ({ agentId, workspace, mode, input }) => {
  const run = {
    id: `run_${randomBytes(13).toString("hex").toUpperCase()}`,
    seq: 0,
    over: false,
    cancelled: undefined,
    followers: new Set(),
    child: undefined
  }
  runs.set(run.id, run)
  publish(run, [["run.created", { v: 1, workspace, mode, input }]])
  const [file, args] = commandOf(agentId)
  const child = spawn(file, args, { cwd, stdio: ["pipe", "pipe", "ignore"], detached: true })
  run.child = child
  child.stdin.write(`${JSON.stringify({ type: "start", prompt: input.text, mode })}\n`)
  let rest = ""
  let text
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop()
    const drafts = []
    for (const line of lines) {
      const said = JSON.parse(line)
      const draft = draftOf(said)
      if (draft !== undefined) drafts.push(draft)
      if (said.type !== "done" && said.type !== "result") continue
      text = said.text
      child.stdin.end()
    }
    if (drafts.length > 0) publish(run, drafts)
  })
  child.once("close", () => {
    run.over = true
    run.child = undefined
    publish(run, [
      run.cancelled === undefined ? ["run.completed", { v: 1, text }] : ["run.cancelled", { v: 1 }]
    ])
    run.cancelled?.()
  })
  return run
}

const cancel = (run) =>
  new Promise((resolve) => {
    run.cancelled = resolve
    process.kill(-run.child.pid, "SIGKILL")
  })

const server = createServer(async (request, response) => {
  const answer = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(body)
  if (request.headers.authorization !== `Bearer ${token}`) return answer(401, "{}")
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString() || "{}")
  const [, , , id, command] = request.url.split("/")
  if (id === undefined) return answer(201, JSON.stringify({ id: start(body).id }))
  const run = runs.get(id)
  if (run === undefined) return answer(404, "{}")
  if (command === "input") run.child.stdin.write(`${JSON.stringify({ type: "input", text: body.text })}\n`)
  if (command === "cancel") await cancel(run)
  return answer(200, JSON.stringify({ id: run.id, lastSeq: run.seq }))
})

const handshakes = new WebSocketServer({ noServer: true, clientTracking: false })
server.on("upgrade", (request, socket, head) => {
  if (request.headers.authorization !== `Bearer ${token}`) return socket.destroy()
  const query = new URL(request.url, "http://floor").searchParams
  const run = runs.get(query.get("runId"))
  handshakes.handleUpgrade(request, socket, head, (ws) => {
    const follower = { ws, socket, seq: Number(query.get("after") ?? 0) }
    const followers = run === undefined ? followersOfAll : run.followers
    followers.add(follower)
    ws.on("error", () => undefined)
    ws.on("close", () => followers.delete(follower))
    if (run !== undefined) pump(run, follower)
  })
})

process.on("SIGTERM", () => {
  for (const { child } of runs.values()) if (child !== undefined) process.kill(-child.pid, "SIGKILL")
  process.exit(0)
})

server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`
  process.stdout.write(`${JSON.stringify({ ready: true, service: "floor", url })}\n`)
})
