/**
 * Messages to people and agents: sent, changed, withdrawn and sent again. `Deliveries` takes pending messages to their agents.
 *
 * Does not: open transactions; callers run writes in one.
 */
import type { AgentInstanceId, SessionId } from "@corral/domain/identity/Ids"
import type { CreateMessage, Message, UpdateMessage } from "@corral/domain/session/Message"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { messageOf } from "../session/MessageRow.ts"
import {
  continueQueue,
  editMessage,
  type MessageAddress,
  retryMessage,
  withdrawMessage
} from "./MessageEditing.ts"
import { type Sender, sendMessage, type SendingContext } from "./MessageSending.ts"

type Sent<E> = Effect.Effect<Message, E>
type SendFailure = Effect.Error<ReturnType<typeof sendMessage>>
type EditFailure = Effect.Error<ReturnType<typeof editMessage>>

export class SentMessages extends Context.Service<
  SentMessages,
  {
    readonly send: (sender: Sender, sessionId: SessionId, message: CreateMessage) => Sent<SendFailure>
    readonly edit: (sender: Sender, address: MessageAddress, change: UpdateMessage) => Sent<EditFailure>
    readonly withdraw: (
      sender: Sender,
      address: MessageAddress
    ) => Sent<Effect.Error<ReturnType<typeof withdrawMessage>>>
    readonly retry: (
      sender: Sender,
      address: MessageAddress
    ) => Sent<Effect.Error<ReturnType<typeof retryMessage>>>
    /** Delivers the held messages of an agent. */
    readonly continueQueue: (
      sender: Sender,
      sessionId: SessionId,
      agentId: AgentInstanceId
    ) => ReturnType<typeof continueQueue>
  }
>()("corral/hub/SentMessages") {
  static readonly layer = Layer.effect(
    SentMessages,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const context: SendingContext = {
        sql: yield* SqlClient.SqlClient,
        audit: yield* Audit,
        router: yield* EdgeRouter,
        targets: yield* Targets,
        now: () => new Date(clock.currentTimeMillisUnsafe())
      }
      return SentMessages.of({
        send: Effect.fn("SentMessages.send")(function* (sender, sessionId, message) {
          return messageOf(yield* sendMessage(context, sender, sessionId, message))
        }),
        edit: Effect.fn("SentMessages.edit")(function* (sender, address, change) {
          return messageOf(yield* editMessage(context, sender, address, change))
        }),
        withdraw: Effect.fn("SentMessages.withdraw")(function* (sender, address) {
          return messageOf(yield* withdrawMessage(context, sender, address))
        }),
        retry: Effect.fn("SentMessages.retry")(function* (sender, address) {
          return messageOf(yield* retryMessage(context, sender, address))
        }),
        continueQueue: Effect.fn("SentMessages.continueQueue")(function* (sender, sessionId, agentId) {
          return yield* continueQueue(context, sender, sessionId, agentId)
        })
      })
    })
  )
}
