/** Checks of what goes back to the program: answers to approvals, cancels, and calls that no one expects. */
import type { AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { splitLines, joinLines } from "./Hostile.ts"
import { cancelStops, invariantFindings } from "./Invariants.ts"
import type { Recording } from "./Replay.ts"
import { catching, type Finding, findingsOf } from "./Rules.ts"

const answer = { decision: "allow", scope: "once" } as const
/** Enough lines of a long recording. */
const MAX_PLACES = 40

const linesOf = (recording: Recording): ReadonlyArray<Uint8Array> => splitLines(recording.stdout)

const startProtocol = (adapter: RuntimeAdapter, { inputs = [], start }: Recording) => {
  const protocol = adapter.protocol(start)
  for (const text of inputs) protocol.input(text)
  return protocol
}

/** Each approval is answered with one text, and never again. */
export const answerFindings = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<Finding> =>
  catching("throws", "with answers", () => {
    const protocol = startProtocol(adapter, recording)
    const findings: Array<Finding> = []
    const unknown = protocol.answer("corral-conformance-no-such-key", answer)
    if (unknown !== undefined)
      findings.push({ rule: "answer-once", message: "it answers an approval that was never requested" })
    for (const line of linesOf(recording)) {
      for (const output of protocol.step(joinLines([line]))) {
        if (output._tag !== "Approval") continue
        const text = protocol.answer(output.key, answer)
        if (text === undefined)
          findings.push({ rule: "capabilities", message: `approval ${output.key} cannot be answered` })
        else if (protocol.answer(output.key, answer) !== undefined)
          findings.push({ rule: "answer-once", message: `approval ${output.key} is answered twice` })
        const lines = (text ?? "").split("\n").filter((each) => each !== "")
        if (new Set(lines).size < lines.length)
          findings.push({
            rule: "answer-once",
            message: `approval ${output.key} is answered with the same line twice`
          })
      }
    }
    return findings
  })

/** A run that is cancelled at any of its lines is valid, and what was stopped is cancelled. */
export const cancelFindings = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<Finding> => {
  const lines = linesOf(recording)
  const step = Math.max(1, Math.ceil(lines.length / MAX_PLACES))
  // The Edge ends the others by signals, and then decides the outcome itself. A failure may be known before the cancel.
  const mayCancel = adapter.capabilities.cancel && recording.expected?.outcome !== "Failed"
  const places =
    lines.length === 0 ? [0] : Array.from({ length: Math.ceil(lines.length / step) }, (_, at) => at * step)
  return places.flatMap((at) =>
    catching("throws", `cancelled at line ${at}`, () => {
      const stopped = cancelled(adapter, recording, at, true)
      const continued = cancelled(adapter, recording, at, false)
      return [
        ...invariantFindings(continued.all, adapter),
        ...findingsOf("cancel", cancelStops(continued.after)),
        ...findingsOf(
          "cancel",
          mayCancel && stopped.all.some(isFailure) && !stopped.before.some(isOutcome)
            ? ["a run that a signal ended after the cancel failed"]
            : []
        )
      ].map(({ message, rule }) => ({ rule, message: `cancelled at line ${at}: ${message}` }))
    })
  )
}

const isOutcome = ({ _tag }: AdapterOutput): boolean => _tag === "Outcome"
const isFailure = (output: AdapterOutput): boolean =>
  output._tag === "Outcome" && output.outcome._tag === "Failed"

/** Outputs before and after a cancel at a line. `isStopped`: a signal ends the program there. */
const cancelled = (adapter: RuntimeAdapter, recording: Recording, at: number, isStopped: boolean) => {
  const lines = linesOf(recording)
  const protocol = startProtocol(adapter, recording)
  const before = protocol.step(joinLines(lines.slice(0, at)))
  protocol.cancel()
  const after = isStopped
    ? protocol.end({ code: null, signal: "SIGTERM", stderr: "" })
    : [...protocol.step(joinLines(lines.slice(at))), ...protocol.end(recording.exit)]
  return { before, after, all: [...before, ...after] }
}
