/** What a card or a row says of a run: its latest line, the counts of its changes, and its time. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { plainLine } from "../markdown/plainLine.ts"
import { unknownChangesMessages } from "../run/messages.ts"
import { isInProgress } from "../status/SessionStatus.tsx"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { type ActionKind, kindOfTool, targetOfLabel } from "../thread/ActionKind.ts"
import { threadMessages } from "../thread/messages.ts"
import { Time, useNow } from "../ui/Time.tsx"
import { boardMessages } from "./messages.ts"
import "./board.css"

/** What the last events of a run say: its latest line, and the counts of its changes. A run in progress is read again every few seconds. */
interface RunTail {
  readonly line: string | undefined
  /** Newest call without a result: what the run does now, although it has said more since. */
  readonly currentCall?: { readonly kind: ActionKind; readonly target: string }
  readonly changes: { readonly additions: number; readonly deletions: number } | undefined
  /** What a run in progress has used so far. */
  readonly usage?: HubRun["usage"]
}

/** Longest text that is read from one event. */
const MAX_TEXT = 4_096

const textIn = (payload: Envelope["payload"], name: string): string => {
  const value = payload[name]
  return typeof value === "string" ? value.slice(-MAX_TEXT) : ""
}

const lastLine = (text: string): string | undefined =>
  text
    .split("\n")
    .findLast((line) => line.trim() !== "")
    ?.trim()

/** The last line of an agent's text, without the marks of Markdown. */
const lastSentence = (text: string): string | undefined => {
  const line = text.split("\n").findLast((line) => plainLine(line).replaceAll(NO_WORDS, "") !== "")
  return line === undefined ? undefined : plainLine(line).trim()
}

/** A line of these only is a rule, or the end of code or of a table. */
const NO_WORDS = /[\s`~*_=|:-]/g

/** Text of the message whose last part is at the end of the events. */
const streamedText = (events: ReadonlyArray<Envelope>): string => {
  const messageId = events.at(-1)?.payload["messageId"]
  const from = events.findLastIndex(
    ({ payload, type }) => type !== "run.message.delta" || payload["messageId"] !== messageId
  )
  return events
    .slice(from + 1)
    .map(({ payload }) => textIn(payload, "text"))
    .join("")
}

const isNested = ({ payload }: Envelope): boolean => payload["parentCallId"] !== undefined

const lineAt = (events: ReadonlyArray<Envelope>, at: number): string | undefined => {
  const event = events[at]
  // What a sub-agent says is not what the agent says.
  if (event === undefined || event.payload["channel"] === "reasoning" || isNested(event)) return undefined
  const { payload, type } = event
  switch (type) {
    case "run.tool.call":
      return lastLine(textIn(payload, "label"))
    case "run.message.completed":
      return payload["role"] === "assistant" ? lastSentence(textIn(payload, "text")) : undefined
    case "run.message.delta":
      return lastSentence(streamedText(events.slice(0, at + 1)))
    default:
      return undefined
  }
}

const countIn = (payload: Envelope["payload"], name: string): number => {
  const value = payload[name]
  return typeof value === "number" ? value : 0
}

const openCall = (events: ReadonlyArray<Envelope>): RunTail["currentCall"] => {
  const ended = new Set(
    events.flatMap(({ payload, type }) => (type === "run.tool.result" ? [payload["callId"]] : []))
  )
  const call = events.findLast(
    ({ payload, type }) =>
      type === "run.tool.call" && payload["callId"] !== undefined && !ended.has(payload["callId"])
  )
  const label = call === undefined ? undefined : lastLine(textIn(call.payload, "label"))
  if (call === undefined || label === undefined) return undefined
  const kind = kindOfTool(textIn(call.payload, "tool"))
  return { kind, target: targetOfLabel(kind, label) }
}

/** `events` are the last ones of the log, in their order. */
export const runTail = (events: ReadonlyArray<Envelope>): RunTail => {
  const diff = events.findLast(({ type }) => type === "run.diff.ready")
  const currentCall = openCall(events)
  let line: string | undefined
  for (let at = events.length - 1; at >= 0 && line === undefined; at--) line = lineAt(events, at)
  return {
    line,
    ...(currentCall === undefined ? {} : { currentCall }),
    changes:
      diff === undefined
        ? undefined
        : { additions: countIn(diff.payload, "additions"), deletions: countIn(diff.payload, "deletions") }
  }
}

const EVENTS = 60
const EVERY_MS = 4_000

/** A run in progress, as it is now. */
const currentRun = async (run: HubRun, signal: AbortSignal): Promise<HubRun> =>
  isInProgress(run.state) ? await hubApi.runs.get({ params: { id: run.id }, signal }) : run

const runTailQuery = (run: HubRun) =>
  queryOptions({
    // Not of the group `runs`: each card would be read again with every change of any run.
    queryKey: ["runTail", run.id, run.state],
    queryFn: async ({ signal }): Promise<RunTail> => {
      const { id, lastSeq, usage } = await currentRun(run, signal)
      const query = { after: Math.max(0, lastSeq - EVENTS), limit: EVENTS }
      const tail = runTail((await hubApi.runs.events({ params: { id }, query, signal })).items)
      return { ...tail, ...(usage === undefined ? {} : { usage }) }
    },
    staleTime: isInProgress(run.state) ? EVERY_MS : Number.POSITIVE_INFINITY,
    refetchInterval: isInProgress(run.state) && run.state !== "queued" ? EVERY_MS : false
  })

const unknownTail: RunTail = { line: undefined, changes: undefined }

/**
 * Latest line and change counts of a run, from the end of the log that the Hub has. A run in progress is read again every few seconds. Latest
 * line: the call in progress in words, else what the run said last. And the counts of its changes, and what it has used.
 */
export const useRunTail = (run: HubRun): Pick<RunTail, "line" | "changes" | "usage"> => {
  const { verbs } = useMessages(threadMessages)
  const { changes, currentCall, line, usage = run.usage } = useQuery(runTailQuery(run)).data ?? unknownTail
  if (currentCall === undefined || !isInProgress(run.state)) return { changes, line, usage }
  return { changes, usage, line: `${verbs[currentCall.kind].doing} ${currentCall.target}`.trimStart() }
}

interface Props {
  readonly changes: RunTail["changes"]
  readonly run: Pick<HubRun, "changesUnknown">
}

/** Added and removed lines of a run. Nothing for a run without changes, and "unknown" for one whose changes are. */
export const ChangeCounts = ({ changes, run }: Props) => {
  const messages = useMessages(boardMessages)
  const unknown = useMessages(unknownChangesMessages)
  if (run.changesUnknown !== undefined) return <span className="change-counts">{unknown.title}</span>
  if (changes === undefined || changes.additions + changes.deletions === 0) return null
  const { additions, deletions } = changes
  return (
    <span className="change-counts" role="img" aria-label={messages.changes(additions, deletions)}>
      {additions > 0 && <span className="change-added">+{additions}</span>}{" "}
      {deletions > 0 && <span className="change-removed">−{deletions}</span>}
    </span>
  )
}

/** How long a run in progress works, or when it ended. */
export const RunTime = ({ run }: { readonly run: HubRun }) => {
  const { language } = useLanguage()
  const now = useNow()
  const begin = Date.parse(run.createdAt)
  if (isInProgress(run.state)) return <span>{formatDuration(now - begin, language)}</span>
  return <Time at={run.endedAt ?? run.updatedAt} />
}
