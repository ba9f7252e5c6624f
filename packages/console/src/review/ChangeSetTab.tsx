/**
 * Changes that wait for a person: files and hunks with Accept and Reject, everything at once, what needs its own decision, and the decisions.
 *
 * Does not: decide. The Edge does, about exactly what was shown. A set whose files were written directly is shown as the changes of a turn.
 */
import { Menu } from "@base-ui/react/menu"
import { CorralError } from "@corral/client/http/CorralError"
import type { ChangeDecision, ChangeSet, ConflictSides } from "@corral/domain/edge-api/ChangeSet"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { useCanDecide, useProjects } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading, MoreButton } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useAction } from "../ui/Dialogs.tsx"
import { ChangedFiles } from "./ChangedFiles.tsx"
import { ChangesBar } from "./ChangesBar.tsx"
import { ChangesList } from "./ChangesList.tsx"
import { ChangesTab, type ChangesTabProps, UnknownChangesNote, unknownChangesOf } from "./ChangesTab.tsx"
import { ConflictView } from "./ConflictView.tsx"
import { type SetDecisions, useDecideKeys, useSetDecisions } from "./useSetDecisions.ts"
import { OutcomeNote } from "./DecideOutcome.tsx"
import { RejectDialog, UndoDialog } from "./DecideDialogs.tsx"
import { SendComments } from "./SendComments.tsx"
import { Decisions, IncompleteNote, SetDetails } from "./SetNotes.tsx"
import { decideMessages } from "./decideMessages.ts"
import { reviewMessages } from "./messages.ts"
import { type DecidedPart, commentsOn } from "./setFiles.ts"
import type { ReviewFile } from "./useChanges.ts"
import { type ChangeSetView, useChangeSet } from "./useChangeSet.ts"
import { useChangesReview } from "./useChangesReview.ts"
import { ALL, sidesOf } from "./useDecide.ts"
import "./decide.css"

/** Whether the changes of the run wait for a person, as far as the Hub has heard. */
export const hasChangeSet = ({ changes, isolation = "none" }: HubRun): boolean =>
  changes === undefined ? isolation !== "none" : changes.direct !== true

/** Why the user can't decide now. */
const useAccess = (run: HubRun, changes: ChangeSetView) => {
  const isAllowed = useCanDecide(run.projectId)
  const project = useProjects().find(({ id }) => id === run.projectId)
  const { isLive, set } = changes
  return {
    isAllowed,
    isOpen: isAllowed && !isLive && set?.state === "open",
    isOthersOnly: project?.approvals.ownRequests === false
  }
}

type Access = ReturnType<typeof useAccess>

interface SetBarProps {
  readonly set: ChangeSet
  readonly access: Access
  readonly isLive: boolean
  readonly decisions: SetDecisions
  readonly onRejectAll: () => void
}

/** Decides about everything that is not apart, or says why the user can't. */
const SetBar = ({ access, decisions, isLive, onRejectAll, set }: SetBarProps) => {
  const messages = useMessages(decideMessages)
  const { apart, fileCount, incomplete = [] } = set
  const count = fileCount - apart
  const pending = decisions.pending.get(ALL)
  const { isAllowed, isOpen, isOthersOnly } = access
  if (fileCount === 0) return null
  return (
    <>
      {(isLive || !isAllowed) && (
        <p className="set-note set-warning" role="status">
          <Icon name={isLive ? "clock" : "account"} size={14} />
          <span>{isLive ? messages.waits.live : messages.waits.role}</span>
        </p>
      )}
      {incomplete.length > 0 && <IncompleteNote paths={incomplete} />}
      {isAllowed && count > 0 && (
        <div className="set-bar">
          <button
            type="button"
            className="button decide-accept"
            data-decides
            disabled={!isOpen || decisions.isBusy || incomplete.length > 0}
            onClick={() => decisions.acceptAll(set)}
          >
            {pending === "accept" ? messages.accepting : messages.acceptAll(count)}
          </button>
          <button
            type="button"
            className="button"
            data-decides
            disabled={!isOpen || decisions.isBusy || incomplete.length > 0}
            onClick={onRejectAll}
          >
            {pending === "reject" ? messages.rejecting : messages.rejectAll}
          </button>
          <span className="quiet set-keys">{isOthersOnly ? messages.othersDecide : messages.keys}</span>
        </div>
      )}
    </>
  )
}

interface ConflictProps {
  readonly marked: ReadonlyArray<ConflictSides>
  readonly decisions: SetDecisions
  readonly isOpen: boolean
  readonly onComments: ChangesTabProps["onComments"]
  readonly onDismiss: () => void
}

/** Files in conflict, with what can be done about them from here. */
const Conflict = ({ decisions, isOpen, marked, onComments, onDismiss }: ConflictProps) => {
  const messages = useMessages(decideMessages)
  const { comma } = usePunctuation()
  const { outcome } = decisions
  const refused = outcome?.kind === "refused" ? sidesOf(outcome.error) : []
  const files = refused.length > 0 ? refused : marked
  const ask = useMutation({
    mutationFn: async () =>
      onComments?.(messages.askText(files.map(({ path }) => `\`${visibleLine(path, 400)}\``).join(comma)))
  })
  if (files.length === 0) return null
  return (
    <ConflictView files={files} isRefused={refused.length > 0} onDismiss={onDismiss}>
      <button
        type="button"
        className="button small"
        data-decides
        disabled={!isOpen || decisions.isBusy}
        onClick={() => {
          decisions.rejectFiles(files.map(({ id }) => id))
          onDismiss()
        }}
      >
        {messages.rejectPart(files.map(({ path }) => visibleLine(path, 80)).join(comma))}
      </button>
      {onComments !== undefined && (
        <button
          type="button"
          className="button small"
          data-decides
          disabled={ask.isPending || ask.isSuccess}
          onClick={() => ask.mutate()}
        >
          {ask.isSuccess ? messages.asked : messages.askAgent}
        </button>
      )}
      <RefusalNote error={ask.error} />
    </ConflictView>
  )
}

/** Dialogs of the tab: a reason for a rejection, and an undo. */
const useDialogs = () => {
  const rejecting = useAction()
  const [part, setPart] = useState<DecidedPart | "all">("all")
  const [undone, setUndone] = useState<ChangeDecision>()
  const [marked, setMarked] = useState<ReadonlyArray<ConflictSides>>([])
  return {
    rejecting,
    part,
    undone,
    setUndone,
    marked,
    setMarked,
    sayWhy: (next: DecidedPart | "all") => {
      setPart(next)
      rejecting.setOpen(true)
    }
  }
}

interface DialogsProps {
  readonly onComments: ChangesTabProps["onComments"]
  readonly run: HubRun
  readonly set: ChangeSet
  readonly dialogs: ReturnType<typeof useDialogs>
  readonly decisions: SetDecisions
  readonly comments: ReturnType<typeof useChangesReview>["view"]["comments"]
}

const Dialogs = ({ comments, decisions, dialogs, onComments, run, set }: DialogsProps) => {
  const messages = useMessages(decideMessages)
  const { part, rejecting, setUndone, undone } = dialogs
  const isAll = part === "all"
  return (
    <>
      <RejectDialog
        action={rejecting}
        title={
          isAll
            ? messages.rejectTitle(set.fileCount - set.apart)
            : messages.rejectOne(visibleLine(part.file.diff.path, 400))
        }
        apart={isAll ? set.apart : 0}
        comments={isAll ? decisions.commentsOfAll : commentsOn(part, comments).length}
        maySend={onComments !== undefined}
        onReject={(reason, isNow) => {
          const onDone = isNow ? () => void onComments?.(messages.nowText) : undefined
          if (isAll) decisions.rejectAll(set, reason, onDone)
          else decisions.reject(part, reason, onDone)
        }}
      />
      {undone !== undefined && (
        <UndoDialog run={run} decision={undone} onClose={() => setUndone(undefined)} />
      )}
    </>
  )
}

const BlankItem = ({ changes }: { readonly changes: ChangeSetView }) => {
  const messages = useMessages(decideMessages)
  return (
    <Menu.CheckboxItem
      className="menu-item"
      checked={changes.hidesBlank}
      onCheckedChange={changes.setHidesBlank}
      closeOnClick
    >
      <span className="menu-mark">{changes.hidesBlank ? "✓" : ""}</span>
      {messages.hideBlank}
    </Menu.CheckboxItem>
  )
}

/** Notes of a set without anything to decide. */
const NothingLeft = ({ set }: { readonly set: ChangeSet }) => {
  const messages = useMessages(decideMessages)
  if (set.fileCount > 0) return null
  return (
    <p className="panel-empty">
      {set.state === "empty" ? messages.nothing : `${messages.allDecided} ${messages.allAccepted}`}
    </p>
  )
}

const StaleNote = ({ changes }: { readonly changes: ChangeSetView }) => {
  const messages = useMessages(reviewMessages)
  return (
    <p className="changes-stale" role="status">
      {messages.stale}{" "}
      <button type="button" className="button small" onClick={() => void changes.reload()}>
        <Icon name="refresh" size={14} />
        {messages.loadAgain}
      </button>
    </p>
  )
}

interface ListProps {
  readonly changes: ChangeSetView
  readonly access: Access
  readonly review: ReturnType<typeof useChangesReview>
  readonly decisions: SetDecisions
  readonly dialogs: ReturnType<typeof useDialogs>
  readonly isTreeOpen: boolean
}

const SetList = ({ access, changes, decisions, dialogs, isTreeOpen, review }: ListProps) => {
  const { list, onKeyDown: _, selecting, sending: __, view, ...editing } = review
  const onSides = ({ parts }: ReviewFile) =>
    dialogs.setMarked(parts?.sides === undefined ? [] : [parts.sides])
  return (
    <div className="changes-body">
      {isTreeOpen && (
        <ChangedFiles
          files={changes.files}
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
        decisions={{
          ...access,
          pendingOf: decisions.pendingOf,
          onAccept: decisions.accept,
          onReject: decisions.reject,
          onSayWhy: dialogs.sayWhy,
          onSides,
          onApply: decisions.applySuggestion,
          want: changes.want,
          failed: changes.failed,
          canWiden: changes.canWiden,
          widen: changes.widen,
          showBlank: () => changes.setHidesBlank(false),
          comments: view.comments
        }}
      />
    </div>
  )
}

/** That the files load, or why they can't be read. */
const ReadState = ({ query, run }: { readonly run: HubRun; readonly query: ChangeSetView["query"] }) => {
  const unknown = unknownChangesOf(run, query.error)
  return (
    <>
      {query.isLoading && <Loading />}
      {unknown === undefined ? (
        <RefusalNote error={query.error} again={() => void query.refetch()} />
      ) : (
        <UnknownChangesNote unknown={unknown} />
      )}
    </>
  )
}

const OpenSet = ({ changes, ...props }: ChangesTabProps & { readonly changes: ChangeSetView }) => {
  const messages = useMessages(reviewMessages)
  const { onComments, run } = props
  const { files, isStale, query, set } = changes
  const access = useAccess(run, changes)
  const onWiden = ({ parts }: ReviewFile) => parts !== undefined && changes.widen(parts.changed.id)
  const review = useChangesReview({ run, onComments, onWiden }, changes)
  const { mayComment, sending, view } = review
  const decisions = useSetDecisions(run, changes, review)
  const keys = useDecideKeys({ items: view.items, list: review.list, isOpen: access.isOpen })
  const dialogs = useDialogs()
  const [isTreeOpen, setTreeOpen] = useState(false)
  const mayUndo = access.isAllowed && !changes.isLive
  const isEmpty = files.length === 0 && view.comments.length === 0
  const onUndo = mayUndo ? dialogs.setUndone : undefined
  return (
    <section className="changes" aria-label={messages.tabs.changes} onKeyDown={review.onKeyDown} {...keys}>
      <ChangesBar
        scope={props.scope}
        fileCount={files.length}
        viewedCount={view.viewedCount}
        hasMore={query.hasNextPage}
        totals={set}
        isTreeOpen={isTreeOpen}
        onTree={() => setTreeOpen(!isTreeOpen)}
        onOpenAll={view.setAllOpen}
        onLoad={() => void changes.reload()}
        menu={<BlankItem changes={changes} />}
      />
      {set !== undefined && (
        <SetBar
          {...{ access, decisions, set }}
          isLive={changes.isLive}
          onRejectAll={() => dialogs.sayWhy("all")}
        />
      )}
      {isStale && <StaleNote changes={changes} />}
      <OutcomeNote
        outcome={decisions.outcome}
        isOthersOnly={access.isOthersOnly}
        onUndo={dialogs.setUndone}
        onDismiss={decisions.dismiss}
      />
      <Conflict
        {...{ decisions, onComments }}
        isOpen={access.isOpen}
        marked={dialogs.marked}
        onDismiss={() => {
          dialogs.setMarked([])
          decisions.dismiss()
        }}
      />
      <ReadState run={run} query={query} />
      {set !== undefined && <NothingLeft set={set} />}
      {set !== undefined && (
        <Decisions set={set} projectId={run.projectId} isOpen={set.fileCount === 0} onUndo={onUndo} />
      )}
      {!isEmpty && <SetList {...{ access, changes, decisions, dialogs, isTreeOpen, review }} />}
      {query.hasNextPage && (
        <MoreButton
          label={messages.moreFiles}
          isLoading={query.isFetchingNextPage}
          onMore={() => void query.fetchNextPage()}
        />
      )}
      {set !== undefined && <SetDetails set={set} />}
      {mayComment && (view.comments.length > 0 || sending.sent > 0) && (
        <SendComments count={view.comments.length} sending={sending} />
      )}
      {set !== undefined && (
        <Dialogs {...{ decisions, dialogs, onComments, run, set }} comments={view.comments} />
      )}
    </section>
  )
}

/** Whether the device's Edge has no change sets. */
const isOlderEdge = (error: Error | null): boolean =>
  error instanceof CorralError && error.code === "conflict" && error.details["reason"] === "edge_outdated"

export const ChangeSetTab = (props: ChangesTabProps) => {
  const changes = useChangeSet(props.run)
  if (isOlderEdge(changes.query.error) || changes.set?.direct === true) return <ChangesTab {...props} />
  return <OpenSet {...props} changes={changes} />
}
