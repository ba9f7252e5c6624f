/**
 * Admission of a new message: who receives it and when, and whether its author may send it. The statements run in the caller's transaction.
 */
import { type Proof, roleRefusal } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import {
  type MessageId,
  type RequestId,
  RunId,
  type SessionId,
  type UserId
} from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import { hasSameLimits, limitsOfTurn, type RunLimits } from "@corral/domain/run/Budget"
import { CreateRun, MAX_PROMPT_BYTES, type RunMode } from "@corral/domain/run/Run"
import type { CreateMessage } from "@corral/domain/session/Message"
import { titleFrom } from "@corral/domain/session/Session"
import type { OnOffline } from "@corral/domain/task/Task"
import { mint } from "@corral/service/Identifiers"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAttachmentRefusal, takeUploads } from "../attachment/MessageAttachments.ts"
import { Audit } from "../audit/Audit.ts"
import { narrowedMode, requireChatMode } from "../authority/HubAuthority.ts"
import type { ProjectProof } from "../authority/ProjectProof.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { validationFailure } from "../run/OfferRefusal.ts"
import { insertMessage, noteColumns, type UserMessageRow } from "../session/MessageStore.ts"
import { findSessionAgent, type SessionAgentRow } from "../session/SessionAgentStore.ts"
import { limitColumnsOf, limitsIn, isRunOf, lockActiveSession } from "../session/SessionTable.ts"
import { endedRunStates, openTaskStates } from "../store/StateLists.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { expiryOf, findTargetRefusal } from "../task/TaskAdmission.ts"

/** Who sends a message. */
export interface Sender {
  readonly proof: ProjectProof<"session.write">
  readonly principal: Principal
  readonly requestId: RequestId
}

export class MessageSending {
  private readonly sql: SqlClient.SqlClient
  private readonly router: EdgeRouter["Service"]
  private readonly targets: Targets["Service"]
  private readonly audit: Audit["Service"]
  private readonly now: () => Date

  private constructor(
    sql: SqlClient.SqlClient,
    router: EdgeRouter["Service"],
    targets: Targets["Service"],
    audit: Audit["Service"],
    now: () => Date
  ) {
    this.sql = sql
    this.router = router
    this.targets = targets
    this.audit = audit
    this.now = now
  }

  static readonly make = (now: () => Date) =>
    Effect.gen(function* () {
      return new MessageSending(
        yield* SqlClient.SqlClient,
        yield* EdgeRouter,
        yield* Targets,
        yield* Audit,
        now
      )
    })

  /** Adds the message and returns its row. */
  readonly send = Effect.fnUntraced(
    { self: this },
    function* (sender: Sender, sessionId: SessionId, message: CreateMessage) {
      const { now, sql } = this
      const { proof } = sender
      const at = yield* lockActiveSession(sql, proof, sessionId, now())
      const { attachments: uploads = [], runId } = message
      if (runId !== undefined && !(yield* isRunOf(sql, sessionId, runId)))
        return yield* new PermissionDenied()
      const agent = yield* this.findRecipient(sessionId, message)
      const row: Omit<UserMessageRow, "version"> = {
        ...noteColumns,
        id: mint<MessageId>("msg", at.getTime()),
        session_id: sessionId,
        user_id: proof.principal as UserId,
        agent_instance_id: null,
        text: message.text,
        run_id: runId ?? null,
        recipient: "people",
        attachments: yield* takeUploads(sql, authorOf(proof), sessionId, uploads, at),
        created_at: at
      }
      const addressed =
        agent === undefined ? row : { ...row, ...(yield* this.addressTo(sender, agent, message)) }
      const stored = yield* insertMessage(sql, addressed, titleFrom(message.text))
      if (stored === undefined)
        return yield* Effect.die(new Error("A new message has the id of another one."))
      if (addressed.to_run_id !== null) yield* this.recordInput(sender, addressed.to_run_id, row.id)
      return stored
    }
  )

  /** The agent that receives the message; `undefined` for a note. */
  private readonly findRecipient = Effect.fnUntraced(
    { self: this },
    function* (sessionId: SessionId, { runId, to }: CreateMessage) {
      const { sql } = this
      // A message about a run was a note before messages had recipients.
      if (to === "people" || (to === undefined && runId !== undefined)) return undefined
      const agent = yield* findSessionAgent(
        sql,
        sessionId,
        to ?? sql`(SELECT default_agent FROM sessions WHERE id = ${sessionId})`
      )
      if (to !== undefined && agent === undefined)
        return yield* validationFailure("to", "Expected an agent of the session")
      if (agent !== undefined && agent.closed_at !== null) return yield* closedAgent()
      return agent
    }
  )

  /** Columns of a message to the agent. */
  private readonly addressTo = Effect.fnUntraced(
    { self: this },
    function* (sender: Sender, agent: SessionAgentRow, message: CreateMessage) {
      const { now, sql } = this
      const { attachments = [], expiresAt, onOffline = "fail", when = "next" } = message
      const live = when === "now" ? yield* findLiveRun(sql, agent) : undefined
      if (live !== undefined) yield* this.checkInput(sender, agent, live.made, message)
      const mode = live?.made.mode ?? message.mode ?? narrowedMode(sender.principal, agent.mode)
      const model = live?.made.model ?? message.model ?? agent.model ?? undefined
      const limits = live === undefined ? limitsOfTurn(message, limitsIn(agent)) : live.made
      yield* this.requireTurn(sender, agent, {
        text: message.text,
        mode,
        model,
        limits,
        onOffline,
        attachments
      })
      const wait = expiresAt === undefined ? undefined : { expiresAt, onOffline }
      return {
        recipient: agent.id,
        // Without a run in progress, further input is the next turn.
        send_when: live === undefined ? ("next" as const) : when,
        mode,
        model: model ?? null,
        ...limitColumnsOf(limits),
        on_offline: onOffline,
        expires_at: wait === undefined ? null : yield* expiryOf(wait, now().getTime()),
        delivery: "pending" as const,
        to_run_id: live?.id ?? null
      }
    }
  )

  /** Fails where the run can't take the message as input: it must be of the same mode and model, and its agent must accept input. */
  private readonly checkInput = Effect.fnUntraced(
    { self: this },
    function* (
      { principal }: Sender,
      { agent_id, target_id }: SessionAgentRow,
      run: CreateRun,
      message: CreateMessage
    ) {
      const { targets } = this
      const { mode, model } = message
      const isSame =
        (mode === undefined || mode === run.mode) &&
        (model === undefined || model === run.model) &&
        hasSameLimits(limitsOfTurn(message, run), run)
      if (!isSame)
        return yield* new Conflict({
          message:
            "A run in progress keeps its mode, its model and its limits. Send the message as the next turn to change them."
        })
      const offer = yield* targets.lastOffer(target_id)
      if (findAgent(offer?.agents, agent_id)?.capabilities.input !== true)
        return yield* new Conflict({
          message: "This agent takes no input during a run. Send the message as the next turn."
        })
      yield* requireChatMode(principal, run.mode)
    }
  )

  /** What a turn of an agent needs: the author's authority, and the offer of the target. */
  readonly requireTurn = Effect.fnUntraced(
    { self: this },
    function* (
      { principal, proof }: Sender,
      agent: SessionAgentRow,
      turn: {
        readonly text: string
        readonly mode: RunMode
        readonly model: string | undefined
        readonly limits: RunLimits
        readonly onOffline: OnOffline
        readonly attachments: ReadonlyArray<unknown>
      }
    ) {
      const { agent_id: agentId, isolation, target_id: targetId, workspace } = agent
      const { projectId } = proof
      if (agent.closed_at !== null) return yield* closedAgent()
      const { attachments, limits, mode, model, onOffline, text } = turn
      const role = roleRefusal("task.create", proof.role)
      if (role !== undefined) return yield* role
      if (Buffer.byteLength(text) > MAX_PROMPT_BYTES)
        return yield* validationFailure("text", "Expected at most 256 KiB of text")
      yield* requireChatMode(principal, mode)
      const author = authorOf(proof)
      const refusal = yield* findTargetRefusal(this.targets, { author, projectId, targetId, workspace })
      if (refusal !== undefined) return yield* refusal
      const tooOld = yield* findAttachmentRefusal(this.targets, targetId, attachments)
      if (tooOld !== undefined) return yield* tooOld
      const create: CreateRun = {
        workspace,
        agentId,
        input: { text },
        mode,
        ...limitsOfTurn(limits, {}),
        ...(model === undefined ? {} : { model }),
        ...(isolation === null ? {} : { isolation })
      }
      const offered = this.router.checkOffer(targetId, create)
      yield* onOffline === "queue" ? Effect.catchTag(offered, "TargetOffline", () => Effect.void) : offered
    }
  )

  /** Before the input is sent, so that no approval of the run comes first. */
  private readonly recordInput = Effect.fnUntraced(
    { self: this },
    function* ({ proof, requestId }: Sender, runId: RunId, id: MessageId) {
      const { audit, sql } = this
      const actor = authorOf(proof)
      yield* sql`
    INSERT INTO run_requesters ${sql.insert({ run_id: runId, user_id: actor, input: id })} ON CONFLICT DO NOTHING`
      const { projectId } = proof
      const auditedAction = { action: "run.input", resource: runId, projectId } as const
      yield* audit.record({ ...auditedAction, actor, requestId, outcome: "allowed", code: null })
    }
  )
}

const closedAgent = () =>
  new Conflict({
    message: "This agent is closed: another candidate was continued. Its changes can still be decided.",
    details: { reason: "closed" }
  })

/** The principal of a proof that a sign-in made is a user. */
export const authorOf = ({ principal }: Proof<"session.write">): UserId => principal as UserId

/** The run of an agent that is in progress, as far as the Hub knows. */
const liveRunRows = storedRows("runs", Schema.Struct({ id: RunId, made: jsonColumn(CreateRun) }))

/** `undefined` while the agent has no run whose events the Hub has. */
const findLiveRun = (sql: SqlClient.SqlClient, { id }: Pick<SessionAgentRow, "id">) =>
  liveRunRows.first(sql`
    SELECT r.id, r.made FROM tasks t JOIN runs r ON r.id = t.run_id
    WHERE t.agent_instance_id = ${id} AND t.state IN ${openTaskStates(sql)}
      AND r.last_seq > 0 AND r.state NOT IN ${endedRunStates(sql)}
    ORDER BY r.id DESC LIMIT 1`)
