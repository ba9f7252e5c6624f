/**
 * Dialogs of decisions about changes: one rejects parts of a change set with a reason for the agent; one reverses a decision, or what a turn wrote
 * directly, names the files, and shows both versions of those that have changed since.
 */
import { AlertDialog } from "@base-ui/react/alert-dialog"
import type { ChangeDecision } from "@corral/domain/edge-api/ChangeSet"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { FormDialog, type UserAction, focusAtOnce } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { uiMessages } from "../ui/messages.ts"
import { ConflictFile } from "./ConflictView.tsx"
import { decideMessages } from "./decideMessages.ts"
import { MAX_REASON } from "./setFiles.ts"
import { sidesOf, useUndo } from "./useDecide.ts"
import "./decide.css"

interface RejectProps {
  readonly action: UserAction
  readonly title: string
  /** Line comments that go along. */
  readonly comments: number
  /** Files that are apart, which a rejection of everything leaves. */
  readonly apart: number
  /** Whether the agent can receive a message now. */
  readonly maySend?: boolean
  /** `isNow`: the agent gets a message about it at once. Otherwise it hears of it with the next one. */
  readonly onReject: (reason: string, isNow: boolean) => void
}

/** Rejects parts of a change set with a reason. */
export const RejectDialog = ({ action, apart, comments, maySend = false, onReject, title }: RejectProps) => {
  const messages = useMessages(decideMessages)
  return (
    <FormDialog
      action={action}
      title={title}
      submit={messages.reject}
      onSubmit={async (form) => onReject(textIn(form, "reason"), form.has("now"))}
    >
      <p>
        {messages.rejectText} {apart > 0 && messages.rejectApart(apart)}{" "}
        {comments > 0 && messages.withComments(comments)}
      </p>
      <Field label={messages.comment} hint={messages.commentHint}>
        <textarea name="reason" rows={3} maxLength={MAX_REASON} />
      </Field>
      {maySend && (
        <label className="choice">
          <input type="checkbox" name="now" />
          {messages.sendNow}
        </label>
      )}
    </FormDialog>
  )
}

/** Files that the dialog names. */
const NAMED = 12

/** The newest decision that can be reversed. */
export const newestReversible = (
  decisions: ReadonlyArray<ChangeDecision>
): (ChangeDecision & { readonly kind: "accept" | "reject" }) | undefined => {
  const found = decisions.find(({ kind, reversedBy }) => kind !== "undo" && reversedBy === undefined)
  return found === undefined || found.kind === "undo" ? undefined : { ...found, kind: found.kind }
}

interface Undone {
  readonly kind: "accept" | "reject" | "run"
  readonly decisionId?: ChangeDecision["id"]
  readonly paths: ReadonlyArray<string>
  readonly fileCount: number
}

const ofDecision = ({ fileCount, files, id, kind }: ChangeDecision): Undone | undefined =>
  kind === "undo" ? undefined : { kind, decisionId: id, fileCount, paths: files.map(({ path }) => path) }

/** What an undo without a named decision reverses: the files of a direct set, or its newest decision. */
const useUndone = (run: HubRun, decision: ChangeDecision | undefined) =>
  useQuery({
    queryKey: ["changeSets", "undone", run.id, decision?.id ?? ""],
    queryFn: async ({ signal }): Promise<Undone | null> => {
      if (decision !== undefined) return ofDecision(decision) ?? null
      const { items, set } = await hubApi.changeSets.get({
        params: { id: run.id },
        query: { limit: NAMED },
        signal
      })
      if (set.direct)
        return set.fileCount === 0
          ? null
          : { kind: "run", fileCount: set.fileCount, paths: items.map(({ path }) => path) }
      const newest = newestReversible(set.decisions)
      return (newest && ofDecision(newest)) ?? null
    },
    retry: false
  })

interface UndoProps {
  readonly run: HubRun
  /** Absent: what the turn wrote, or the newest decision. */
  readonly decision?: ChangeDecision | undefined
  readonly onClose: () => void
}

export const UndoDialog = ({ decision, onClose, run }: UndoProps) => {
  const messages = useMessages(decideMessages)
  const { cancel } = useMessages(uiMessages)
  const undone = useUndone(run, decision)
  const undo = useUndo(run.id)
  const { data } = undone
  const kind = data?.kind ?? decision?.kind ?? "run"
  const sides = sidesOf(undo.error)
  const confirm = () => {
    const { decisionId } = data ?? {}
    undo.mutate(decisionId === undefined ? {} : { decisionId }, { onSuccess: onClose })
  }
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className={sides.length > 0 ? "dialog dialog-conflict" : "dialog"}>
          <AlertDialog.Title className="dialog-title">
            {sides.length > 0
              ? messages.conflictTitle(sides.length)
              : messages.undoTitle[kind === "undo" ? "run" : kind]}
          </AlertDialog.Title>
          {undone.isLoading && <Loading />}
          <RefusalNote error={undone.error} />
          {data === null && <AlertDialog.Description>{messages.undoNothing}</AlertDialog.Description>}
          {data !== undefined && data !== null && sides.length === 0 && (
            <>
              <AlertDialog.Description>{messages.undoText[data.kind]}</AlertDialog.Description>
              <ul className="undo-files">
                {data.paths.slice(0, NAMED).map((path) => (
                  <li key={path}>
                    <code>{visibleLine(path, 1_000)}</code>
                  </li>
                ))}
                {data.fileCount > NAMED && <li>{messages.moreFiles(data.fileCount - NAMED)}</li>}
              </ul>
            </>
          )}
          {sides.length > 0 ? (
            <>
              <AlertDialog.Description>{messages.undoConflict}</AlertDialog.Description>
              {sides.map((each) => (
                <ConflictFile key={each.id} sides={each} />
              ))}
            </>
          ) : (
            <RefusalNote error={undo.error} />
          )}
          <div className="dialog-actions">
            <AlertDialog.Close ref={focusAtOnce} className="button">
              {sides.length > 0 || data === null ? messages.close : cancel}
            </AlertDialog.Close>
            {data !== undefined && data !== null && sides.length === 0 && (
              <button type="button" className="button danger" disabled={undo.isPending} onClick={confirm}>
                {messages.undo}
              </button>
            )}
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
