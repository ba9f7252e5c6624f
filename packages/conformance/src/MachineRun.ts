/**
 * Run of the run machine over the outputs of an adapter: each approval is allowed and each question answered immediately, and every further
 * turn may come in time.
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
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"

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
