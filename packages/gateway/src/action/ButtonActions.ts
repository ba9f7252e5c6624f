/**
 * Actions of the buttons on cards. A button carries only an opaque id; its action, its audience and its message are stored here.
 *
 * An id is derived from the action and a key that only Gateways have: ids cannot be guessed, and a card that is drawn again has the same
 * ids.
 * Does not: decide whether a user may do it.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { ApprovalId, DeviceId, ProjectId, TaskId, WorkspaceId, AgentId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash, createHmac } from "node:crypto"

/** Where a task runs, and by which agent. */
export const WorkLocation = Schema.Struct({
  projectId: ProjectId,
  targetId: DeviceId,
  workspace: WorkspaceId,
  agentId: AgentId,
  /** For a person: project, machine, workspace, agent. */
  names: Schema.Struct({
    project: Schema.String,
    target: Schema.String,
    agent: Schema.String
  })
})
export type WorkLocation = typeof WorkLocation.Type

export const ButtonMeaning = Schema.Union([
  Schema.TaggedStruct("Decide", { approvalId: ApprovalId, decision: Schema.Literals(["allow", "deny"]) }),
  Schema.TaggedStruct("Cancel", { taskId: TaskId }),
  Schema.TaggedStruct("Use", { talk: Schema.String, base: Schema.String, place: WorkLocation })
])
export type ButtonMeaning = typeof ButtonMeaning.Type

const encode = Schema.encodeSync(Schema.fromJsonString(ButtonMeaning))
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ButtonMeaning))

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

/** Buttons of one subject expire together, such as both answers to one approval. */
const subjectOf = (meaning: ButtonMeaning): string => {
  switch (meaning._tag) {
    case "Decide":
      return meaning.approvalId
    case "Cancel":
      return meaning.taskId
    case "Use":
      return meaning.talk
  }
}

interface Row {
  readonly meaning: string
  readonly audience: string | null
  readonly chat_id: string | null
  readonly message_id: string | null
  readonly over: boolean
}

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
    /** Expires all buttons of a subject, because it is decided. */
    readonly expire: (subject: string) => Effect.Effect<void, SqlError.SqlError>
    /** Deletes buttons a week after they expire. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Actions") {
  /** `key` is the same for all Gateways of one Hub. */
  static readonly layer = (key: Redacted.Redacted) =>
    Layer.effect(
      ButtonActions,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const clock = yield* Clock.Clock
        const now = () => new Date(clock.currentTimeMillisUnsafe())
        const idOf = ({ audience = "", bot, meaning }: ButtonOffer): string =>
          createHmac("sha256", `corral action ${Redacted.value(key)}`)
            .update(JSON.stringify([bot.platform, bot.app, bot.tenant, audience, encode(meaning)]))
            .digest()
            .subarray(0, 16)
            .toString("base64url")
        return ButtonActions.of({
          offer: Effect.fnUntraced(function* (offered) {
            const id = idOf(offered)
            const { audience = null, bot, expiresAt, meaning } = offered
            const row = {
              hash: hashOf(id),
              platform: bot.platform,
              app: bot.app,
              tenant: bot.tenant,
              meaning: encode(meaning),
              subject: subjectOf(meaning),
              audience,
              expires_at: new Date(expiresAt)
            }
            yield* sql`
              INSERT INTO actions ${sql.insert(row)}
              ON CONFLICT (hash) DO UPDATE SET expires_at = EXCLUDED.expires_at, used_at = NULL`
            return id
          }),
          attach: (ids, { chatId, messageId }) =>
            Effect.forEach(
              ids,
              (id) => sql`
                UPDATE actions SET chat_id = ${chatId}, message_id = ${messageId} WHERE hash = ${hashOf(id)}`,
              { discard: true }
            ),
          find: Effect.fnUntraced(function* ({ app, platform, tenant }, id) {
            const [row] = yield* sql<Row>`
              SELECT meaning, audience, chat_id, message_id, (used_at IS NOT NULL OR expires_at <= ${now()}) AS over
              FROM actions
              WHERE hash = ${hashOf(id)} AND platform = ${platform} AND app = ${app} AND tenant = ${tenant}`
            if (row === undefined) return undefined
            return {
              meaning: decode(row.meaning),
              audience: row.audience ?? undefined,
              chatId: row.chat_id ?? undefined,
              messageId: row.message_id ?? undefined,
              isExpired: row.over
            }
          }),
          expire: (subject) =>
            Effect.asVoid(
              sql`UPDATE actions SET used_at = ${now()} WHERE subject = ${subject} AND used_at IS NULL`
            ),
          deleteOld: Effect.suspend(() =>
            Effect.asVoid(
              sql`DELETE FROM actions WHERE expires_at < ${new Date(now().getTime() - 7 * 86_400_000)}`
            )
          )
        })
      })
    )
}
