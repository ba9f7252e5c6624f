/** The conversation with the host: lines out, lines in. What goes out waits while the pipe is full; nothing is kept for a slow reader. */
import { once, setMaxListeners } from "node:events"
import { createInterface } from "node:readline"

export const write = async (text) => {
  if (!process.stdout.write(text)) await once(process.stdout, "drain")
}
export const send = (line) => write(`${JSON.stringify(line)}\n`)

/** Everything that was written has left this process. */
export const flushed = () => new Promise((resolve) => process.stdout.write("", resolve))

// The reader has gone: nobody to talk to.
process.stdout.on("error", () => process.exit(1))

const cancelling = new AbortController()
setMaxListeners(0, cancelling.signal)
/** Aborted by the host's `cancel`. */
export const cancelled = cancelling.signal

/** What the host has said and done so far. `left`: its end of stdin is closed. */
export const host = { inputs: [], left: false }
const decisions = new Map()
const responses = new Map()
let wake = () => {}
let finished = false
let start

/** The `start` line, or undefined where none will come. */
export const started = new Promise((resolve) => {
  start = resolve
})

const orCancelled = (register) =>
  new Promise((resolve, reject) => {
    cancelled.addEventListener("abort", () => reject(cancelled.reason), { once: true })
    register(resolve)
  })

const nobody = { allow: false, reason: "nobody is there to decide" }

/** The host's decision on that approval; fails when the host cancels. */
export const decisionOf = (id) =>
  orCancelled((resolve) => (host.left ? resolve(nobody) : decisions.set(id, resolve))).finally(() =>
    decisions.delete(id)
  )

/** The host's response to that question; fails when the host cancels. */
export const responseTo = (id) =>
  orCancelled((resolve) =>
    host.left ? resolve({ unanswered: nobody.reason }) : responses.set(id, resolve)
  ).finally(() => responses.delete(id))

/** Waits until there is an input, or none will come; fails when the host cancels. */
export const inputArrives = async () => {
  while (host.inputs.length === 0 && !host.left) {
    await orCancelled((resolve) => {
      wake = resolve
    })
  }
}

/** The next input, or undefined where none will come; fails when the host cancels. */
export const nextInput = async () => {
  await inputArrives()
  return host.inputs.shift()
}

/** All is said: leaves now or when stdin ends. */
export const leave = () => {
  finished = true
  if (host.left) process.exit(0)
}

const receive = {
  start: (line) => start(line),
  decision: (line) => decisions.get(line.id)?.(line),
  response: (line) => responses.get(line.id)?.(line),
  input: (line) => {
    host.inputs.push(String(line.text ?? ""))
    wake()
  },
  cancel: () => cancelling.abort()
}

createInterface({ input: process.stdin, crlfDelay: Infinity })
  .on("line", (text) => {
    let line
    try {
      line = JSON.parse(text)
    } catch {
      return
    }
    if (typeof line === "object" && line !== null && Object.hasOwn(receive, line.type))
      receive[line.type](line)
  })
  .on("close", () => {
    host.left = true
    // Nobody is left to answer: what waits goes on as refused.
    for (const decide of decisions.values()) decide(nobody)
    for (const respond of responses.values()) respond({ unanswered: nobody.reason })
    wake()
    start(undefined)
    if (finished) process.exit(0)
  })
