/**
 * Events of a recorded runtime output: seq, type and payload of each event, without ids and times. Secrets of a known form are redacted.
 *
 * Approvals are numbered in the order of their requests. A recording has no decisions, so an open approval is withdrawn at the end of the
 * turn.
 */
import type { ApprovalId, InputRequestId, WorkspaceId } from "@corral/domain/identity/Ids"
import { encodeUlid } from "@corral/domain/identity/Ids"
import type {
  AdapterOutput,
  AnyRuntimeAdapter,
  DecodeFailure,
  ProcessEnd,
  RunStart
} from "@corral/domain/run/RuntimeAdapter"
import { PAYLOAD_VERSION, type EventDraft } from "@corral/domain/run/RunEvent"
import { transition, type RunMachineInput } from "@corral/domain/run/RunMachine"
import { initial, type RunState } from "@corral/domain/run/RunState"
import { decodeRun } from "@corral/adapters/OutputDecoder"
import { OutputRedaction } from "@corral/edge/run/kernel/OutputRedaction"
import { fitPayload, mayExceed } from "@corral/edge/log/PayloadLimit"
import { Stream } from "effect"

export interface RecordedRun {
  readonly adapter: AnyRuntimeAdapter
  readonly start: RunStart
  readonly workspace: WorkspaceId
  readonly exit: ProcessEnd
}

/** Run machine of a recording. Returns log lines. */
class RecordedLog {
  #state: RunState = initial
  #seq = 0
  #approvalCount = 0
  readonly #approvals = new Map<string, ApprovalId>()
  #inputCount = 0
  readonly #inputs = new Map<string, InputRequestId>()

  apply(input: RunMachineInput): ReadonlyArray<string> {
    const [state, actions] = transition(this.#state, input)
    this.#state = state
    return actions.flatMap((action) => (action._tag === "Append" ? this.#lines(action.event) : []))
  }

  read(output: AdapterOutput): ReadonlyArray<string> {
    switch (output._tag) {
      case "Event":
        return this.apply({ _tag: "EventEmitted", event: output.event })
      case "Approval": {
        const approvalId = `apr_${encodeUlid(++this.#approvalCount, new Uint8Array(10))}` as ApprovalId // shaped by encodeUlid
        this.#approvals.set(output.key, approvalId)
        return this.apply({ _tag: "ApprovalRequested", approvalId, request: output.request, expiresAt: "" })
      }
      case "ApprovalWithdrawn": {
        const approvalId = this.#approvals.get(output.key)
        return approvalId === undefined
          ? []
          : this.apply({ _tag: "ApprovalWithdrawn", approvalId, reason: output.reason })
      }
      case "InputRequested": {
        const inputId = `inq_${encodeUlid(++this.#inputCount, new Uint8Array(10))}` as InputRequestId // shaped by encodeUlid
        this.#inputs.set(output.key, inputId)
        return this.apply({ _tag: "InputRequested", inputId, request: output.request })
      }
      case "InputWithdrawn": {
        const inputId = this.#inputs.get(output.key)
        return inputId === undefined ? [] : this.apply({ ...output, inputId })
      }
      case "Work":
        return this.apply({ ...output, _tag: "WorkChanged" })
      case "TurnStarted":
        return this.apply({ ...output, by: output.by ?? "program" })
      case "Outcome":
        return this.apply({ _tag: "OutcomeReported", outcome: output.outcome })
      case "Usage":
        return this.apply({ _tag: "UsageReported", usage: output.usage })
      // Only the device of the run knows the stored artifacts and their ids.
      case "Artifact":
      case "Reply":
      case "Unknown":
        return []
    }
  }

  #lines(event: EventDraft): ReadonlyArray<string> {
    const events = mayExceed(JSON.stringify(event)) ? fitPayload(event) : [event]
    return events.map(({ type, payload }) => {
      const { expiresAt: _, ...rest } = { expiresAt: "", ...payload }
      return JSON.stringify({ seq: ++this.#seq, type, payload: { v: PAYLOAD_VERSION, ...rest } })
    })
  }
}

/** Transforms raw stdout to JSON lines without newlines. The last line is the terminal event. */
export const normalizeRecording =
  ({ adapter, start, workspace, exit }: RecordedRun) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<string, E | DecodeFailure, R> =>
    Stream.suspend(() => {
      const log = new RecordedLog()
      const redaction = new OutputRedaction([])
      const created = { workspace, mode: start.mode, input: { text: start.prompt } }
      const first = [...log.apply({ _tag: "Created", payload: created }), ...log.apply({ _tag: "Spawned" })]
      return Stream.fromIterable(first).pipe(
        Stream.concat(
          bytes.pipe(
            decodeRun(adapter, start, exit),
            Stream.flatMap((output) => Stream.fromIterable(redaction.redactStream([output]))),
            Stream.concat(Stream.suspend(() => Stream.fromIterable(redaction.flush()))),
            Stream.flatMap((output) =>
              Stream.fromIterable(log.read(output._tag === "Artifact" ? output : redaction.value(output)))
            )
          )
        ),
        Stream.concat(Stream.suspend(() => Stream.fromIterable(log.apply({ _tag: "Ended" }))))
      )
    })
