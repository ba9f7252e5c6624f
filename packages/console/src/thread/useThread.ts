/** Data of a session's thread: its messages as entries, those that wait, its runs, and their pending approvals and questions. */
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useQuery } from "@tanstack/react-query"
import { useMemo, useRef } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList, useSameItems } from "../api/Lists.ts"
import { usePendingApprovalsOf, usePendingInputsOf } from "../api/Pending.ts"
import { isEnded } from "./FollowedWork.tsx"
import { type ThreadStatus, usePersonalStatus } from "./ThreadState.tsx"
import { endedTurn, entriesOf, isQueued, type ThreadEntry, type TurnEntry, turnsIn } from "./Turns.ts"

/** Runs of the session that are read, newest first. */
const RUNS = 100

const noRuns: ReadonlyArray<HubRun> = []

const useSessionRuns = (sessionId: SessionId): ReadonlyArray<HubRun> =>
  useQuery({
    queryKey: ["runs", "session", sessionId],
    queryFn: ({ signal }) => hubApi.runs.list({ query: { sessionId, limit: RUNS }, signal })
  }).data?.items ?? noRuns

/** Entries that did not change stay the same objects, so that their rows do not render again. */
const useStableEntries = (
  messages: ReadonlyArray<Message>,
  runs: ReadonlyMap<HubRun["id"], HubRun>
): ReadonlyArray<ThreadEntry> => {
  const before = useRef<ReadonlyMap<string, ThreadEntry>>(new Map())
  return useMemo(() => {
    const previous = before.current
    const stable = <E extends ThreadEntry>(entry: E): E => {
      const same = previous.get(entry.key)
      // Entries with one key are of one kind.
      return same !== undefined && isSame(same, entry) ? (same as E) : entry
    }
    const turn = (found: TurnEntry) =>
      stable(isEnded(runs.get(found.runId)?.state) ? endedTurn(found) : found)
    const entries = entriesOf(messages).map((found): ThreadEntry => {
      switch (found.kind) {
        case "turn":
          return turn(found)
        case "group":
          return stable({ ...found, turns: found.turns.map(turn) })
        case "note":
          return stable(found)
      }
    })
    before.current = new Map([...entries, ...turnsIn(entries)].map((entry) => [entry.key, entry]))
    return entries
  }, [messages, runs])
}

const isSame = (a: ThreadEntry, b: ThreadEntry): boolean => {
  if (a.kind === "note") return b.kind === "note" && a.message === b.message
  if (a.kind === "group")
    return (
      b.kind === "group" &&
      a.prompt === b.prompt &&
      a.turns.length === b.turns.length &&
      a.turns.every((turn, at) => turn === b.turns[at])
    )
  if (b.kind !== "turn") return false
  return (
    a.answer === b.answer &&
    a.prompts.length === b.prompts.length &&
    a.texts.length === b.texts.length &&
    a.prompts.every((prompt, at) => prompt === b.prompts[at])
  )
}

export interface ThreadData {
  readonly entries: ReadonlyArray<ThreadEntry>
  /** Pending and failed messages, oldest first. */
  readonly queued: ReadonlyArray<Message>
  readonly newest: Message | undefined
  readonly runs: ReadonlyArray<HubRun>
  readonly runsById: ReadonlyMap<HubRun["id"], HubRun>
  /** Turns in progress. */
  readonly active: ReadonlyArray<TurnEntry>
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
  readonly status: ThreadStatus
  /** Start of the oldest turn in progress, ISO 8601. */
  readonly since: string | undefined
  readonly isLoading: boolean
  readonly error: Error | null
  readonly isLoadingMore: boolean
  readonly more: (() => void) | undefined
}

export const useThread = (session: Session): ThreadData => {
  const list = useList(["sessions", "messages", session.id], ({ page, signal }) =>
    hubApi.sessions.messages({ params: { id: session.id }, query: page, signal })
  )
  const runs = useSessionRuns(session.id)
  const runsById = useMemo(() => new Map(runs.map((run) => [run.id, run])), [runs])
  const { items } = list
  // The list is a new array with each render, of the same messages.
  const messages = useSameItems(items)
  const oldestFirst = useMemo(() => messages.toReversed(), [messages])
  const entries = useStableEntries(oldestFirst, runsById)
  // The card of a group shows which of its candidates wait.
  const queued = useMemo(
    () => oldestFirst.filter((message) => isQueued(message) && message.groupId === undefined),
    [oldestFirst]
  )
  const active = turnsIn(entries).filter(({ answer }) => answer === undefined)
  const live = [...new Set([...session.activeRuns, ...active.map(({ runId }) => runId)])]
  const { approvals } = usePendingApprovalsOf(live)
  const { inputs } = usePendingInputsOf(live)
  const running = active.map(({ runId }) => runsById.get(runId)).filter((run) => run !== undefined)
  const isWaiting = approvals.length + inputs.length > 0
  const status = usePersonalStatus(statusOf(entries, running, active.length > 0, isWaiting), {
    approvals,
    inputs
  })
  return {
    entries,
    queued,
    newest: messages[0],
    runs,
    runsById,
    active,
    approvals,
    inputs,
    status,
    since: running.at(0)?.createdAt,
    isLoading: list.isLoading,
    error: list.error,
    isLoadingMore: list.isLoadingMore,
    more: list.more
  }
}

const activeStatus = (running: ReadonlyArray<HubRun>): ThreadStatus => {
  if (running.length === 0) return "working"
  if (running.every(({ state }) => state === "queued")) return "queued"
  if (running.every(({ paused }) => paused === true)) return "paused"
  return running.every(({ turn }) => turn === "idle") ? "background" : "working"
}

const statusOf = (
  entries: ReadonlyArray<ThreadEntry>,
  running: ReadonlyArray<HubRun>,
  isActive: boolean,
  isWaiting: boolean
): ThreadStatus => {
  if (isWaiting) return "waiting"
  if (isActive) return activeStatus(running)
  const last = turnsIn(entries).at(-1)
  if (last?.answer === undefined) return "idle"
  return last.answer.outcome ?? "completed"
}

/** Whether the run is in progress. */
export const isRunning = ({ state }: HubRun): boolean => !isEnded(state)
