/** Decisions of a change set from its parts: what is sent for a file, a hunk or everything, with the comments on it, and where the focus goes. */
import type { ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useEffect, useRef } from "react"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { decidingItem } from "./DecideKeys.ts"
import type { PlacedComment } from "./LineComment.ts"
import { reviewMessages } from "./messages.ts"
import { reviewStore } from "./ReviewStore.ts"
import {
  type DecidedPart,
  commentsOn,
  hunkOf,
  MAX_REASON,
  rejectionComments,
  selectionOf
} from "./setFiles.ts"
import type { ReviewFile } from "./useChanges.ts"
import type { ChangeSetView } from "./useChangeSet.ts"
import type { useChangesReview } from "./useChangesReview.ts"
import { ALL, type Decision, useDecide } from "./useDecide.ts"

type Review = ReturnType<typeof useChangesReview>

const keyOf = ({ file, hunkId }: DecidedPart): string => hunkId ?? file.parts?.changed.id ?? ""

const isApart = ({ parts }: ReviewFile): boolean => parts?.changed.apart !== undefined

/** After a decision, the focus goes to what takes the place of the decided part. */
const useNextFocus = ({ list, view }: Review, isBusy: boolean): ((part: DecidedPart) => void) => {
  const place = useRef<number>(undefined)
  const { items } = view
  useEffect(() => {
    if (isBusy || place.current === undefined) return
    const at = Math.min(place.current, items.length - 1)
    place.current = undefined
    const { activeElement } = document
    if (activeElement !== document.body && activeElement !== list.scroller.current) return
    const next = decidingItem(items, at) ?? items.slice(at).find(({ kind }) => kind === "file")?.key
    if (next === undefined) list.scroller.current?.focus({ preventScroll: true })
    else list.focusItem(next)
  }, [isBusy, items, list])
  return ({ file, hunkId }) => {
    place.current = list.places.get(hunkId === undefined ? `file ${file.diff.path}` : `hunk ${hunkId}`)
    // The pressed button disappears.
    list.scroller.current?.focus({ preventScroll: true })
  }
}

/** Also does this once it is decided. */
const andThen = <D extends { readonly onDecided: () => void }>(decision: D, onDone?: () => void): D => ({
  ...decision,
  onDecided: () => {
    decision.onDecided()
    onDone?.()
  }
})

export type SetDecisions = ReturnType<typeof useSetDecisions>

export const useSetDecisions = (run: HubRun, changes: ChangeSetView, review: Review) => {
  const messages = useMessages(reviewMessages)
  const { send, ...deciding } = useDecide(run.id, changes)
  const decide = (decision: Omit<Decision, "runId">) => send({ ...decision, runId: run.id })
  const toNext = useNextFocus(review, deciding.isBusy)
  const { comments } = review.view
  const { files } = changes
  const accept = (part: DecidedPart): void => {
    const changed = part.file.parts?.changed
    if (changed === undefined) return
    toNext(part)
    decide({ kind: "accept", parts: selectionOf(part, changed), keys: [keyOf(part)] })
  }
  const withComments = (reason: string, on: ReadonlyArray<PlacedComment>) => {
    const { comments: about, ids } = rejectionComments(files, on, messages.message)
    return {
      comment: visibleText(reason.trim()).slice(0, MAX_REASON),
      comments: about,
      onDecided: () => reviewStore.removeComments(run.id, ids)
    }
  }
  const reject = (part: DecidedPart, reason = "", onDone?: () => void): void => {
    const changed = part.file.parts?.changed
    if (changed === undefined) return
    toNext(part)
    decide({
      kind: "reject",
      parts: selectionOf(part, changed),
      keys: [keyOf(part)],
      ...andThen(withComments(reason, commentsOn(part, comments)), onDone)
    })
  }
  /** Accepts a hunk as the person wrote it in a comment, which is done with. */
  const applySuggestion = ({ comment, span }: PlacedComment): void => {
    const file = files.find(({ diff }) => diff.path === comment.path)
    const found = file === undefined ? undefined : hunkOf(file, span)
    if (file === undefined || found === undefined || comment.suggestion === undefined) return
    const part = { file, hunkId: found.id }
    toNext(part)
    decide({
      kind: "accept",
      parts: { hunks: [found.id] },
      edits: [{ hunkId: found.id, lines: comment.suggestion }],
      keys: [keyOf(part)],
      onDecided: () => reviewStore.removeComments(run.id, new Set([comment.id]))
    })
  }
  const ofAll = files.filter((file) => !isApart(file)).flatMap((file) => commentsOn({ file }, comments))
  const all = ({ version }: ChangeSet) => ({ parts: { all: true as const, version }, keys: [ALL] })
  return {
    ...deciding,
    accept,
    reject,
    acceptAll: (set: ChangeSet) => decide({ kind: "accept", ...all(set) }),
    rejectAll: (set: ChangeSet, reason: string, onDone?: () => void) =>
      decide({ kind: "reject", ...all(set), ...andThen(withComments(reason, ofAll), onDone) }),
    applySuggestion,
    /** Rejects files by their ids. */
    rejectFiles: (ids: ReadonlyArray<string>) => {
      const found = files.filter(({ parts }) => parts !== undefined && ids.includes(parts.changed.id))
      const changed = found.flatMap(({ parts }) => (parts === undefined ? [] : [parts.changed]))
      decide({
        kind: "reject",
        parts: {
          files: changed.map(({ id }) => id),
          versions: Object.fromEntries(changed.map(({ id, version }) => [id, version]))
        },
        keys: changed.map(({ id }) => id)
      })
    },
    commentsOfAll: ofAll.length,
    pendingOf: (part: DecidedPart) =>
      deciding.pending.get(keyOf(part)) ??
      deciding.pending.get(part.file.parts?.changed.id ?? "") ??
      (isApart(part.file) ? undefined : deciding.pending.get(ALL))
  }
}
