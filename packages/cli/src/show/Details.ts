/** Text of one run: state, place, prompt, result, and what it needs; and of one session: its agents and its latest messages. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { confinementText } from "@corral/domain/run/ConfinementText"
import { ENDS_WITH_EDGE } from "@corral/domain/run/RunEnd"
import type { Run } from "@corral/domain/run/Run"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { fileRows } from "../attachment/LocalFile.ts"
import { MarkdownRows } from "../chat/MarkdownRows.ts"
import {
  backgroundText,
  isolationText,
  protectedLine,
  unknownChangesLine,
  usageLine
} from "../run/EventLines.ts"
import { limitsText } from "../run/TurnLimits.ts"
import { datedTime, localTime } from "../terminal/ShownTime.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import { type Row, wrapIndented, wrapSpans } from "../terminal/Rows.ts"

/** Columns where the output is not a terminal: lines are not wrapped. */
export const UNLIMITED = 1_000_000

const LABEL = 12

export const detail = (label: string, text: string | undefined, columns: number): ReadonlyArray<Row> =>
  text === undefined || text === ""
    ? []
    : wrapIndented(
        [{ text: escapeLine(text) }],
        columns,
        [{ text: label.padEnd(LABEL), style: "dim" }],
        [{ text: " ".repeat(LABEL) }]
      )

/** Rows of a text in Markdown. */
export const textRows = (text: string, columns: number): ReadonlyArray<Row> => {
  const markdown = new MarkdownRows(() => columns)
  const lines = escapeControls(text).trimEnd().split("\n")
  return [...lines.flatMap((line) => markdown.line(line)), ...markdown.end()]
}

/** `now`: milliseconds since 1970. */
export const runDetails = (
  run: Run | HubRun,
  columns: number,
  invocation: string,
  now: number
): ReadonlyArray<Row> => {
  const {
    agentId,
    budget,
    changesUnknown,
    confinement,
    createdAt,
    endedAt,
    endsWithEdge,
    error,
    id,
    input,
    mode,
    model,
    outstanding,
    paused,
    pendingApprovals,
    pendingInputs = [],
    protectedChanges,
    resultText,
    sessionId,
    turn,
    usage
  } = run
  const background = outstanding && backgroundText(outstanding.count, outstanding.titles)
  const failure = error === undefined ? undefined : `${error.message} (${error.code})`
  return [
    [{ text: id, style: "bold" }],
    ...detail("state", `${run.state}${paused === true ? ", paused" : ""}`, columns),
    ...detail(
      "agent",
      `${agentId}${model === undefined ? "" : ` (${model})`} in ${run.workspace}, ${mode}`,
      columns
    ),
    ...detail("writes", isolationText(run), columns),
    ...detail("limits", confinement && confinementText(confinement, mode), columns),
    ...detail("budget", budget && limitsText({ budget }, usage), columns),
    ...detail("used", usageLine(usage), columns),
    ...detail("life", endsWithEdge && ENDS_WITH_EDGE, columns),
    ...detail("session", sessionId, columns),
    ...detail("continues", run.resume, columns),
    ...detail("started", datedTime(createdAt, now), columns),
    ...detail("ended", endedAt && datedTime(endedAt, now), columns),
    ...detail("failure", failure, columns),
    ...detail("warning", protectedChanges && protectedLine(protectedChanges), columns),
    ...detail("warning", changesUnknown && unknownChangesLine(changesUnknown), columns),
    ...detail("continue", paused && `${invocation} unpause ${id}`, columns),
    ...pendingApprovals.flatMap((approval) =>
      detail("decision", `${invocation} approvals allow ${approval}`, columns)
    ),
    ...pendingInputs.flatMap((question) => detail("question", `${invocation} answer ${question}`, columns)),
    ...detail("background", background, columns),
    ...detail("finish", turn === "idle" ? `${invocation} finish ${id}` : undefined, columns),
    [],
    ...textRows(input.text, columns - 2).map((row): Row => [{ text: "> ", style: "green" }, ...row]),
    ...(resultText === undefined || resultText === "" ? [] : [[], ...textRows(resultText, columns)])
  ]
}

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

/** Text of one session: its agents and its latest messages. `messages`: oldest first. `now`: milliseconds since 1970. */
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
