/**
 * `corral questions` and `corral answer`: lists questions, forms and plans that need an answer, and answers one, declines it, or decides a plan.
 * Without an answer on the command line it asks at the terminal.
 *
 * Guarantees: sends what the person gave, or nothing.
 */
import { RunMode } from "@corral/domain/approval/RunMode"
import {
  type InputAnswer,
  type InputRequest,
  MAX_INPUT_TEXT,
  MAX_OPTIONS
} from "@corral/domain/input/InputRequest"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { readFileSync } from "node:fs"
import { refused } from "../CommandFailed.ts"
import { jsonLines, jsonObject, runServerFlags, toggle } from "../Flags.ts"
import { type AnswerArguments, isUnanswered, readArguments } from "../question/ReadAnswer.ts"
import { answerFlags, inputResolutionLine, requestLines } from "../question/QuestionLines.ts"
import { promptInput } from "../question/AnswerDraft.ts"
import { carryOutPlan } from "../run/CarryOutPlan.ts"
import { inputArgument, resolveInputId } from "../run/IdArguments.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { formatItem, makePaint, type Paint, paintRow } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

type ListedQuestion = Pick<InputRequest, "id" | "runId" | "agentId" | "workspace" | "kind" | "title">

const formatInputRequest = (
  { agentId, id, kind, runId, title, workspace }: ListedQuestion,
  paint: Paint,
  width: number | undefined
): string =>
  formatItem(
    id,
    [
      { text: kind.padEnd(8), style: "yellow" },
      { text: escapeLine(title) },
      { text: escapeLine(`${agentId} in ${workspace}`), style: "dim" },
      { text: runId, style: "dim" }
    ],
    paint,
    width
  )

export const questionsCommand = Command.make(
  "questions",
  { ...runServerFlags, json: jsonLines },
  Effect.fn(function* ({ json, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const paint = makePaint(host.colours)
    const inputs = yield* server.inputs
    for (const input of inputs)
      host.write(json ? `${JSON.stringify(input)}\n` : formatInputRequest(input, paint, host.width))
    if (!json && inputs.length === 0) host.write("No question is open.\n")
  })
).pipe(
  Command.withDescription("List questions, forms and plans that need an answer; `answer` answers"),
  Command.withExamples([
    { command: "corral questions", description: "What is open" },
    { command: "corral answer inq_01K… --option 2", description: "Answer" }
  ])
)

const repeated = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(description),
    Flag.atMost(MAX_OPTIONS + 1)
  )

const flags = {
  ...runServerFlags,
  option: repeated("option", "option", "Option: its number, label or id. Repeat it to choose several"),
  text: repeated("text", "text", "Your own text, a number, or yes or no. - reads it from stdin"),
  value: repeated("value", "question=value", "Answer to one of several questions. - reads it from stdin"),
  other: repeated(
    "other",
    "question=text",
    "Your own text instead of an option, for one of several questions"
  ),
  done: toggle("done", "You opened the address and are done"),
  decline: toggle("decline", "Give no answer"),
  approve: toggle("approve", "Approve the plan"),
  mode: Flag.Literals("mode", RunMode.literals).pipe(
    Flag.withDescription("With --approve: mode in which the plan is carried out. Default: ask"),
    Flag.optional
  ),
  sendBack: toggle("return", "Send the plan back, with --comment"),
  comment: Flag.String("comment").pipe(Flag.withDescription("Comment for the agent"), Flag.optional),
  json: jsonObject,
  question: inputArgument
}

const readStdin = Effect.try({
  try: () => readFileSync(0, "utf8").replace(/\r?\n$/u, ""),
  catch: () => refused("Can't read the answer from stdin.")
})

/** Texts with `-` replaced by stdin, which is read once. A secret does not appear on the command line then. */
const withStdin = Effect.fnUntraced(function* (flagged: AnswerArguments) {
  const isWhole = (text: string): boolean => text === "-"
  const isValue = (text: string): boolean => /^[^=]+=-$/u.test(text)
  const count =
    flagged.texts.filter(isWhole).length + [...flagged.values, ...flagged.others].filter(isValue).length
  if (count === 0) return flagged
  if (count > 1) return yield* refused("Only one value can come from stdin.")
  const stdin = yield* readStdin
  const read = (isStdin: (text: string) => boolean) => (text: string) =>
    isStdin(text) ? text.slice(0, -1) + stdin : text
  return {
    ...flagged,
    texts: flagged.texts.map(read(isWhole)),
    values: flagged.values.map(read(isValue)),
    others: flagged.others.map(read(isValue))
  }
})

/** Asks the person at the terminal. */
const askHere = Effect.fnUntraced(function* (request: InputRequest, runMode: RunMode) {
  const host = yield* Host
  if (request.state !== "pending") return yield* refused(`This is no longer open: ${request.state}.`)
  if (!host.interactive)
    return yield* refused(`Name an answer. Ways to answer: ${answerFlags(request).join("   or: ")}`)
  const paint = makePaint(host.colours)
  for (const row of requestLines(request)) host.write(`${paintRow(row, paint)}\n`)
  return yield* promptInput(host, request, runMode)
})

const answerOf = Effect.fnUntraced(function* (
  flagged: AnswerArguments,
  request: InputRequest,
  runMode: RunMode
) {
  if (isUnanswered(flagged)) {
    const answer: InputAnswer = yield* askHere(request, runMode)
    return flagged.comment === undefined ? answer : { ...answer, comment: flagged.comment }
  }
  const answer = readArguments(yield* withStdin(flagged), request, runMode)
  return "problem" in answer ? yield* refused(escapeMessage(answer.problem)) : answer
})

const escapeMessage = (text: string): string => text.split("\n").map(escapeLine).join("\n")

const tooLong = ({ comment, others, texts, values }: AnswerArguments): boolean =>
  [comment ?? "", ...others, ...texts, ...values].some((text) => text.length > MAX_INPUT_TEXT)

export const answerCommand = Command.make(
  "answer",
  flags,
  Effect.fn(function* ({ comment, json, mode, option, other, question, text, value, ...rest }) {
    const host = yield* Host
    const { approve, decline, done, sendBack, ...choice } = rest
    const flagged: AnswerArguments = {
      options: option,
      texts: text,
      values: value,
      others: other,
      done,
      decline,
      approve,
      sendBack,
      mode: Option.getOrUndefined(mode),
      comment: Option.getOrUndefined(comment)
    }
    if (tooLong(flagged)) return yield* refused("The answer is too long: at most 65,536 characters.")
    const server = yield* selectRunServer(choice)
    const id = yield* resolveInputId(server)(question)
    const request = yield* server.input(id)
    // The service refuses the answer to a question that is no longer open, and says how it ended.
    const { mode: runMode } = yield* server.run(request.runId)
    const answered = yield* server.answer(id, yield* answerOf(flagged, request, runMode))
    const next = yield* carryOutPlan(server, answered)
    if (json) return host.write(`${JSON.stringify(answered)}\n`)
    const paint = makePaint(host.colours)
    host.write(
      `${paintRow(
        inputResolutionLine(request, answered, (user) => user),
        paint
      )}\n`
    )
    if (next !== undefined) host.write(`carried out by ${next}\n`)
  })
).pipe(
  Command.withDescription("Answer a question of a run, or decide its plan"),
  Command.withExamples([
    { command: "corral answer inq_01K… --option 2", description: "The second option" },
    {
      command: "corral answer inq_01K… --option 1 --option 3 --text 'and logs'",
      description: "Several, with a text"
    },
    { command: "corral answer inq_01K… --approve --mode auto_edit", description: "Approve a plan" },
    { command: "corral answer inq_01K… --return --comment 'Test it first'", description: "Send a plan back" }
  ])
)
