/**
 * Approval prompt of the terminal: asks about one approval at a time, and withdraws the question if the approval is decided elsewhere.
 *
 * *Guarantees:* input typed before the question appears never answers it.
 */
import type { ApprovalRequest, DecideApproval } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { Effect, FiberMap, Semaphore, type Scope } from "effect"
import { Host } from "../terminal/Host.ts"

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

export interface ApprovalPrompt {
  readonly ask: (approvalId: ApprovalId, request: ApprovalRequest) => Effect.Effect<void>
  /** Withdraws the question after a decision, here or elsewhere. */
  readonly settled: (approvalId: ApprovalId) => Effect.Effect<void>
}

/** Opens the prompt. Passes each answer to `decide`, which handles its own failures. */
export const openApprovalPrompt = (
  decide: (approvalId: ApprovalId, answer: TerminalAnswer) => Effect.Effect<void>
): Effect.Effect<ApprovalPrompt, never, Host | Scope.Scope> =>
  Effect.gen(function* () {
    const host = yield* Host
    const open = yield* FiberMap.make<ApprovalId>()
    // Discard input from the start: buffered input would answer the first question.
    yield* Effect.acquireRelease(
      Effect.sync(() => host.onLine(() => {})),
      (stop) => Effect.sync(stop)
    )
    const oneAtATime = yield* Semaphore.make(1)

    const awaitAnswer = (request: ApprovalRequest) =>
      Effect.callback<TerminalAnswer>((resume) => {
        const question = formatQuestion(request)
        host.write(question)
        const stop = host.onLine((line) => {
          const answer = parseAnswer(line, request)
          if (answer === undefined) return host.write(question)
          stop()
          resume(Effect.succeed(answer))
        })
        return Effect.sync(() => {
          stop()
          // The question was withdrawn: the next output starts on a new line.
          host.write("\n")
        })
      })

    return {
      ask: (approvalId, request) =>
        awaitAnswer(request).pipe(
          Effect.flatMap((answer) => decide(approvalId, answer)),
          oneAtATime.withPermit,
          FiberMap.run(open, approvalId),
          Effect.asVoid
        ),
      settled: (approvalId) => FiberMap.remove(open, approvalId)
    }
  })
