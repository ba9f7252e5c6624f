/**
 * Changes of a run as a review: a toolbar with totals, viewed files and the layout, files with marks, lines with comments, and one message with
 * all of them. A note says which changes are unknown, and which files were not compared.
 */
import { Menu } from "@base-ui/react/menu"
import { CorralError } from "@corral/client/http/CorralError"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { LeftOut } from "@corral/domain/run/Worktree"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { useDiffLayout } from "../diff/useDiffLayout.ts"
import { visibleLine } from "../markdown/visible.ts"
import { reasonText, unknownChangesMessages } from "../run/unknownChanges.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { MoreButton } from "../ui/ListMore.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ChangedFiles } from "./ChangedFiles.tsx"
import { ChangesList } from "./ChangesList.tsx"
import type { LineComment } from "./LineComment.ts"
import { DRAFT_KEY, NEW_COMMENT } from "./ReviewItem.ts"
import { SendComments, useSendComments } from "./SendComments.tsx"
import { reviewMessages } from "./messages.ts"
import { type Changes, useChanges } from "./useChanges.ts"
import { useChangesView } from "./useChangesView.ts"
import { useLineSelection } from "./useLineSelection.ts"
import { reviewStore } from "./ReviewStore.ts"
import { useReviewKeys } from "./useReviewKeys.ts"
import { useReviewList } from "./useReviewList.ts"
import "../run/run.css"
import "../diff/diff.css"
import "./changes.css"
import "./review.css"

interface Unknown {
  readonly reason?: unknown
  readonly detail?: unknown
}

/** `undefined` if the changes are known, or another request failed. */
const unknownChangesOf = (run: HubRun, error: Error | null): Unknown | undefined => {
  if (run.changesUnknown !== undefined) return run.changesUnknown
  return error instanceof CorralError && error.code === "changes_unknown" ? error.details : undefined
}

/** Changes of a turn that are unknown, and files of it that were not compared. */
const UnknownChangesNote = ({ unknown: { detail, reason } }: { readonly unknown: Unknown }) => {
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

interface ChangesBarProps {
  /** Selects the turn. */
  readonly scope: ReactNode
  readonly fileCount: number
  readonly viewedCount: number
  /** Whether the Hub has more files than these. */
  readonly hasMore: boolean
  /** Absent while they are not known: no counts are not zero. */
  readonly totals: { readonly additions: number; readonly deletions: number } | undefined
  readonly isTreeOpen: boolean
  readonly onTree: () => void
  readonly onOpenAll: (isOpen: boolean) => void
  readonly onLoad: () => void
}

/** Toolbar of the changes: totals, viewed files, the layout, and a menu for all files. */
const ChangesBar = (props: ChangesBarProps) => {
  const messages = useMessages(reviewMessages)
  const { canSplit, layout, selectLayout } = useDiffLayout()
  const { fileCount, hasMore, isTreeOpen, onLoad, onOpenAll, onTree, scope, totals, viewedCount } = props
  return (
    <div className="panel-bar">
      {scope}
      <span className="changes-counts">
        {totals !== undefined && (
          <>
            {hasMore ? messages.firstFiles(fileCount) : messages.files(fileCount)}{" "}
            <ins className="diff-plus">+{totals.additions}</ins>{" "}
            <del className="diff-minus">−{totals.deletions}</del>
          </>
        )}
        {fileCount > 0 && <span className="quiet"> · {messages.viewedCount(viewedCount, fileCount)}</span>}
      </span>
      <button
        type="button"
        className="icon-button"
        aria-label={messages.tree}
        title={messages.tree}
        aria-pressed={isTreeOpen}
        onClick={onTree}
      >
        <Icon name="tree" />
      </button>
      {canSplit && (
        <button
          type="button"
          className="icon-button"
          aria-label={messages.split}
          title={messages.split}
          aria-pressed={layout === "split"}
          onClick={() => selectLayout(layout === "split" ? "unified" : "split")}
        >
          <Icon name="split" />
        </button>
      )}
      <Menu.Root>
        <Menu.Trigger className="icon-button" aria-label={messages.more} title={messages.more}>
          <Icon name="more" />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className="menu-positioner" sideOffset={4} align="end">
            <Menu.Popup className="menu">
              <Menu.Item className="menu-item" onClick={() => onOpenAll(true)}>
                {messages.expandAll}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => onOpenAll(false)}>
                {messages.collapseAll}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={onLoad}>
                {messages.loadAgain}
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </div>
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

/** Key of the item that has the focus after a comment was written: the comment. */
const commentKey = ({ id }: LineComment): string => `comment ${id}`

const useChangesReview = ({ onComments, run }: ChangesTabProps, changes: Changes) => {
  const { layout } = useDiffLayout()
  const view = useChangesView(run, changes, layout)
  const list = useReviewList(view.items)
  const sending = useSendComments(run.id, view.comments, onComments)
  const mayComment = onComments !== undefined
  const selecting = useLineSelection({
    items: view.items,
    isEnabled: mayComment,
    onSelected: ({ anchor, file, head }) => view.beginComment(file, anchor, head)
  })
  /** Whether all comments go out as soon as the last one is among them. */
  const sendsNext = useRef(false)
  useEffect(() => {
    if (!sendsNext.current) return
    sendsNext.current = false
    sending.send()
  }, [view.comments, sending])
  const { scroller } = list
  useEffect(() => {
    // The comment with the focus was sent.
    if (sending.sent > 0 && document.activeElement === document.body)
      scroller.current?.focus({ preventScroll: true })
  }, [sending.sent, scroller])
  const onKeyDown = useReviewKeys({
    items: view.items,
    list,
    selection: selecting.selection,
    setSelection: selecting.setSelection,
    fileOf: (path) => view.byPath.get(path),
    onViewed: view.toggleViewed,
    onComment: ({ anchor, file, head }) => {
      selecting.setSelection(undefined)
      if (mayComment) view.beginComment(file, anchor, head)
    },
    onSend: sending.send
  })
  const onAdd = (text: string, isLast: boolean) => {
    sendsNext.current = isLast
    const comment = view.drafting.add(text)
    if (comment !== undefined) list.focusItem(commentKey(comment))
  }
  /** The focus goes to what is above an item that disappears. */
  const focusAbove = (key: string) => {
    const above = view.items[(list.places.get(key) ?? 0) - 1]
    if (above !== undefined) list.focusItem(above.key)
  }
  const onCancel = () => {
    view.drafting.close()
    if (view.draft === undefined || view.draft.id === NEW_COMMENT) focusAbove(DRAFT_KEY)
    else list.focusItem(commentKey(view.draft))
  }
  const onRemove = (comment: LineComment) => {
    view.removeComment(comment.id)
    focusAbove(commentKey(comment))
  }
  return { view, list, sending, selecting, mayComment, onKeyDown, onAdd, onCancel, onRemove }
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
