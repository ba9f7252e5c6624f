/** Prompt of the terminal for a question, a form or a plan: one line for each answer. Secrets are not shown. */
import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/approval/RunMode"
import { Effect } from "effect"
import { promptLine, type PromptArea } from "../terminal/PromptQueue.ts"
import type { Host } from "../terminal/Host.ts"
import { AnswerDraft } from "./AnswerDraft.ts"
import { questionRows } from "./QuestionLines.ts"

/** Plain text of the question that comes next, where there are several. */
const questionText = (draft: AnswerDraft): string =>
  draft.question === undefined
    ? ""
    : `${questionRows(draft.question)
        .map((row) => row.map(({ text }) => text).join(""))
        .join("\n")}\n`

/** Asks until the person has answered, or skipped the request. */
export const promptInput = (
  host: Host["Service"],
  request: RequestedInput,
  runMode: RunMode,
  area?: PromptArea
): Effect.Effect<InputAnswer> =>
  Effect.suspend(() => {
    const draft = new AnswerDraft(request, runMode)
    // The block of the request shows the first question.
    let before = ""
    return promptLine(
      host,
      () => ({ text: `${before}${draft.prompt}: `, isHidden: draft.isSecret }),
      (line) => {
        const step = draft.accept(line)
        if (step.kind === "done") return step.answer
        before = step.kind === "problem" ? `${step.message}\n` : draft.awaitsText ? "" : questionText(draft)
        return undefined
      },
      area
    )
  })
