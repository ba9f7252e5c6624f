/** `corral questions`: questions, forms and plans that need an answer. */
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonLines, runServerFlags } from "../Flags.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { formatItem } from "../terminal/ItemLines.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

type ListedQuestion = Pick<InputRequest, "id" | "runId" | "agentId" | "workspace" | "kind" | "title">

export const formatInputRequest = (
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
