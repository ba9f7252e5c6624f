/** The answer to a message: the final text of the run that received it. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import { Effect } from "effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import { Host } from "../terminal/Host.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const LOOK_EVERY = "500 millis"
/** Looks in a row that fail, before the wait ends. */
const MAX_LOST = 120

const undelivered = ({ delivery, id }: Message): CommandFailed | undefined =>
  delivery?.state === "failed" || delivery?.state === "withdrawn"
    ? new CommandFailed({
        message:
          delivery.state === "withdrawn"
            ? `Message ${id} was withdrawn.`
            : `Message ${id} was not delivered: ${escapeLine(delivery.error?.message ?? "no reason was reported.")}`,
        exitCode: exitCodes.failed,
        code: delivery.error?.code
      })
    : undefined

/** Reports each approval and each question of the run once: it waits for a person. */
const reportRequests = Effect.fnUntraced(function* (calls: HubApiClient, runId: RunId, seen: Set<string>) {
  const host = yield* Host
  const report = (id: string, text: string): void => {
    if (!seen.has(id)) host.warn(`${text}\n`)
    seen.add(id)
  }
  const query = { runId, state: "pending", limit: 200 } as const
  for (const { id, request } of (yield* calls.approvals.list({ query })).items)
    report(id, `needs a decision: ${escapeLine(request.title)}. \`${host.invocation} approvals allow ${id}\``)
  for (const { id, title } of (yield* calls.inputs.list({ query })).items)
    report(id, `needs an answer: ${escapeLine(title)}. \`${host.invocation} answer ${id}\``)
})

export const awaitAnswer = Effect.fn("AwaitAnswer.awaitAnswer")(function* (
  calls: HubApiClient,
  message: Message
) {
  const params = { id: message.sessionId }
  const seen = new Set<string>()
  let version = message.version - 1
  let runId = message.delivery?.runId
  let lost = 0
  const look = Effect.gen(function* () {
    const query = { changedAfter: version, limit: 200 }
    const { items } = yield* calls.sessions.messages({ params, query })
    lost = 0
    for (const each of items) {
      version = Math.max(version, each.version)
      if (each.id === message.id) {
        const failure = undelivered(each)
        if (failure !== undefined) return yield* failure
        runId = each.delivery?.runId ?? runId
      }
      // Answers come after the message. The text of a turn is one only at the end of the run.
      const isAnswer = each.author.kind === "agent" && (each.turn === undefined || each.outcome !== undefined)
      if (isAnswer && runId !== undefined && each.runId === runId) return each
    }
    if (runId !== undefined) yield* reportRequests(calls, runId, seen)
    return undefined
  }).pipe(
    Effect.catchIf(
      ({ isTransient }) => isTransient === true && ++lost < MAX_LOST,
      () => Effect.undefined
    )
  )
  for (;;) {
    const answer = yield* look
    if (answer !== undefined) return answer
    yield* Effect.sleep(LOOK_EVERY)
  }
})
