/** Checks of answers to questions: an adapter passes on what a person answers, and nothing that no person has answered. */
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
