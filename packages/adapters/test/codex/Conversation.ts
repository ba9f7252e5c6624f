/** A conversation with the app-server of Codex in tests: lines in, outputs and replies out. */
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { codex } from "../../src/Codex.ts"

export const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }

/** JSON lines of a text, each as it was written. */
export const parsed = (text: string | undefined): ReadonlyArray<unknown> =>
  (text ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line))

export const send = (protocol: Protocol, ...values: ReadonlyArray<object>): ReadonlyArray<AdapterOutput> =>
  values.flatMap((value) => protocol.step(Buffer.from(`${JSON.stringify(value)}\n`)))

export const replies = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<unknown> =>
  outputs.flatMap((output) => (output._tag === "Reply" ? parsed(output.text) : []))

export const events = (outputs: ReadonlyArray<AdapterOutput>) =>
  outputs.flatMap((output) => (output._tag === "Event" ? [output.event] : []))

/** Tags of the outputs, with the types of events and the states of work. */
export const names = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<string> =>
  outputs.map((output) => {
    if (output._tag === "Work") return `${output.kind} ${output.state}`
    if (output._tag === "Outcome") return output.outcome._tag
    return output._tag === "Event" ? output.event.type : output._tag
  })

const result = { thread: { id: "own", cliVersion: "0.171.0" }, model: "m", cwd: "/real/workspace" }

/** A conversation whose first turn, `turn-1`, has started. */
export const startProtocol = (more: Partial<RunStart> = {}): Protocol => {
  const protocol = codex.protocol({ ...start, ...more })
  const turn = { id: "turn-1", status: "inProgress" }
  send(protocol, { id: 0, result: {} }, { id: 1, result }, { id: 2, result: { turn } })
  return protocol
}

export const turnStarted = (id: string, threadId = "own") => ({
  method: "turn/started",
  params: { threadId, turn: { id, status: "inProgress" } }
})

export const turnCompleted = (id: string, threadId = "own", status = "completed") => ({
  method: "turn/completed",
  params: { threadId, turn: { id, status } }
})

export const item = (state: "started" | "completed", value: object, threadId = "own") => ({
  method: `item/${state}`,
  params: { threadId, item: value }
})

export const statusChanged = (type: string, threadId = "own") => ({
  method: "thread/status/changed",
  params: { threadId, status: { type } }
})
