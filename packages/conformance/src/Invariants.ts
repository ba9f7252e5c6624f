/**
 * Invariants of the outputs of every adapter on any input. Each function returns what violates it; empty if the invariant holds. Also
 * the run machine over these outputs: each approval is allowed and each question answered immediately, and every further turn may come in time.
 */
import {
  encodeUlid,
  type ApprovalId,
  type ArtifactId,
  type InputRequestId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { transition, type RunMachineInput } from "@corral/domain/run/RunMachine"
import { initial, type RunState } from "@corral/domain/run/RunState"
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { outputProblem } from "@corral/domain/run/AdapterOutputSchema"
import { pathsIn } from "@corral/adapters/files/InputPaths"
import { objectOf } from "@corral/adapters/text/Json"
import { type Finding, findingsOf } from "./Rules.ts"

const artifactReady = draft("run.artifact.ready", {
  artifactId: `art_${encodeUlid(0, new Uint8Array(10))}` as ArtifactId, // made as ids are made
  name: "",
  mediaType: "",
  size: 0,
  sha256: ""
})

export class MachineRun {
  state: RunState = initial
  readonly appended: Array<EventDraft> = []
  readonly problems: Array<string> = []
  /** Number of outputs after which the run has its outcome; `undefined` while it has none. */
  concludedAfter: number | undefined
  readonly #approvals = new Map<string, ApprovalId>()
  readonly #inputs = new Map<string, InputRequestId>()

  constructor(outputs: ReadonlyArray<AdapterOutput>) {
    const created = { workspace: "sample" as WorkspaceId, mode: "ask", input: { text: "prompt" } } as const
    this.#apply({ _tag: "Created", payload: created })
    this.#apply({ _tag: "Spawned" })
    for (const [at, output] of outputs.entries()) {
      this.#read(output)
      if (this.state.verdict !== undefined) this.concludedAfter ??= at + 1
    }
    if (this.state.openCalls.size > 0) this.problems.push("calls are open before the process ends")
    this.#apply({ _tag: "Ended" })
  }

  #apply(input: RunMachineInput): void {
    const [next, actions] = transition(this.state, input)
    this.state = next
    for (const action of actions) if (action._tag === "Append") this.appended.push(action.event)
  }

  #read(output: AdapterOutput): void {
    switch (output._tag) {
      case "Event":
        return this.#emit(output.event, output.event.type)
      // A separate event in the log, which may come at any position.
      case "Artifact":
        return this.#emit(artifactReady, `artifact ${output.name}`)
      case "Approval":
        return this.#allow(output)
      case "ApprovalWithdrawn": {
        const approvalId = this.#approvals.get(output.key)
        if (approvalId === undefined)
          this.problems.push(`approval ${output.key} was withdrawn and never asked`)
        else this.#apply({ _tag: "ApprovalWithdrawn", approvalId, reason: output.reason })
        return
      }
      case "InputRequested":
        return this.#answer(output)
      case "InputWithdrawn": {
        const inputId = this.#inputs.get(output.key)
        if (inputId === undefined) this.problems.push(`question ${output.key} was withdrawn and never asked`)
        else this.#apply({ _tag: "InputWithdrawn", inputId, state: output.state })
        return
      }
      case "Work":
        return this.#apply({ ...output, _tag: "WorkChanged" })
      case "TurnStarted":
        return this.#apply({ ...output, by: output.by ?? "program" })
      case "Outcome":
        return this.#apply({ _tag: "OutcomeReported", outcome: output.outcome })
    }
  }

  #emit(event: Extract<RunMachineInput, { readonly _tag: "EventEmitted" }>["event"], what: string): void {
    this.#apply({ _tag: "EventEmitted", event })
    if (this.appended.at(-1) !== event) this.problems.push(`the machine refuses ${what}`)
  }

  #allow({ key, request }: Extract<AdapterOutput, { readonly _tag: "Approval" }>): void {
    const approvalId = `apr_${encodeUlid(this.#approvals.size, new Uint8Array(10))}` as ApprovalId // made as ids are made
    this.#approvals.set(key, approvalId)
    this.#apply({
      _tag: "ApprovalRequested",
      approvalId,
      request,
      expiresAt: "2026-01-01T00:30:00.000Z"
    })
    // A run that has its outcome requests nothing.
    if (!this.state.pending.has(approvalId) && this.concludedAfter === undefined)
      this.problems.push(`the machine refuses approval ${key}`)
    const answer = { decision: "allow", scope: "once" } as const
    this.#apply({ _tag: "ApprovalDecided", approvalId, answer })
  }

  #answer({ key, request }: Extract<AdapterOutput, { readonly _tag: "InputRequested" }>): void {
    const inputId = `inq_${encodeUlid(this.#inputs.size, new Uint8Array(10))}` as InputRequestId // made as ids are made
    this.#inputs.set(key, inputId)
    this.#apply({ _tag: "InputRequested", inputId, request })
    if (!this.state.pendingInputs.has(inputId) && this.concludedAfter === undefined)
      this.problems.push(`the machine refuses question ${key}`)
    // A question that has ended the turn is answered after the outcome of the turn, when the program continues.
    if (request.startsTurn === true) return
    const answer = { answers: {} }
    this.#apply({ _tag: "InputAnswered", inputId, answer, shown: {}, endsRun: false })
  }
}

type Problems = ReadonlyArray<string>
type Version = RuntimeAdapter["specificationVersion"]

const events = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<EventDraft> =>
  outputs.flatMap((output) => (output._tag === "Event" ? [output.event] : []))

/** The run has an outcome. In version 1, nothing comes after it. */
const oneOutcome = (outputs: ReadonlyArray<AdapterOutput>, version: Version): ReadonlyArray<Finding> => {
  const at = outputs.findIndex(({ _tag }) => _tag === "Outcome")
  if (at === -1) return findingsOf("outcome-missing", ["there is no outcome"])
  const after = version === 1 ? outputs.slice(at + 1) : []
  const others = after.filter(({ _tag }) => _tag !== "Outcome").length
  return [
    ...findingsOf(
      "outcome-repeated",
      after.length === others ? [] : [`there are ${1 + after.length - others} outcomes`]
    ),
    ...findingsOf("output-after-outcome", others === 0 ? [] : [`${others} outputs come after the outcome`])
  ]
}

/** Whether an output shows that the program works. A warning or a repeated outcome does not. */
const showsWork = (output: AdapterOutput): boolean =>
  output._tag === "Event"
    ? /^run\.(message|tool|file|patch|steps)/.test(output.event.type)
    : ["Approval", "InputRequested", "Work", "TurnStarted", "Artifact"].includes(output._tag)

/** The program does not work after the outcome that ends the run. Otherwise its work is lost, because the run ends. */
export const workReported = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<Finding> => {
  const { concludedAfter } = new MachineRun(outputs)
  const after = concludedAfter === undefined ? [] : outputs.slice(concludedAfter).filter(showsWork)
  const message = `the run has its outcome, and ${after.length} outputs of work come after it`
  return findingsOf("output-after-outcome", after.length === 0 ? [] : [message])
}

/** Work that is in progress does not start again, and only such work ends. */
const workOrdered = (outputs: ReadonlyArray<AdapterOutput>): Problems => {
  const states = new Map<string, string>()
  return outputs.flatMap((output) => {
    if (output._tag !== "Work") return []
    const { id, state } = output
    const before = states.get(id)
    states.set(id, state)
    if (state === "running") return before === "running" ? [`work ${id} starts twice`] : []
    return before === "running" ? [] : [`work ${id} ends, but is not in progress`]
  })
}

/** A message is completed once, and a key asks once. Lines that are printed twice may repeat an id. */
export const idsUnique = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<Finding> => {
  const completed = events(outputs).flatMap((event) =>
    event.type === "run.message.completed" ? [event.payload.messageId] : []
  )
  const keys = outputs.flatMap((output) => (output._tag === "Approval" ? [output.key] : []))
  const questions = outputs.flatMap((output) => (output._tag === "InputRequested" ? [output.key] : []))
  return [
    ...findingsOf(
      "message-ids",
      repeated(completed).map((id) => `message ${id} is completed twice`)
    ),
    ...findingsOf(
      "approval-keys",
      repeated(keys).map((key) => `approval ${key} is requested twice`)
    ),
    ...findingsOf(
      "question-keys",
      repeated(questions).map((key) => `question ${key} is asked twice`)
    )
  ]
}

const repeated = (ids: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(ids.filter((id, at) => ids.indexOf(id) !== at))
]

/** Every tool call has exactly one result, and every result a call. */
const callsClosed = (outputs: ReadonlyArray<AdapterOutput>): Problems => {
  const problems: Array<string> = []
  const open = new Set<string>()
  for (const event of events(outputs)) {
    if (event.type === "run.tool.call") {
      if (open.has(event.payload.callId)) problems.push(`call ${event.payload.callId} is opened twice`)
      open.add(event.payload.callId)
    } else if (event.type === "run.tool.result" && !open.delete(event.payload.callId)) {
      problems.push(`result of ${event.payload.callId} closes nothing`)
    }
  }
  return [...problems, ...[...open].map((callId) => `call ${callId} is never closed`)]
}

/** The deltas of a message join to its completed text, or begin with it if the completed text is `truncated`. */
export const deltasJoin = (outputs: ReadonlyArray<AdapterOutput>): Problems => {
  const problems: Array<string> = []
  const joined = new Map<string, string>()
  for (const event of events(outputs)) {
    if (event.type === "run.message.delta") {
      const { messageId, text } = event.payload
      joined.set(messageId, (joined.get(messageId) ?? "") + text)
    } else if (event.type === "run.message.completed") {
      const { messageId, text, truncated } = event.payload
      const streamed = joined.get(messageId)
      const isSame = truncated === true ? streamed?.startsWith(text) : streamed === text
      if (streamed !== undefined && isSame !== true) {
        problems.push(
          `message ${messageId} streamed ${JSON.stringify(streamed)}, then was ${JSON.stringify(text)}`
        )
      }
    }
  }
  return problems
}

/** Every message that streams is completed, also where a cancel or a broken stream ends it in the middle. */
const messagesCompleted = (outputs: ReadonlyArray<AdapterOutput>): Problems => {
  const open = new Set<string>()
  for (const event of events(outputs)) {
    if (event.type === "run.message.delta") open.add(event.payload.messageId)
    else if (event.type === "run.message.completed") open.delete(event.payload.messageId)
  }
  return [...open].map((messageId) => `message ${messageId} is never completed`)
}

/** Maximum JSON bytes of a text in one event. */
const TEXT_BYTES = 196_608

/** Each text that does not fit into one event was streamed before, so its deltas have the whole text. */
const longTextsStreamed = (outputs: ReadonlyArray<AdapterOutput>): Problems => {
  const problems: Array<string> = []
  const streamed = new Set<string>()
  for (const event of events(outputs)) {
    if (event.type === "run.message.delta") streamed.add(event.payload.messageId)
    else if (event.type === "run.message.completed") {
      const { messageId, text } = event.payload
      const isLong = text.length * 6 > TEXT_BYTES && Buffer.byteLength(JSON.stringify(text)) > TEXT_BYTES
      if (isLong && !streamed.has(messageId))
        problems.push(`message ${messageId} is longer than one event and was not streamed`)
    }
  }
  return problems
}

/** After a cancel, stopped tool calls are `cancelled`, not `failed`. */
export const cancelStops = (afterCancel: ReadonlyArray<AdapterOutput>): Problems =>
  events(afterCancel).flatMap((event) =>
    event.type === "run.tool.result" && event.payload.status === "failed"
      ? [`call ${event.payload.callId} failed after the cancel, instead of being cancelled`]
      : []
  )

/** The changes of a turn are reported once. */
export const diffsOnce = (outputs: ReadonlyArray<AdapterOutput>, turns: number): Problems => {
  const diffs = events(outputs).filter(({ type }) => type === "run.diff.ready").length
  return diffs <= turns ? [] : [`${diffs} times run.diff.ready in ${turns} turns`]
}

/** Every output has the shape of the specification. */
const outputsFit = (outputs: ReadonlyArray<AdapterOutput>): Problems =>
  outputs.flatMap((output) => outputProblem(output) ?? [])

/** The run machine accepts every event in order, and ends with one terminal event. */
const machineAccepts = (outputs: ReadonlyArray<AdapterOutput>): Problems => {
  const { appended, problems } = new MachineRun(outputs)
  const terminals = appended.filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type)).length
  const hasOutcome = outputs.some(({ _tag }) => _tag === "Outcome")
  return terminals === 1 || !hasOutcome ? problems : [...problems, `${terminals} terminal events`]
}

/** An approval of a write names every path of the tool's input, because policy checks only `files`. */
export const approvalsNameFiles = (outputs: ReadonlyArray<AdapterOutput>): Problems =>
  outputs.flatMap((output) => {
    if (output._tag !== "Approval" || output.request.action !== "write") return []
    const { files = [], input } = output.request
    const isNamed = (path: string): boolean =>
      files.some((file) => file === path || file === "." || path.endsWith(`/${file}`))
    return pathsIn(objectOf(input)).flatMap((path) =>
      isNamed(path) ? [] : [`approval ${output.key} does not name ${path}`]
    )
  })

/** Invariants for any input. */
export const invariantFindings = (
  outputs: ReadonlyArray<AdapterOutput>,
  { specificationVersion }: Pick<RuntimeAdapter, "specificationVersion"> = { specificationVersion: 2 }
): ReadonlyArray<Finding> => {
  const schemaFindings = findingsOf("schema", outputsFit(outputs))
  // The others read the fields of outputs.
  if (schemaFindings.length > 0) return schemaFindings
  return [
    ...oneOutcome(outputs, specificationVersion),
    ...findingsOf("work", workOrdered(outputs)),
    ...findingsOf("calls", callsClosed(outputs)),
    ...findingsOf("message-open", messagesCompleted(outputs)),
    ...findingsOf("long-text", longTextsStreamed(outputs)),
    ...findingsOf("machine", machineAccepts(outputs))
  ]
}
