/** Review of changes: its items, their keys, the comments being written, and the message that sends them. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useEffect, useRef } from "react"
import { useDiffLayout } from "../diff/useDiffLayout.ts"
import type { LineComment } from "./LineComment.ts"
import { DRAFT_KEY, NEW_COMMENT } from "./ReviewItem.ts"
import { useSendComments } from "./SendComments.tsx"
import type { Changes, ReviewFile } from "./useChanges.ts"
import { useChangesView } from "./useChangesView.ts"
import { useLineSelection } from "./useLineSelection.ts"
import { useReviewKeys } from "./useReviewKeys.ts"
import { useReviewList } from "./useReviewList.ts"

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
