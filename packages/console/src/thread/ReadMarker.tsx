/** Marks a session as read once the end of its thread was seen in a visible window. Shows nothing. */
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useSyncExternalStore } from "react"
import { hubApi } from "../api/Hub.ts"
import { useFollowState } from "./EndFollower.ts"

const onVisibility = (listener: () => void) => {
  document.addEventListener("visibilitychange", listener)
  return () => document.removeEventListener("visibilitychange", listener)
}

interface Props {
  readonly session: Session
  /** The newest message of the thread. */
  readonly newest: Message | undefined
}

export const ReadMarker = ({ newest, session: { id, unread = 0 } }: Props) => {
  const client = useQueryClient()
  const { isFollowing } = useFollowState()
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden)
  const marked = useRef<string>(undefined)
  const messageId = newest?.id
  const isSeen = isFollowing && isVisible && unread > 0
  useEffect(() => {
    if (!isSeen || messageId === undefined || marked.current === messageId) return
    marked.current = messageId
    // A position that could not be stored is stored with the next message.
    void hubApi.conversations.read({ params: { id }, payload: { messageId } }).then(
      () => client.invalidateQueries({ queryKey: ["sessions"] }),
      () => (marked.current = undefined)
    )
  }, [client, id, isSeen, messageId])
  return null
}
