/**
 * Page that compares the candidates of a group: each with its checks, time, tokens, cost and changes, the changed files side by side, and
 * decisions about all of a candidate, a file or a hunk. One candidate is continued.
 *
 * Guarantees: a decision is about exactly what is shown. A conflict between candidates shows both versions, and writes nothing.
 */
import { Dialog } from "@base-ui/react/dialog"
import { CorralError } from "@corral/client/http/CorralError"
import type { ChangeDecision, ConflictSides } from "@corral/domain/edge-api/ChangeSet"
import type { GroupComparison, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { type RefObject, useEffect, useRef, useState } from "react"
import { useCanWork, useProjects } from "../api/ProjectsAndTargets.ts"
import { useSessionTitle } from "../api/Sessions.ts"
import { taskGroupQuery, useGroupCommands } from "../api/RunsAndGroups.ts"
import { endedCount, isBusy } from "../group/candidates.ts"
import { GroupButtons, GroupRefusals } from "../group/GroupCard.tsx"
import { groupMessages } from "../group/messages.ts"
import { visibleLine } from "../markdown/visible.ts"
import { ConflictView } from "../review/ConflictView.tsx"
import { OutcomeNote } from "../review/DecideOutcome.tsx"
import { decideMessages } from "../review/decideMessages.ts"
import { RejectDialog, UndoDialog } from "../review/DecideDialogs.tsx"
import { useMessages } from "../text/Language.tsx"
import { FormDialog, useAction } from "../ui/Dialogs.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { CandidateSummary, shortNameOf } from "./CandidateSummary.tsx"
import { ComparedFiles } from "./ComparedFiles.tsx"
import { ConflictDialog, useTellCandidate } from "./ConflictDialog.tsx"
import { compareMessages } from "./messages.ts"
import { type GroupDecisions, useComparison, useGroupDecisions } from "./useComparison.ts"
import type { CandidatePart } from "./VariantPanel.tsx"
import "../review/changes.css"
import "../review/review.css"
import "../run/run.css"
import "./compare.css"

/** Days that undecided changes of closed candidates can be decided. */
const CLOSED_DAYS = 7

interface PartsProps {
  readonly group: TaskGroup
  readonly decisions: GroupDecisions
  readonly commands: ReturnType<typeof useGroupCommands>
}

/** Candidates with the dialogs that reject one and continue with one. */
const Summaries = ({ commands, decisions, group }: PartsProps) => {
  const messages = useMessages(compareMessages)
  const { candidates: label } = useMessages(groupMessages)
  const [chosen, setChosen] = useState(0)
  const rejecting = useAction()
  const continuing = useAction()
  const candidate = group.candidates[chosen]
  const mayWork = useCanWork(group.projectId)
  const { nowText } = useMessages(decideMessages)
  const sending = useTellCandidate(group)
  const open = (at: number, action: typeof rejecting) => {
    setChosen(at)
    action.setOpen(true)
  }
  return (
    <>
      <ul className={`summaries summaries-${group.candidates.length}`} aria-label={label}>
        {group.candidates.map((each, at) => (
          <CandidateSummary
            key={each.task.id}
            {...{ at, decisions, group }}
            candidate={each}
            onRejectAll={() => open(at, rejecting)}
            onContinue={() => open(at, continuing)}
          />
        ))}
      </ul>
      <RefusalNote error={sending.error} />
      {candidate !== undefined && (
        <>
          <RejectDialog
            action={rejecting}
            title={messages.rejectTitle(shortNameOf(candidate, chosen))}
            apart={candidate.changes?.apart ?? 0}
            comments={0}
            maySend={mayWork && candidate.closed !== true}
            onReject={(comment, isNow) =>
              candidate.changes &&
              decisions.decideAll("reject", candidate.changes, {
                comment,
                ...(isNow ? { onDecided: () => sending.mutate({ candidate, text: nowText }) } : {})
              })
            }
          />
          <FormDialog
            action={continuing}
            title={messages.continueTitle(shortNameOf(candidate, chosen))}
            submit={messages.submitContinue}
            onSubmit={() => commands.continued.mutateAsync(candidate.task.id)}
          >
            <p>{messages.continueText(CLOSED_DAYS)}</p>
          </FormDialog>
        </>
      )}
    </>
  )
}

interface NotesProps {
  readonly comparison: GroupComparison
  readonly group: TaskGroup
  readonly onLoad: () => void
}

/** Why something is not compared. */
const ComparisonNotes = ({ comparison, group, onLoad }: NotesProps) => {
  const messages = useMessages(compareMessages)
  return comparison.candidates.map(({ reason = "", state, taskId, truncated }) => {
    const at = group.candidates.findIndex(({ task }) => task.id === taskId)
    const candidate = group.candidates[at]
    const name = candidate === undefined ? "" : shortNameOf(candidate, at)
    if (state === "failed")
      return (
        <p key={taskId} className="line warning" role="alert">
          {messages.failed(name, visibleLine(reason, 400))}{" "}
          <button type="button" className="button small" onClick={onLoad}>
            {messages.load}
          </button>
        </p>
      )
    return truncated === true ? (
      <p key={taskId} className="line warning">
        {messages.truncated(name)}
      </p>
    ) : null
  })
}

/** What was decided last, with its undo, in view wherever the reader is. */
const Outcome = ({ decisions, group }: Pick<PartsProps, "decisions" | "group">) => {
  const [undone, setUndone] = useState<ChangeDecision>()
  const project = useProjects().find(({ id }) => id === group.projectId)
  const run = group.candidates.find(({ changes }) => changes?.id === undone?.changeSetId)?.run
  return (
    <>
      <div className="compare-outcome">
        <OutcomeNote
          outcome={decisions.outcome}
          isOthersOnly={project?.approvals.ownRequests === false}
          onUndo={setUndone}
          onDismiss={decisions.dismiss}
        />
      </div>
      <ConflictDialog decisions={decisions} group={group} />
      {undone !== undefined && run !== undefined && (
        <UndoDialog
          run={run}
          decision={undone}
          onClose={() => {
            setUndone(undefined)
            decisions.dismiss()
            void decisions.reload()
          }}
        />
      )}
    </>
  )
}

/** The focus of a decided part, which disappears, goes to the heading of the files. */
const useFocusAfterDecision = (isBusy: boolean): RefObject<HTMLHeadingElement | null> => {
  const heading = useRef<HTMLHeadingElement>(null)
  const wasBusy = useRef(false)
  useEffect(() => {
    if (wasBusy.current && !isBusy && document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true })
    wasBusy.current = isBusy
  }, [isBusy])
  return heading
}

interface FilesProps extends Pick<PartsProps, "decisions" | "group"> {
  readonly compared: ReturnType<typeof useComparison>
  readonly open: ReadonlySet<string>
  readonly onToggle: (id: string) => void
}

const Files = ({ compared, decisions, group, onToggle, open }: FilesProps) => {
  const messages = useMessages(compareMessages)
  const decide = useMessages(decideMessages)
  const heading = useFocusAfterDecision(decisions.isBusy)
  const rejecting = useAction()
  const [part, setPart] = useState<CandidatePart>()
  const [sides, setSides] = useState<ReadonlyArray<ConflictSides>>([])
  const { comparison, isStale, query, reload } = compared
  const isAnyBusy = group.candidates.some(isBusy)
  return (
    <section className="compare-files" aria-labelledby="compare-files">
      <h2 id="compare-files" ref={heading} tabIndex={-1}>
        {messages.files}
      </h2>
      {isStale && !decisions.isBusy && (
        <p className="changes-stale" role="status">
          {messages.stale}{" "}
          <button type="button" className="button small" onClick={() => void reload()}>
            <Icon name="refresh" size={14} />
            {messages.load}
          </button>
        </p>
      )}
      {query.isLoading && <Loading />}
      <RefusalNote error={query.error} again={() => void reload()} />
      {comparison !== undefined && (
        <ComparisonNotes {...{ comparison, group }} onLoad={() => void reload()} />
      )}
      {comparison?.files.length === 0 && (
        <p className="panel-empty">{isAnyBusy ? messages.noFilesYet : messages.noFiles}</p>
      )}
      {comparison !== undefined && comparison.files.length > 0 && (
        <ComparedFiles
          {...{ comparison, decisions, group, onToggle, open }}
          onSayWhy={(of) => {
            setPart(of)
            rejecting.setOpen(true)
          }}
          onSides={({ parts }) => setSides(parts?.sides === undefined ? [] : [parts.sides])}
        />
      )}
      {part !== undefined && (
        <RejectDialog
          action={rejecting}
          title={decide.rejectOne(visibleLine(part.part.file.diff.path, 400))}
          apart={0}
          comments={0}
          onReject={(reason) => decisions.decide("reject", part.runId, part.part, reason)}
        />
      )}
      <Dialog.Root open={sides.length > 0} onOpenChange={(isOpen) => !isOpen && setSides([])}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog dialog-conflict" aria-label={decide.conflictTitle(sides.length)}>
            <ConflictView files={sides} isRefused={false} onDismiss={() => setSides([])} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </section>
  )
}

const Comparison = ({ group }: { readonly group: TaskGroup }) => {
  const messages = useMessages(compareMessages)
  const words = useMessages(groupMessages)
  const title = useSessionTitle(group.sessionId)
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const compared = useComparison(group, open.size > 0)
  const decisions = useGroupDecisions(group.id, compared.reload)
  const commands = useGroupCommands(group.id)
  const count = group.candidates.length
  const toggle = (id: string) =>
    setOpen((before) =>
      before.has(id) ? new Set([...before].filter((each) => each !== id)) : new Set([...before, id])
    )
  return (
    <PageFrame
      title={messages.title(count)}
      above={
        <Link to="/sessions/$sessionId" params={{ sessionId: group.sessionId }}>
          {visibleLine(title ?? messages.session, 120)}
        </Link>
      }
      actions={
        <>
          <span className="quiet compare-progress" role="status">
            {words.progress(endedCount(group), count)}
          </span>
          <GroupButtons commands={commands} group={group} />
        </>
      }
    >
      <div className="compare">
        <GroupRefusals commands={commands} group={group} />
        <Summaries {...{ commands, decisions, group }} />
        {group.removeAt !== undefined && (
          <p className="quiet compare-remove">
            {messages.removeAt} <Time at={group.removeAt} />
          </p>
        )}
        <Files {...{ compared, decisions, group, open }} onToggle={toggle} />
        <Outcome decisions={decisions} group={group} />
      </div>
    </PageFrame>
  )
}

export const ComparePage = ({ groupId }: { readonly groupId: string }) => {
  const messages = useMessages(compareMessages)
  const {
    data: group,
    error,
    isLoading,
    refetch
  } = useQuery({
    ...taskGroupQuery(groupId as TaskGroupId),
    retry: (count, failure) => !(failure instanceof CorralError) && count < 2
  })
  if (group !== undefined) return <Comparison group={group} />
  return (
    <PageFrame title={messages.loading}>
      {isLoading && <Loading />}
      <RefusalNote error={error} again={() => void refetch()} />
    </PageFrame>
  )
}
