/**
 * Checks of what goes back to the program: answers to approvals and questions, cancels, and calls that no one expects. An adapter passes on what a person
 * answers, and nothing that no person has answered.
 */
import type { InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type {
  AdapterOutput,
  InputResponse,
  Protocol,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"
import { joinLines, splitLines } from "./Hostile.ts"
import type { Recording } from "./Replay.ts"
import { catching, type Finding, findingsOf } from "./Rules.ts"
import { cancelStops, invariantFindings } from "./Invariants.ts"

type QuestionOutput = Extract<AdapterOutput, { readonly _tag: "InputRequested" }>

const REASON = "corral-conformance-reason"
const TEXT = "corral-conformance-text"

/** Ways in which no person answers. */
const unanswered: InputResponse = { _tag: "Unanswered", reason: REASON }

/** Text values of a JSON value, at any depth; the value itself if it is a text. */
const textsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Texts in what the adapter writes: values of its JSON lines, and lines that are not JSON. */
const writtenTexts = (written: string): ReadonlyArray<string> =>
  written.split("\n").flatMap((line) => {
    try {
      return textsIn(JSON.parse(line))
    } catch {
      return [line]
    }
  })

const optionsOf = ({ questions = [] }: RequestedInput): ReadonlyArray<string> =>
  questions.flatMap(({ options = [] }) => options.flatMap(({ id, label }) => [id, label]))

/** Options that a text gives the program as a value. */
const choicesIn = (written: string, request: RequestedInput): ReadonlyArray<string> => {
  const texts = new Set(writtenTexts(written))
  return optionsOf(request).filter((option) => option.length > 2 && texts.has(option))
}

/** An answer of a person to each question. */
const answerTo = ({ allowsOther, kind, min = 1, options = [] }: Question): InputAnswers[string] => {
  const last = options.at(-1)
  if (kind === "choice" && last !== undefined && allowsOther !== true) return last.id
  if (kind === "choice") return { other: TEXT }
  if (kind === "number") return min
  return kind === "boolean" ? true : TEXT
}

const isChoice = (value: InputAnswers[string]): value is string => typeof value === "string" && value !== TEXT

/** Whether the program receives the answer: the text, or the id or the label of the option. */
const receives = (written: string, { id, options = [] }: Question, answers: InputAnswers): boolean => {
  const value = answers[id]
  if (value === undefined || typeof value === "number" || typeof value === "boolean") return true
  const chosen = isChoice(value) ? options.find((option) => option.id === value) : undefined
  return (chosen === undefined ? [TEXT] : [chosen.id, chosen.label]).some((text) => written.includes(text))
}

const personFindings = (protocol: Protocol, { key, request }: QuestionOutput): ReadonlyArray<Finding> => {
  const { questions = [] } = request
  if (request.kind !== "question" || questions.length === 0) return []
  const answers = Object.fromEntries(questions.map((question) => [question.id, answerTo(question)]))
  const response: InputResponse = { _tag: "Answered", answers }
  const written = protocol.respond?.(key, response) ?? ""
  const lost = questions.filter((question) => !receives(written, question, answers))
  return findingsOf("answer-sent", [
    ...lost.map(({ id }) => `question ${key}: the answer to ${id} is not sent`),
    ...(protocol.respond?.(key, response) === undefined ? [] : [`question ${key} is answered twice`])
  ])
}

const noPersonFindings = (protocol: Protocol, { key, request }: QuestionOutput): ReadonlyArray<Finding> => {
  const written = protocol.respond?.(key, unanswered) ?? ""
  return findingsOf(
    "unanswered",
    choicesIn(written, request).map((choice) => `question ${key}: the program receives ${choice}`)
  )
}

/** Whether the adapter writes a choice by itself when the program asks. */
const replyFindings = (
  outputs: ReadonlyArray<AdapterOutput>,
  { key, request }: QuestionOutput
): ReadonlyArray<Finding> =>
  findingsOf(
    "unanswered",
    outputs
      .flatMap((output) => (output._tag === "Reply" ? choicesIn(output.text, request) : []))
      .map((choice) => `question ${key}: the adapter answers ${choice} by itself`)
  )

/** Each question of a recording: without an answer, and with the answer of a person. */
export const questionFindings = (adapter: RuntimeAdapter, recording: Recording): ReadonlyArray<Finding> =>
  catching("throws", "with questions", () =>
    [noPersonFindings, personFindings].flatMap((check) => {
      const protocol = adapter.protocol(recording.start)
      for (const text of recording.inputs ?? []) protocol.input(text)
      const unknown = protocol.respond?.("corral-conformance-no-such-key", unanswered)
      const findings = [
        ...findingsOf(
          "answer-sent",
          unknown === undefined ? [] : ["it answers a question that was never asked"]
        )
      ]
      for (const line of splitLines(recording.stdout)) {
        const outputs = protocol.step(joinLines([line]))
        for (const output of outputs) {
          if (output._tag !== "InputRequested") continue
          if (protocol.respond === undefined)
            return [...findings, ...findingsOf("capabilities", ["it asks, but has no respond"])]
          findings.push(...replyFindings(outputs, output), ...check(protocol, output))
        }
      }
      return findings
    })
  )

const answer = { decision: "allow", scope: "once" } as const
/** Enough lines of a long recording, for each example of a property, and at most. */
const [PLACES, MAX_PLACES] = [5, 40]

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
export const cancelFindings = (
  adapter: RuntimeAdapter,
  recording: Recording,
  runs: number
): ReadonlyArray<Finding> => {
  const lines = linesOf(recording)
  const step = Math.max(1, Math.ceil(lines.length / Math.min(PLACES * runs, MAX_PLACES)))
  // The Edge ends the others by signals, and then decides the outcome itself. A failure may be known before the cancel.
  const mayCancel = adapter.capabilities.cancel && recording.expected?.outcome !== "Failed"
  const places =
    lines.length === 0 ? [0] : Array.from({ length: Math.ceil(lines.length / step) }, (_, at) => at * step)
  return places.flatMap((at) =>
    catching("throws", `cancelled at line ${at}`, () => {
      const [before, rest] = [joinLines(lines.slice(0, at)), joinLines(lines.slice(at))]
      const stopped = cancelled(adapter, recording, before, undefined)
      const continued = cancelled(adapter, recording, before, rest)
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

/** Outputs before and after a cancel. `rest`: what the program prints after it. Without it, a signal ends the program. */
const cancelled = (
  adapter: RuntimeAdapter,
  recording: Recording,
  printed: Uint8Array,
  rest: Uint8Array | undefined
) => {
  const protocol = startProtocol(adapter, recording)
  const before = protocol.step(printed)
  protocol.cancel()
  const after =
    rest === undefined
      ? protocol.end({ code: null, signal: "SIGTERM", stderr: "" })
      : [...protocol.step(rest), ...protocol.end(recording.exit)]
  return { before, after, all: [...before, ...after] }
}
