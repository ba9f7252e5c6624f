/**
 * Entries of a session's thread, oldest first, with a button for earlier ones. Earlier entries move nothing that is visible. The entry of a
 * message or a run that was searched for comes into view. A thread without messages says who works where once a task is described, or what is
 * missing for that.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useQueryClient } from "@tanstack/react-query"
import {
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useSyncExternalStore
} from "react"
import { hubApi } from "../api/Hub.ts"
import { useDevice } from "../api/ProjectsAndTargets.ts"
import { GroupCard } from "../group/GroupCard.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useFollowState } from "./EndFollower.ts"
import { threadMessages } from "./messages.ts"
import { PersonMessage } from "./PersonMessage.tsx"
import { Turn, type TurnPanel } from "./Turn.tsx"
import { type GroupEntry, repeatedReasons, type ThreadEntry, turnOfCandidate } from "./Turns.ts"
import "./thread.css"

/** A thread without messages: who works where once a task is described, or what is missing for that. */
const EmptyThread = ({ session }: { readonly session: Session }) => {
  const messages = useMessages(threadMessages)
  const agent = session.agents.find(({ id }) => id === session.defaultAgentInstanceId)
  const device = useDevice(agent?.targetId)
  return (
    <div className="thread-empty">
      <p className="thread-empty-title">{messages.empty}</p>
      <p className="quiet">
        {agent === undefined
          ? messages.emptyWithoutAgent
          : messages.emptyHint(
              visibleLine(agent.label, 60),
              visibleLine(agent.workspace, 40),
              visibleLine(device?.name ?? "", 40)
            )}
      </p>
    </div>
  )
}

/** Most pages that are loaded for it. */
const MAX_PAGES = 40

interface Search {
  /** Id of the message or run. */
  readonly at: string | undefined
  readonly entries: ReadonlyArray<ThreadEntry>
  readonly isLoading: boolean
  readonly onEarlier: (() => void) | undefined
}

const contains = (entry: ThreadEntry, id: string): boolean => {
  if (entry.kind === "note") return entry.message.id === id
  if (entry.kind === "group")
    return entry.groupId === id || entry.prompt.id === id || entry.turns.some((turn) => contains(turn, id))
  const { answer, prompts, runId, texts } = entry
  return runId === id || answer?.id === id || [...prompts, ...texts].some((message) => message.id === id)
}

/** Whether the message is in the folded work of the turn. */
const isInWork = (entry: ThreadEntry, at: string | undefined): boolean =>
  entry.kind === "turn" && entry.texts.some(({ id }) => id === at) && entry.answer?.id !== at

/**
 * Brings one entry of a thread into view: that of a message or a run that was searched for. Loads earlier entries until it is among them. Returns the key of
 * the entry, once it is there. The list has one element for each entry.
 */
const useEntryInView = (
  list: RefObject<HTMLElement | null>,
  { at, entries, isLoading, onEarlier }: Search
): string | undefined => {
  const { end } = useFollowState()
  const pages = useRef(0)
  const place = at === undefined ? -1 : entries.findIndex((entry) => contains(entry, at))
  const key = entries[place]?.key
  const show = useEffectEvent(() => {
    const element = list.current?.children[place]
    if (element === undefined) return
    end.leave()
    element.scrollIntoView({ block: "start" })
    // What is above it gets its height now.
    end.holdInPlace(element)
  })
  const loadEarlier = useEffectEvent(() => {
    pages.current += 1
    onEarlier?.()
  })
  useEffect(() => {
    pages.current = 0
  }, [at])
  useEffect(() => {
    if (key !== undefined) show()
  }, [at, key])
  const isMissing = at !== undefined && key === undefined && !isLoading && entries.length > 0
  useEffect(() => {
    if (isMissing && pages.current < MAX_PAGES) loadEarlier()
  }, [isMissing, entries])
  return key
}

interface GroupTurnsProps extends Pick<ThreadEntriesProps, "onAgain" | "onPanel" | "runs" | "session"> {
  readonly group: GroupEntry
  readonly isFound: boolean
  /** Runs whose confinement an earlier turn explains. */
  readonly repeated: ReadonlySet<HubRun["id"]>
}

/** One message to several agents, and the card of their group, in which each turn unfolds. */
const GroupTurns = ({ group, isFound, onAgain, onPanel, repeated, runs, session }: GroupTurnsProps) => (
  <section className={isFound ? "turn entry-found" : "turn"}>
    <PersonMessage message={group.prompt} projectId={session.projectId} isFound={isFound} />
    <GroupCard
      groupId={group.groupId}
      turnOf={(candidate) => {
        const turn = turnOfCandidate(group, candidate)
        const isClosed =
          session.agents.find(({ id }) => id === candidate.agentInstanceId)?.closedAt !== undefined
        return turn === undefined ? undefined : (
          <Turn
            isOfGroup
            turn={turn}
            run={runs.get(turn.runId)}
            isConfinementKnown={repeated.has(turn.runId)}
            onAgain={isClosed ? undefined : onAgain}
            {...{ onPanel, session }}
          />
        )
      }}
    />
  </section>
)

interface ThreadEntriesProps {
  readonly entries: ReadonlyArray<ThreadEntry>
  readonly session: Session
  readonly runs: ReadonlyMap<HubRun["id"], HubRun>
  /** Loads earlier messages. Absent if all are loaded. */
  readonly onEarlier: (() => void) | undefined
  /** A message or a run that is brought into view. */
  readonly at?: string | undefined
  readonly isLoading: boolean
  readonly onPanel: (runId: HubRun["id"], panel: TurnPanel) => void
  readonly onAgain: ((prompt: Message) => void) | undefined
}

export const ThreadEntries = (props: ThreadEntriesProps) => {
  const { at, entries, isLoading, onAgain, onEarlier, onPanel, runs, session } = props
  const messages = useMessages(threadMessages)
  const { end } = useFollowState()
  const list = useRef<HTMLDivElement>(null)
  const [first, last] = [entries[0]?.key, entries.at(-1)?.key]
  useLayoutEffect(() => end.release(), [end, first])
  useEffect(() => end.noteNew(), [end, last])
  const found = useEntryInView(list, { at, entries, isLoading, onEarlier })
  const repeated = useMemo(() => repeatedReasons(entries, runs), [entries, runs])
  return (
    <>
      {onEarlier !== undefined && (
        <button
          type="button"
          className="button small load-earlier"
          disabled={isLoading}
          onClick={() => {
            end.leave()
            const top = list.current?.firstElementChild
            if (top != null) end.holdInPlace(top, "release")
            onEarlier()
          }}
        >
          {messages.earlier}
        </button>
      )}
      {entries.length === 0 && <EmptyThread session={session} />}
      <div ref={list} className="thread-entries">
        {entries.map((entry) =>
          entry.kind === "note" ? (
            <PersonMessage
              key={entry.key}
              message={entry.message}
              projectId={session.projectId}
              isFound={entry.key === found}
            />
          ) : entry.kind === "group" ? (
            <GroupTurns
              key={entry.key}
              group={entry}
              isFound={entry.key === found}
              {...{ onAgain, onPanel, repeated, runs, session }}
            />
          ) : (
            <Turn
              // Found again, it unfolds again.
              key={entry.key === found && isInWork(entry, at) ? `${entry.key} ${at}` : entry.key}
              isFound={entry.key === found}
              isUnfolded={entry.key === found && isInWork(entry, at)}
              turn={entry}
              run={runs.get(entry.runId)}
              isConfinementKnown={repeated.has(entry.runId)}
              {...{ onAgain, onPanel, session }}
            />
          )
        )}
      </div>
    </>
  )
}

const onVisibility = (listener: () => void) => {
  document.addEventListener("visibilitychange", listener)
  return () => document.removeEventListener("visibilitychange", listener)
}

interface Props {
  readonly session: Session
  /** The newest message of the thread. */
  readonly newest: Message | undefined
}

/** Marks a session as read once the end of its thread was seen in a visible window. Shows nothing. */
export const ReadMarker = ({ newest, session: { id, unread = 0 } }: Props) => {
  const client = useQueryClient()
  const { isFollowing } = useFollowState()
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden)
  const marked = useRef<string>(undefined)
  const messageId = newest?.id
  const isSeen = isFollowing && isVisible && unread > 0
  useEffect(() => {
    if (!isSeen || messageId === undefined || marked.current === messageId) return
    marked.current = messageId
    // A position that could not be stored is stored with the next message.
    void hubApi.conversations.read({ params: { id }, payload: { messageId } }).then(
      () => client.invalidateQueries({ queryKey: ["sessions"] }),
      () => (marked.current = undefined)
    )
  }, [client, id, isSeen, messageId])
  return null
}
