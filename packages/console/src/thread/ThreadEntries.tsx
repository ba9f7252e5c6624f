/** Entries of a session's thread, oldest first, with a button for earlier ones. Earlier entries move nothing that is visible. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useEffect, useLayoutEffect, useMemo, useRef } from "react"
import { useMessages } from "../text/Language.tsx"
import { EmptyThread } from "./EmptyThread.tsx"
import { useFollowState } from "./FollowContext.ts"
import { PersonMessage } from "./PersonMessage.tsx"
import { isInWork, useEntryInView } from "./useEntryInView.ts"
import { repeatedReasons } from "./RepeatedReasons.ts"
import { Turn, type TurnPanel } from "./Turn.tsx"
import type { ThreadEntry } from "./Turns.ts"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface Props {
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

export const ThreadEntries = (props: Props) => {
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
