/**
 * What the buttons of cards mean. A button carries an opaque id and nothing else; what it stands for, whose it is and on which message it was
 * put is here.
 *
 * An id follows from what it means and a key that only Gateways have: nobody can make one up, and a card that is drawn anew has the ones
 * that it had. Whether somebody may do it is not decided here.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import { ApprovalId, DeviceId, ProjectId, TaskId, WorkspaceId, AgentId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash, createHmac } from "node:crypto"

/** Where work is done, and by which agent. */
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

/** Whose chat platform a button is on. */
export type BotIdentity = Pick<ChatAccount, "platform" | "app" | "tenant">

export interface ButtonOffer {
  readonly bot: BotIdentity
  readonly meaning: ButtonMeaning
  /** The one account that may use it; absent: whoever the Hub lets. */
  readonly audience?: string | undefined
  /** Unix milliseconds. */
  readonly expiresAt: number
}

export interface ButtonAction {
  readonly meaning: ButtonMeaning
  readonly audience: string | undefined
  readonly chatId: string | undefined
  /** The message that it was put on; undefined where that is still on its way. */
  readonly messageId: string | undefined
  readonly isExpired: boolean
}

const hashOf = (id: string): Buffer => createHash("sha256").update(id).digest()

/** What is over together: both answers to one approval. */
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
    /** Its id, once it is kept. Offered again it is the same. */
    readonly offer: (offered: ButtonOffer) => Effect.Effect<string, SqlError.SqlError>
    /** The message on which they stand now. */
    readonly attach: (
      ids: ReadonlyArray<string>,
      message: { readonly chatId: string; readonly messageId: string }
    ) => Effect.Effect<void, SqlError.SqlError>
    /** What an id means at that bot. */
    readonly find: (
      bot: BotIdentity,
      id: string
    ) => Effect.Effect<ButtonAction | undefined, SqlError.SqlError>
    /** They are worth nothing any more: what they are about is decided. */
    readonly expire: (subject: string) => Effect.Effect<void, SqlError.SqlError>
    /** Forgets what ended a week ago. */
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
