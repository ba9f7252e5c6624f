/** Sends the pending comments of a run as one message. They stay until it is sent. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { commentsMessage, isTooLong } from "./commentsMessage.ts"
import type { PlacedComment } from "./LineComment.ts"
import { reviewStore } from "./useReview.ts"
import { reviewMessages } from "./messages.ts"

export interface CommentSending {
  readonly send: () => void
  readonly isPending: boolean
  readonly isTooLong: boolean
  readonly error: Error | null
  /** Number of comments of the last message. */
  readonly sent: number
}

export const useSendComments = (
  runId: HubRun["id"],
  comments: ReadonlyArray<PlacedComment>,
  onComments: ((text: string) => Promise<unknown>) | undefined
): CommentSending => {
  const messages = useMessages(reviewMessages)
  const [sent, setSent] = useState(0)
  const message = useMemo(() => commentsMessage(comments, messages.message), [comments, messages])
  const { error, isPending, mutate } = useMutation({
    mutationFn: async (pending: ReadonlyArray<PlacedComment>) => {
      await onComments?.(message)
      reviewStore.removeComments(runId, new Set(pending.map(({ comment }) => comment.id)))
      setSent(pending.length)
    }
  })
  const isLong = comments.length > 0 && isTooLong(message)
  return {
    send: () => {
      if (comments.length === 0 || isPending || isLong || onComments === undefined) return
      setSent(0)
      mutate(comments)
    },
    isPending,
    isTooLong: isLong,
    error,
    sent
  }
}
