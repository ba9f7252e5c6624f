/**
 * Review of changes: which files are open and viewed, the comments with their places, the comment being written, the items with their keys, and the
 * message that sends all comments.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import type { Layout } from "../diff/rows.ts"
import { useDiffLayout } from "./ChangesBar.tsx"
import { type LineComment, type LineRef, type PlacedComment, placedComment, spanOf } from "./LineComment.ts"
import { DRAFT_KEY, NEW_COMMENT, isLarge, reviewItems } from "./ReviewItem.ts"
import { reviewStore, useReview } from "./ReviewStore.ts"
import { useSendComments } from "./SendComments.tsx"
import type { Changes, ReviewFile } from "./useChanges.ts"
import { useLineSelection, useReviewKeys, useReviewList } from "./useReviewList.ts"

export type ChangesView = ReturnType<typeof useChangesView>

/** Files that the user opened or folded, and the rest by default: viewed and large files are folded. */
const useOpenFiles = (
  files: ReadonlyArray<ReviewFile>,
  isViewed: (file: ReviewFile) => boolean,
  draftPath: string | undefined
) => {
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map())
  const isOpen = useCallback(
    (file: ReviewFile): boolean =>
      file.diff.path === draftPath ||
      (toggled.get(file.diff.path) ?? (!isViewed(file) && !isLarge(file.diff))),
    [toggled, isViewed, draftPath]
  )
  const setOpen = (path: string, open: boolean | undefined) =>
    setToggled((current) => {
      const next = new Map(current)
      if (open === undefined) next.delete(path)
      else next.set(path, open)
      return next
    })
  const setAllOpen = (open: boolean) => setToggled(new Map(files.map(({ diff }) => [diff.path, open])))
  return { isOpen, setOpen, setAllOpen }
}

/** Comments being written, by run: they survive another tab of the panel. */
const unfinished = new Map<HubRun["id"], LineComment>()

const hasText = (comment: LineComment | undefined): boolean => (comment?.text ?? "").trim() !== ""

/** The comment being written. A field with text is never replaced by another one. */
const useDraft = (runId: HubRun["id"]) => {
  const [draft, setDraft] = useState(() => {
    const stored = unfinished.get(runId)
    return hasText(stored) ? stored : undefined
  })
  const begin = useCallback(
    (next: LineComment): void => {
      if (hasText(unfinished.get(runId))) return
      unfinished.set(runId, next)
      setDraft(next)
    },
    [runId]
  )
  const close = (): void => {
    unfinished.delete(runId)
    setDraft(undefined)
  }
  const add = (written: string, suggestion: LineComment["suggestion"]): LineComment | undefined => {
    if (draft === undefined) return undefined
    const id = draft.id === NEW_COMMENT ? crypto.randomUUID() : draft.id
    const { suggestion: _, ...place } = draft
    const comment = {
      ...place,
      id,
      text: written.trim(),
      ...(suggestion === undefined ? {} : { suggestion })
    }
    reviewStore.putComment(runId, comment)
    close()
    return comment
  }
  const onText = useCallback(
    (text: string) => {
      const current = unfinished.get(runId)
      if (current !== undefined) unfinished.set(runId, { ...current, text })
    },
    [runId]
  )
  return { draft, begin, close, add, onText }
}

/** `isComplete`: whether `files` are all changes. */
const useChangesView = (
  run: HubRun,
  { files, isComplete }: Pick<Changes, "files" | "isComplete">,
  layout: Layout
) => {
  const review = useReview(run.id)
  const { draft, ...drafting } = useDraft(run.id)
  const isViewed = useCallback(
    ({ diff, hash }: ReviewFile) => review.viewed.get(diff.path) === hash,
    [review.viewed]
  )
  const { isOpen, setAllOpen, setOpen } = useOpenFiles(files, isViewed, draft?.path)
  const byPath = useMemo(() => new Map(files.map((file) => [file.diff.path, file])), [files])
  const placed = useMemo(() => {
    const place = (comment: LineComment): PlacedComment => {
      const file = byPath.get(comment.path)
      // Lines that are not loaded may be there.
      const isOpen = file?.parts?.isLoaded === false
      return placedComment(comment, isOpen ? undefined : file?.diff, isComplete && !isOpen)
    }
    return {
      comments: review.comments.map(place),
      draft: draft?.id === NEW_COMMENT ? [place(draft)] : []
    }
  }, [byPath, isComplete, review.comments, draft])
  const items = useMemo(
    () => reviewItems(files, { layout, isOpen, draft, comments: [...placed.comments, ...placed.draft] }),
    [files, layout, isOpen, draft, placed]
  )
  const { begin } = drafting
  /** Starts a comment on the lines from one to another one. */
  const beginComment = useCallback(
    (file: ReviewFile, one: LineRef, other: LineRef): void => {
      const span = spanOf(file.diff, one, other)
      if (span !== undefined) begin({ ...span, id: NEW_COMMENT, path: file.diff.path, text: "" })
    },
    [begin]
  )
  return {
    items,
    byPath,
    isOpen,
    isViewed,
    comments: placed.comments,
    draft,
    drafting,
    setAllOpen,
    setOpen,
    viewedCount: files.filter(isViewed).length,
    /** Viewed files fold. A file that is no longer viewed opens. */
    toggleViewed: (file: ReviewFile) => {
      reviewStore.setViewed(run.id, file.diff.path, isViewed(file) ? undefined : file.hash)
      setOpen(file.diff.path, undefined)
    },
    beginComment,
    removeComment: (id: string) => reviewStore.removeComments(run.id, new Set([id]))
  }
}

/** Key of the item that has the focus after a comment was written: the comment. */
const commentKey = ({ id }: LineComment): string => `comment ${id}`

interface Options {
  readonly run: HubRun
  readonly onComments?: ((text: string) => Promise<unknown>) | undefined
  /** Shows more lines around the changes of a file. */
  readonly onWiden?: ((file: ReviewFile) => void) | undefined
}

/** Lines, comments and keys of a review, without its look. */
export const useChangesReview = (
  { onComments, onWiden, run }: Options,
  changes: Pick<Changes, "files" | "isComplete">
) => {
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
    onSend: sending.send,
    onWiden
  })
  const onAdd = (text: string, isLast: boolean, suggestion: LineComment["suggestion"]) => {
    sendsNext.current = isLast
    const comment = view.drafting.add(text, suggestion)
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
