/** Messages of a session that are texts of its agents: one for each turn, and one for each end of a run whose text is another. */
import type { Message } from "@corral/domain/session/Message"

/** Those of ended turns whose run was neither cancelled nor failed, in the order of the messages. */
export const answersIn = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> =>
  messages.filter(
    ({ author, outcome, turn }) =>
      author.kind === "agent" && (outcome === undefined ? turn !== undefined : outcome === "completed")
  )
