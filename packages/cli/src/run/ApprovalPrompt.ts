/** Approval prompt of the terminal, and the answers that it accepts. */
import type { ApprovalRequest, DecideApproval } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Host } from "../terminal/Host.ts"
import { promptLine, type PromptQueue } from "../terminal/PromptQueue.ts"

export type TerminalAnswer = Pick<DecideApproval, "decision" | "scope">

const answersByKey: Readonly<Record<string, TerminalAnswer>> = {
  y: { decision: "allow", scope: "once" },
  a: { decision: "allow", scope: "run" },
  n: { decision: "deny", scope: "once" },
  c: { decision: "cancel", scope: "once" }
}

/** Parses typed text. Returns undefined if this approval does not accept the answer. */
export const parseAnswer = (typed: string, request: ApprovalRequest): TerminalAnswer | undefined => {
  const answer = answersByKey[typed.trim().toLowerCase().charAt(0)]
  return answer?.scope === "run" && !request.scopes.includes("run") ? undefined : answer
}

export const formatQuestion = (request: ApprovalRequest): string => {
  const forRun = request.scopes.includes("run") ? " · [a]llow for this run" : ""
  return `Allow? [y]es${forRun} · [n]o · [c]ancel run: `
}

/** Asks about an approval. Passes the answer to `decide`, which handles its own failures. `open`: the answer did not arrive, so it asks again. */
export const askApproval = (
  queue: PromptQueue,
  host: Host["Service"],
  approvalId: ApprovalId,
  request: ApprovalRequest,
  decide: (answer: TerminalAnswer) => Effect.Effect<"settled" | "open">
): Effect.Effect<void> => {
  const line = promptLine(
    host,
    () => ({ text: formatQuestion(request) }),
    (typed) => parseAnswer(typed, request),
    queue.area
  )
  const answered = Effect.repeat(Effect.flatMap(line, decide), { while: (outcome) => outcome === "open" })
  return queue.ask(approvalId, Effect.asVoid(answered))
}
