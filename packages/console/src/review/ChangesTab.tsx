/**
 * Changes of a run as a review: a toolbar with totals, viewed files and the layout, files with marks, lines with comments, and one message with
 * all of them. A note says which changes are unknown, and which files were not compared.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { LeftOut } from "@corral/domain/run/Worktree"
import { type ReactNode, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { reasonText, unknownChangesMessages } from "../run/messages.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading, MoreButton } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ChangedFiles } from "./ChangedFiles.tsx"
import { ChangesBar } from "./ChangesBar.tsx"
import { ChangesList } from "./ChangesList.tsx"
import { SendComments } from "./SendComments.tsx"
import { reviewMessages } from "./messages.ts"
import { reviewStore } from "./ReviewStore.ts"
import { type Changes, useChanges } from "./useChanges.ts"
import { useChangesReview } from "./useChangesReview.ts"
import "../run/run.css"
import "../diff/diff.css"
import "./changes.css"
import "./review.css"

interface Unknown {
  readonly reason?: unknown
  readonly detail?: unknown
}

/** `undefined` if the changes are known, or another request failed. */
export const unknownChangesOf = (run: HubRun, error: Error | null): Unknown | undefined => {
  if (run.changesUnknown !== undefined) return run.changesUnknown
  return error instanceof CorralError && error.code === "changes_unknown" ? error.details : undefined
}

/** Changes of a turn that are unknown, and files of it that were not compared. */
export const UnknownChangesNote = ({ unknown: { detail, reason } }: { readonly unknown: Unknown }) => {
  const messages = useMessages(unknownChangesMessages)
  return (
    <div className="refusal" role="alert">
      <p>
        <strong>{messages.title}.</strong> {reasonText(messages.reasons, reason)} {messages.review}
      </p>
      {typeof detail === "string" && (
        <p className="quiet">
          <code>{visibleLine(detail, 400)}</code>
        </p>
      )}
    </div>
  )
}

const LeftOutNote = ({ leftOut: { count, paths } }: { readonly leftOut: LeftOut }) => {
  const messages = useMessages(unknownChangesMessages)
  return (
    <p className="line warning">
      <strong>{messages.leftOut(count)}</strong>{" "}
      {paths.map((path, at) => (
        <span key={path}>
          {at > 0 && ", "}
          <code>{visibleLine(path, 400)}</code>
        </span>
      ))}{" "}
      {count > paths.length && messages.more(count - paths.length)}
    </p>
  )
}

export interface ChangesTabProps {
  readonly run: HubRun
  /** All turns of the session, newest first. */
  readonly runs: ReadonlyArray<HubRun>
  readonly scope?: ReactNode
  readonly onRun?: (runId: HubRun["id"]) => void
  /** Sends line comments as one message. Absent: read only. */
  readonly onComments?: ((text: string) => Promise<unknown>) | undefined
}

const Stale = ({ changes, onRun, run, runs }: ChangesTabProps & { readonly changes: Changes }) => {
  const messages = useMessages(reviewMessages)
  const newest = runs[0]
  const load = () => {
    if (newest === undefined || newest.id === run.id || onRun === undefined) void changes.query.refetch()
    else {
      // What is not sent yet is about the newest files.
      reviewStore.moveComments(run.id, newest.id)
      onRun(newest.id)
    }
  }
  return (
    <p className="changes-stale" role="status">
      {messages.stale}{" "}
      <button type="button" className="button small" onClick={load}>
        <Icon name="refresh" size={14} />
        {messages.loadAgain}
      </button>
    </p>
  )
}

export const ChangesTab = (props: ChangesTabProps) => {
  const messages = useMessages(reviewMessages)
  const changes = useChanges(props.run, props.runs)
  const { files, isStale, query, totals } = changes
  const { list, onKeyDown, selecting, sending, view, ...editing } = useChangesReview(props, changes)
  const [isTreeOpen, setTreeOpen] = useState(false)
  const isEmpty = files.length === 0 && view.comments.length === 0
  const unknown = unknownChangesOf(props.run, query.error)
  return (
    <section className="changes" aria-label={messages.tabs.changes} onKeyDown={onKeyDown}>
      <ChangesBar
        scope={props.scope}
        fileCount={files.length}
        viewedCount={view.viewedCount}
        hasMore={query.hasNextPage}
        totals={totals}
        isTreeOpen={isTreeOpen}
        onTree={() => setTreeOpen(!isTreeOpen)}
        onOpenAll={view.setAllOpen}
        onLoad={() => void query.refetch()}
      />
      {isStale && <Stale {...props} changes={changes} />}
      {query.isLoading && <Loading />}
      {unknown === undefined ? (
        <RefusalNote error={query.error} again={() => void query.refetch()} />
      ) : (
        <UnknownChangesNote unknown={unknown} />
      )}
      {totals?.leftOut !== undefined && <LeftOutNote leftOut={totals.leftOut} />}
      {query.isSuccess && unknown === undefined && totals?.leftOut === undefined && isEmpty && (
        <p className="panel-empty">{messages.noChanges}</p>
      )}
      {!isEmpty && (
        <div className="changes-body">
          {isTreeOpen && (
            <ChangedFiles
              files={files}
              isViewed={view.isViewed}
              onFile={(path) => list.focusItem(`file ${path}`, "start")}
            />
          )}
          <ChangesList
            view={view}
            list={list}
            selection={selecting.selection}
            handlers={selecting.handlers}
            {...editing}
          />
        </div>
      )}
      {query.hasNextPage && (
        <MoreButton
          label={messages.moreFiles}
          isLoading={query.isFetchingNextPage}
          onMore={() => void query.fetchNextPage()}
        />
      )}
      {editing.mayComment && (view.comments.length > 0 || sending.sent > 0) && (
        <SendComments count={view.comments.length} sending={sending} />
      )}
    </section>
  )
}
