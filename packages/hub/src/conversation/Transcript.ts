/**
 * The conversation so far as a text, for a runtime that does not remember it. Contains the messages that reached an agent and the texts of turns, the
 * newest where not all fit. Notes are left out.
 *
 * Guarantees: each line of the transcript begins with `| `, so no message can end it or add to it.
 */
import { AgentInstanceId, type MessageId, UserId } from "@corral/domain/identity/Ids"
import { MAX_PROMPT_BYTES } from "@corral/domain/run/Run"
import type { Attachment } from "@corral/domain/session/Attachment"
import { transcribedPrompt } from "@corral/domain/session/TranscribedPrompt"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { attachmentsColumn } from "../session/MessageStore.ts"
import type { SessionAgentRow } from "../session/SessionAgentStore.ts"
import { storedRows } from "../store/StoredRows.ts"

/** Largest transcript, in bytes. */
export const MAX_TRANSCRIPT_BYTES = 65_536
/** Largest number of messages that are read for one. */
const MAX_MESSAGES = 400

const LEFT_OUT = "| (Earlier messages are left out.)"

const TranscriptTurn = Schema.Struct({
  user_id: Schema.NullOr(UserId),
  agent_instance_id: Schema.NullOr(AgentInstanceId),
  label: Schema.NullOr(Schema.String),
  contributors: Schema.Array(UserId),
  text: Schema.String,
  attachments: attachmentsColumn
})
type TranscriptTurn = typeof TranscriptTurn.Type

const turnRows = storedRows("messages", TranscriptTurn)

/** A prompt that begins with a transcript, the users whose messages it contains, and the files that it names. */
export interface TranscribedPrompt {
  readonly text: string
  readonly authors: ReadonlyArray<UserId>
  /** Newest first. */
  readonly attachments: ReadonlyArray<Attachment>
}

/** The message after the conversation before it. What other candidates of the agent's group received and wrote is left out. */
export const withTranscript = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { group_id, id, session_id }: Pick<SessionAgentRow, "group_id" | "id" | "session_id">,
  before: MessageId,
  message: string
) {
  const newestFirst = yield* turnRows.all(sql`
    SELECT m.user_id, m.agent_instance_id, a.label, m.contributors, left(m.text, ${MAX_TRANSCRIPT_BYTES}) AS text, m.attachments
    FROM messages m LEFT JOIN session_agents a ON a.session_id = m.session_id AND a.id = m.agent_instance_id
    WHERE m.session_id = ${session_id} AND m.id < ${before} AND (m.delivery = 'delivered' OR m.agent_instance_id IS NOT NULL)
      AND NOT EXISTS (
        SELECT 1 FROM session_agents c WHERE c.session_id = m.session_id AND c.id = COALESCE(m.agent_instance_id, m.recipient)
          AND c.group_id IS NOT NULL AND c.id <> ${id} AND (c.group_id = ${group_id} OR c.closed_at IS NOT NULL)
      )
    ORDER BY m.id DESC LIMIT ${MAX_MESSAGES}`)
  return transcribe(newestFirst, message)
})

/** Pure part. `newestFirst`: the turns before the message. */
export const transcribe = (
  newestFirst: ReadonlyArray<TranscriptTurn>,
  message: string
): TranscribedPrompt => {
  const room = Math.min(MAX_TRANSCRIPT_BYTES, MAX_PROMPT_BYTES - Buffer.byteLength(message)) - OVERHEAD
  const entries: Array<string> = []
  const authors = new Set<UserId>()
  const attachments: Array<Attachment> = []
  let used = 0
  for (const turn of newestFirst) {
    const entry = entryOf(turn)
    const size = Buffer.byteLength(entry) + 1
    if (used + size > room) break
    used += size
    entries.unshift(entry)
    attachments.push(...turn.attachments.toReversed())
    for (const author of [turn.user_id, ...turn.contributors]) if (author !== null) authors.add(author)
  }
  if (entries.length === 0) return { text: message, authors: [], attachments: [] }
  const isCut = entries.length < newestFirst.length
  const text = transcribedPrompt([...(isCut ? [LEFT_OUT] : []), ...entries], message)
  return { text, authors: [...authors], attachments }
}

const OVERHEAD = Buffer.byteLength(transcribedPrompt([LEFT_OUT], ""))

const entryOf = ({ agent_instance_id, attachments, label, text }: TranscriptTurn): string => {
  const name = agent_instance_id === null ? "User" : (label ?? "Agent")
  const files = attachments.map(({ name }) => `(Attached file: ${name})`)
  return [`${name}:`, ...text.split(/\r\n|[\r\n\u2028\u2029]/), ...files]
    .map((line) => `| ${line}`)
    .join("\n")
}
