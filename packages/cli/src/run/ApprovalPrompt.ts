/**
 * Asks the person at the terminal about one approval at a time. A question that was answered elsewhere is taken back.
 *
 * Lines that were typed before a question stood on the screen answer nothing.
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

/** What the person typed as an answer; undefined where it is none that this approval takes. */
export const parseAnswer = (typed: string, request: ApprovalRequest): TerminalAnswer | undefined => {
  const answer = answersByKey[typed.trim().toLowerCase().charAt(0)]
  return answer?.scope === "run" && !request.scopes.includes("run") ? undefined : answer
}

export const formatQuestion = (request: ApprovalRequest): string => {
  const always = request.scopes.includes("run") ? " · [a]lways in this run" : ""
  return `Allow it? [y]es${always} · [n]o · [c]ancel the run: `
}

export interface ApprovalPrompt {
  readonly ask: (approvalId: ApprovalId, request: ApprovalRequest) => Effect.Effect<void>
  /** It has been decided, here or elsewhere. */
  readonly settled: (approvalId: ApprovalId) => Effect.Effect<void>
}

/** Asks at the terminal; what is answered goes to `decide`, whose failures are its own. */
export const openApprovalPrompt = (
  decide: (approvalId: ApprovalId, answer: TerminalAnswer) => Effect.Effect<void>
): Effect.Effect<ApprovalPrompt, never, Host | Scope.Scope> =>
  Effect.gen(function* () {
    const host = yield* Host
    const open = yield* FiberMap.make<ApprovalId>()
    // Read, and dropped, from the start: what waits in the terminal when a question comes would answer it.
    yield* Effect.acquireRelease(
      Effect.sync(() => host.onLine(() => {})),
      (stop) => Effect.sync(stop)
    )
    const oneAtATime = yield* Semaphore.make(1)

    const answered = (request: ApprovalRequest) =>
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
          // The question was taken back: what follows starts on a line of its own.
          host.write("\n")
        })
      })

    return {
      ask: (approvalId, request) =>
        answered(request).pipe(
          Effect.flatMap((answer) => decide(approvalId, answer)),
          oneAtATime.withPermit,
          FiberMap.run(open, approvalId),
          Effect.asVoid
        ),
      settled: (approvalId) => FiberMap.remove(open, approvalId)
    }
  })
