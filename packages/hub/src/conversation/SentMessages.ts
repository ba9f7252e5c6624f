/**
 * Messages to people and agents: sent, changed, withdrawn and sent again. `Deliveries` takes pending messages to their agents.
 *
 * Guarantees: a change and the delivery exclude each other. Both lock the message, and a task of the message is cancelled only while it has no run.
 * Does not: open transactions; callers run writes in one.
 */
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { AgentInstanceId, MessageId, SessionId } from "@corral/domain/identity/Ids"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { CreateMessage, Message, UpdateMessage } from "@corral/domain/session/Message"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { lockProject } from "../project/ProjectRow.ts"
import {
  changeMessage,
  MESSAGE_COLUMNS,
  messageOf,
  type UserMessageRow,
  userMessageRows
} from "../session/MessageStore.ts"
import { agentInstanceOf, findSessionAgent } from "../session/SessionAgentStore.ts"
import { limitColumnsOf, limitsIn, storedBudget, lockActiveSession } from "../session/SessionTable.ts"
import { announced } from "../store/Notices.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { MessageSending, type Sender, authorOf } from "./MessageSending.ts"

type Sent<E> = Effect.Effect<Message, E>
type SendFailure = Effect.Error<ReturnType<MessageSending["send"]>>
type EditFailure = Effect.Error<ReturnType<MessageChanges["edit"]>>

export class SentMessages extends Context.Service<
  SentMessages,
  {
    readonly send: (sender: Sender, sessionId: SessionId, message: CreateMessage) => Sent<SendFailure>
    readonly edit: (sender: Sender, address: MessageAddress, change: UpdateMessage) => Sent<EditFailure>
    readonly withdraw: (
      sender: Sender,
      address: MessageAddress
    ) => Sent<Effect.Error<ReturnType<MessageChanges["withdraw"]>>>
    readonly retry: (
      sender: Sender,
      address: MessageAddress
    ) => Sent<Effect.Error<ReturnType<MessageChanges["retry"]>>>
    /** Delivers the held messages of an agent. */
    readonly continueQueue: (
      sender: Sender,
      sessionId: SessionId,
      agentId: AgentInstanceId
    ) => ReturnType<MessageChanges["continueQueue"]>
  }
>()("corral/hub/SentMessages") {
  static readonly layer = Layer.effect(
    SentMessages,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => new Date(clock.currentTimeMillisUnsafe())
      const sending = yield* MessageSending.make(now)
      const changes = new MessageChanges(yield* SqlClient.SqlClient, sending, now)
      return SentMessages.of({
        send: Effect.fn("SentMessages.send")(function* (sender, sessionId, message) {
          return messageOf(yield* sending.send(sender, sessionId, message))
        }),
        edit: Effect.fn("SentMessages.edit")(function* (sender, address, change) {
          return messageOf(yield* changes.edit(sender, address, change))
        }),
        withdraw: Effect.fn("SentMessages.withdraw")(function* (sender, address) {
          return messageOf(yield* changes.withdraw(sender, address))
        }),
        retry: Effect.fn("SentMessages.retry")(function* (sender, address) {
          return messageOf(yield* changes.retry(sender, address))
        }),
        continueQueue: Effect.fn("SentMessages.continueQueue")(function* (sender, sessionId, agentId) {
          return yield* changes.continueQueue(sender, sessionId, agentId)
        })
      })
    })
  )
}

/** A message of a session of the proof's project. */
interface MessageAddress {
  readonly sessionId: SessionId
  readonly id: MessageId
}

class MessageChanges {
  private readonly sql: SqlClient.SqlClient
  private readonly sending: MessageSending
  private readonly now: () => Date

  constructor(sql: SqlClient.SqlClient, sending: MessageSending, now: () => Date) {
    this.sql = sql
    this.sending = sending
    this.now = now
  }

  readonly edit = Effect.fnUntraced(
    { self: this },
    function* (sender: Sender, address: MessageAddress, change: UpdateMessage) {
      const { now, sql } = this
      const { version } = change
      const message = yield* this.takeBack(sender, address)
      if (message.version !== version) return yield* new Conflict()
      if (message.from_task)
        return yield* new Conflict({ message: "This message is the prompt of a task and can't be changed." })
      const { mode = message.mode ?? "ask", model = message.model, text = message.text } = change
      const { budget, timeout_ms } = yield* this.changedLimits(message, change)
      yield* this.requireTurn(sender, { ...message, mode, model, text, budget, timeout_ms })
      return yield* stored(
        yield* changeMessage(
          sql,
          address.sessionId,
          address.id,
          sql`text = ${text}, mode = ${mode}, model = ${model}, budget = ${storedBudget(budget)}, timeout_ms = ${timeout_ms},
        edited_at = ${now()}, ${this.contribution(sender)}, task_id = NULL, waits_for = NULL, attempt = attempt + 1`,
          sql`delivery = 'pending'`
        )
      )
    }
  )

  /** The limits of a message after a change. What the change removes is the agent's; what it leaves alone stays, also after a change of the agent. */
  private readonly changedLimits = Effect.fnUntraced(
    { self: this },
    function* (message: UserMessageRow, change: UpdateMessage) {
      const { recipient, session_id } = message
      const agent = yield* findSessionAgent(this.sql, session_id, recipient)
      const { budget = message.budget, timeoutMs = message.timeout_ms } = change
      const turn = { budget: budget ?? undefined, timeoutMs: timeoutMs ?? undefined }
      const defaults = agent === undefined ? {} : limitsIn(agent)
      return limitColumnsOf(
        limitsOfTurn(turn, {
          budget: change.budget === undefined ? undefined : defaults.budget,
          timeoutMs: change.timeoutMs === undefined ? undefined : defaults.timeoutMs
        })
      )
    }
  )

  /** A message that is withdrawn already stays so. */
  readonly withdraw = Effect.fnUntraced({ self: this }, function* (sender: Sender, address: MessageAddress) {
    const { sql } = this
    const current = yield* this.find(sender, address)
    if (current.delivery === "withdrawn") return current
    yield* this.takeBack(sender, address)
    return yield* stored(
      yield* changeMessage(
        sql,
        address.sessionId,
        address.id,
        sql`delivery = 'withdrawn'`,
        sql`delivery = 'pending'`
      )
    )
  })

  /** The message is delivered again, under the same id and at its place in the order. */
  readonly retry = Effect.fnUntraced({ self: this }, function* (sender: Sender, address: MessageAddress) {
    const { now, sql } = this
    yield* lockActiveSession(sql, sender.proof, address.sessionId, now())
    const message = yield* this.find(sender, address)
    if (message.delivery !== "failed")
      return yield* new Conflict({ message: "Only a failed message can be sent again." })
    if (message.from_task)
      return yield* new Conflict({
        message: "This message is the prompt of a task. Create the task again."
      })
    yield* this.requireTurn(sender, message)
    return yield* stored(
      yield* changeMessage(
        sql,
        address.sessionId,
        address.id,
        sql`delivery = 'pending', error = NULL, task_id = NULL, to_run_id = NULL, context = NULL, send_when = 'next', waits_for = NULL, held = FALSE,
        attempt = attempt + 1, ${this.contribution(sender)},
        expires_at = CASE WHEN expires_at > ${now()} THEN expires_at END`,
        sql`delivery = 'failed'`
      )
    )
  })

  /** Ends the hold of the agent's queue: its messages are delivered in their order. The caller becomes a contributor of each. */
  readonly continueQueue = Effect.fnUntraced(
    { self: this },
    function* (sender: Sender, sessionId: SessionId, agentId: AgentInstanceId) {
      const { now, sql } = this
      yield* lockActiveSession(sql, sender.proof, sessionId, now())
      const held = yield* userMessageRows.all(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages
    WHERE session_id = ${sessionId} AND recipient = ${agentId} AND delivery = 'pending' AND held ORDER BY id`)
      for (const message of held) yield* this.requireTurn(sender, message)
      for (const { id } of held)
        yield* changeMessage(
          sql,
          sessionId,
          id,
          sql`held = FALSE, ${this.contribution(sender)}`,
          sql`delivery = 'pending' AND held`
        )
      const agent = yield* findSessionAgent(sql, sessionId, agentId)
      return agent === undefined ? yield* new PermissionDenied() : agentInstanceOf(agent)
    }
  )

  /** Locks a pending message, and cancels its task where that has no run yet. Takes locks in the order project, task, session, message. */
  private readonly takeBack = Effect.fnUntraced(
    { self: this },
    function* (sender: Sender, address: MessageAddress) {
      const { now, sql } = this
      const { delivery, task_id } = yield* this.find(sender, address)
      if (delivery !== "pending")
        return yield* new Conflict({ message: "This message is no longer pending." })
      yield* lockProject(sql, sender.proof.projectId)
      if (task_id !== null) {
        const cancelled = yield* announced(
          sql,
          "task",
          sql`
        UPDATE tasks SET state = 'cancelled', updated_at = ${now()}
        WHERE id = ${task_id} AND run_id IS NULL AND state IN ${waitingTaskStates(sql)} RETURNING id`
        )
        if (cancelled.length === 0) return yield* onItsWay
      }
      yield* lockActiveSession(sql, sender.proof, address.sessionId, now())
      const message = yield* this.find(sender, address)
      if (message.delivery !== "pending" || message.task_id !== task_id || message.send_when === "now")
        return yield* onItsWay
      return message
    }
  )

  private readonly find = Effect.fnUntraced(
    { self: this },
    function* ({ proof }: Sender, { id, sessionId }: MessageAddress) {
      const { sql } = this
      const row = yield* userMessageRows.first(sql`
    SELECT ${sql.literal(MESSAGE_COLUMNS)} FROM messages WHERE id = ${id} AND user_id IS NOT NULL
      AND session_id = (SELECT id FROM sessions WHERE id = ${sessionId} AND project_id = ${proof.projectId})`)
      return row ?? (yield* new PermissionDenied())
    }
  )

  /** The user who changes or retries a message needs what its author needed. */
  private readonly requireTurn = Effect.fnUntraced(
    { self: this },
    function* (sender: Sender, message: UserMessageRow) {
      const { sql } = this
      const { attachments, mode, model, on_offline, recipient, session_id, text } = message
      const agent = yield* findSessionAgent(sql, session_id, recipient)
      if (agent === undefined)
        return yield* new Conflict({ message: "The agent was removed from the session." })
      yield* this.sending.requireTurn(sender, agent, {
        text,
        mode: mode ?? "ask",
        model: model ?? undefined,
        limits: limitsIn(message),
        onOffline: on_offline ?? "fail",
        attachments
      })
    }
  )

  /** The caller becomes a contributor, unless it is the author. */
  private contribution({ proof }: Sender) {
    const { sql } = this
    const userId = authorOf(proof)
    return sql`contributors = CASE
    WHEN user_id = ${userId} OR ${userId} = ANY(contributors) THEN contributors ELSE contributors || ${userId}::text END`
  }
}

const onItsWay = new Conflict({ message: "This message is being delivered. Cancel its run instead." })

/** The row is locked, so the condition of the change holds. */
const stored = <Row>(row: Row | undefined) =>
  row === undefined ? Effect.die(new Error("A locked message has changed.")) : Effect.succeed(row)
