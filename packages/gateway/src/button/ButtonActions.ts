/**
 * Actions of the buttons on cards. A button carries only an opaque id; its action, its audience and its message are stored here. An action is a
 * decision, an answer, a cancellation, an acceptance of changes, a location, or whether messages wait for a machine.
 *
 * Guarantees: ids cannot be guessed, and a card that is drawn again has the same ids. An id is derived from the action and a key that only
 * Gateways have.
 *
 * Does not: check permissions. The Hub does.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import {
  AgentId,
  ApprovalId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { createHash, createHmac } from "node:crypto"
import { queryRow, timedStore } from "../store/RowQueries.ts"

/** Where the agent of a session works, and which agent it is. */
export const WorkLocation = Schema.Struct({
  projectId: ProjectId,
  targetId: DeviceId,
  workspace: WorkspaceId,
  agentId: AgentId,
  /** Names for people. */
  names: Schema.Struct({
    project: Schema.String,
    target: Schema.String,
    agent: Schema.String
  })
})
export type WorkLocation = typeof WorkLocation.Type

/** Meaning of a button on a card, as it is stored: a decision, an answer, a cancellation, a location, or whether messages wait for a machine. */
export const ButtonMeaning = Schema.Union([
  Schema.TaggedStruct("Decide", { approvalId: ApprovalId, decision: Schema.Literals(["allow", "deny"]) }),
  /** Of cards that an earlier release sent. */
  Schema.TaggedStruct("Cancel", { taskId: TaskId }),
  Schema.TaggedStruct("Stop", { sessionId: SessionId, messageId: MessageId }),
  /** Answer to a question, by its place among the buttons: an option's number from 0, or what the card's fields contain. */
  Schema.TaggedStruct("Answer", {
    inputId: InputRequestId,
    how: Schema.Union([
      Schema.Literals(["submit", "skip", "approve", "return"]),
      Schema.Struct({ option: Schema.Int })
    ])
  }),
  /** A message that may be the answer to a question: whether it is, or goes to the agent as a message. */
  Schema.TaggedStruct("Reply", {
    talk: Schema.String,
    base: Schema.String,
    message: Schema.String,
    inputId: InputRequestId,
    isAnswer: Schema.Boolean
  }),
  /** End of the background work of a run. */
  Schema.TaggedStruct("Finish", { runId: RunId, follow: Schema.String }),
  /** Acceptance of all changes of a run, in the version whose counts the card shows. */
  Schema.TaggedStruct("Accept", { runId: RunId, version: Schema.String, follow: Schema.String }),
  Schema.TaggedStruct("Use", { talk: Schema.String, base: Schema.String, place: WorkLocation }),
  Schema.TaggedStruct("Queue", { talk: Schema.String, base: Schema.String, agreed: Schema.Boolean })
])
export type ButtonMeaning = typeof ButtonMeaning.Type

const StoredMeaning = Schema.fromJsonString(ButtonMeaning)

/** Buttons with the same subject expire together, such as both decisions on one approval. */
export const subjectOf = (meaning: ButtonMeaning): string => {
  switch (meaning._tag) {
    case "Decide":
      return meaning.approvalId
    case "Cancel":
      return meaning.taskId
    case "Stop":
      return meaning.messageId
    case "Answer":
      return meaning.inputId
    case "Reply":
      return `${meaning.talk} ${meaning.message}`
    case "Finish":
      return meaning.follow
    case "Accept":
      return `${meaning.follow} accept`
    case "Use":
      return meaning.talk
    case "Queue":
      return `${meaning.talk} queue`
  }
}

const WEEK_MS = 7 * 86_400_000

const encodeMeaning = Schema.encodeSync(StoredMeaning)

/** The bot whose card has the button. */
export type BotIdentity = Pick<ChatAccount, "platform" | "app" | "tenant">

export interface ButtonOffer {
  readonly bot: BotIdentity
  readonly meaning: ButtonMeaning
  /** The only account that may use the button. Without it, the Hub decides. */
  readonly audience?: string | undefined
  /** Unix milliseconds. */
  readonly expiresAt: number
}

export interface ButtonAction {
  readonly meaning: ButtonMeaning
  readonly audience: string | undefined
  readonly chatId: string | undefined
  /** The message with the button; undefined until it is sent. */
  readonly messageId: string | undefined
  readonly isExpired: boolean
}

const hashOf = (id: string): Buffer => createHash("sha256").update(id).digest()

/** Codec of the table `actions`. */
const ButtonActionRow = Schema.Struct({
  meaning: StoredMeaning,
  audience: Schema.NullOr(Schema.String),
  chat_id: Schema.NullOr(Schema.String),
  message_id: Schema.NullOr(Schema.String),
  is_expired: Schema.Boolean
})

const FindRequest = Schema.Struct({
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  id: Schema.String
})

export class ButtonActions extends Context.Service<
  ButtonActions,
  {
    /** Stores a button and returns its id. The same offer has the same id. */
    readonly offer: (offered: ButtonOffer) => Effect.Effect<string, SqlError.SqlError>
    /** Saves the message that has these buttons. */
    readonly attach: (
      ids: ReadonlyArray<string>,
      message: { readonly chatId: string; readonly messageId: string }
    ) => Effect.Effect<void, SqlError.SqlError>
    /** The button of an id at that bot. */
    readonly find: (
      bot: BotIdentity,
      id: string
    ) => Effect.Effect<ButtonAction | undefined, SqlError.SqlError>
    /** Expires all buttons of a subject. */
    readonly expire: (subject: string) => Effect.Effect<void, SqlError.SqlError>
    /** Deletes buttons a week after they expire. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/ButtonActions") {
  /** `key` is the same for all Gateways of one Hub. */
  static readonly layer = (key: Redacted.Redacted) =>
    Layer.effect(
      ButtonActions,
      Effect.gen(function* () {
        const { at, sql } = yield* timedStore
        const idOf = makeButtonId(key)
        const find = queryRow({
          Request: FindRequest,
          Result: ButtonActionRow,
          execute: ({ app, id, platform, tenant }) => sql`
            SELECT meaning, audience, chat_id, message_id, (used_at IS NOT NULL OR expires_at <= ${at()}) AS is_expired
            FROM actions
            WHERE hash = ${hashOf(id)} AND platform = ${platform} AND app = ${app} AND tenant = ${tenant}`
        })
        return ButtonActions.of({
          offer: Effect.fn("ButtonActions.offer")(function* (offered) {
            const id = idOf(offered)
            const { audience = null, bot, expiresAt, meaning } = offered
            const row = {
              hash: hashOf(id),
              platform: bot.platform,
              app: bot.app,
              tenant: bot.tenant,
              meaning: encodeMeaning(meaning),
              subject: subjectOf(meaning),
              audience,
              expires_at: new Date(expiresAt)
            }
            yield* sql`
              INSERT INTO actions ${sql.insert(row)}
              ON CONFLICT (hash) DO UPDATE SET expires_at = EXCLUDED.expires_at, used_at = NULL`
            return id
          }),
          attach: Effect.fn("ButtonActions.attach")((ids, { chatId, messageId }) =>
            Effect.forEach(
              ids,
              (id) => sql`
                UPDATE actions SET chat_id = ${chatId}, message_id = ${messageId} WHERE hash = ${hashOf(id)}`,
              { discard: true }
            )
          ),
          find: Effect.fn("ButtonActions.find")(function* ({ app, platform, tenant }, id) {
            const row = yield* find({ app, platform, tenant, id })
            if (row === undefined) return undefined
            return {
              meaning: row.meaning,
              audience: row.audience ?? undefined,
              chatId: row.chat_id ?? undefined,
              messageId: row.message_id ?? undefined,
              isExpired: row.is_expired
            }
          }),
          expire: Effect.fn("ButtonActions.expire")(function* (subject) {
            yield* sql`UPDATE actions SET used_at = ${at()} WHERE subject = ${subject} AND used_at IS NULL`
          }),
          deleteOld: Effect.suspend(() => sql`DELETE FROM actions WHERE expires_at < ${at(-WEEK_MS)}`).pipe(
            Effect.asVoid,
            Effect.withSpan("ButtonActions.deleteOld")
          )
        })
      })
    )
}

const makeButtonId =
  (key: Redacted.Redacted) =>
  ({ audience = "", bot, meaning }: ButtonOffer): string =>
    createHmac("sha256", `corral action ${Redacted.value(key)}`)
      .update(JSON.stringify([bot.platform, bot.app, bot.tenant, audience, encodeMeaning(meaning)]))
      .digest()
      .subarray(0, 16)
      .toString("base64url")
