/** Text of one session: its agents and its latest messages. */
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { fileRows } from "../attachment/FileText.ts"
import { datedTime, localTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { type Row, wrapSpans } from "../terminal/WrapText.ts"
import { detail, textRows } from "./ShowRun.ts"

const authorOf = ({ author }: Message, { agents }: Session, names: ReadonlyMap<string, string>): string =>
  author.kind === "agent"
    ? (agents.find(({ id }) => id === author.agentInstanceId)?.label ?? "agent")
    : (names.get(author.userId) ?? author.userId)

/** State of a message that no agent has. */
const stateOf = ({ author, delivery, error, outcome }: Message): string => {
  if (author.kind === "agent")
    return outcome === "completed" || outcome === undefined
      ? ""
      : ` · ${outcome}${error === undefined ? "" : `: ${error.message}`}`
  if (delivery === undefined) return " · note"
  return delivery.state === "delivered"
    ? ""
    : ` · ${delivery.state}${delivery.error === undefined ? "" : `: ${delivery.error.message}`}`
}

/** `messages`: oldest first. `now`: milliseconds since 1970. */
export const sessionDetails = (
  session: Session,
  messages: ReadonlyArray<Message>,
  names: ReadonlyMap<string, string>,
  columns: number,
  now: number
): ReadonlyArray<Row> => {
  const { agents, defaultAgentInstanceId, id, state, title, updatedAt } = session
  return [
    [{ text: id, style: "bold" }],
    ...detail("title", title, columns),
    ...detail("state", state, columns),
    ...detail("changed", datedTime(updatedAt, now), columns),
    ...agents.flatMap((agent) =>
      detail(
        agent.id === defaultAgentInstanceId ? "agent ›" : "agent",
        `${agent.agentId} in ${agent.workspace}, ${agent.mode} (${agent.id})`,
        columns
      )
    ),
    ...messages.flatMap((message): ReadonlyArray<Row> => [
      [],
      ...heading(
        `${authorOf(message, session, names)} · ${localTime(message.createdAt)}${stateOf(message)}`,
        columns
      ),
      ...textRows(message.text, columns),
      ...fileRows(message.attachments ?? [], columns)
    ])
  ]
}

const heading = (text: string, columns: number): ReadonlyArray<Row> =>
  wrapSpans([{ text: escapeLine(text), style: "dim" }], columns)
