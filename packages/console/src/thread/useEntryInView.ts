/** Brings one entry of a thread into view: that of a message or a run that was searched for. Loads earlier entries until it is among them. */
import { type RefObject, useEffect, useEffectEvent, useRef } from "react"
import { useFollowState } from "./FollowContext.ts"
import type { ThreadEntry } from "./Turns.ts"

/** Most pages that are loaded for it. */
const MAX_PAGES = 40

interface Search {
  /** Id of the message or run. */
  readonly at: string | undefined
  readonly entries: ReadonlyArray<ThreadEntry>
  readonly isLoading: boolean
  readonly onEarlier: (() => void) | undefined
}

const contains = (entry: ThreadEntry, id: string): boolean => {
  if (entry.kind === "note") return entry.message.id === id
  const { answer, prompts, runId, texts } = entry
  return runId === id || answer?.id === id || [...prompts, ...texts].some((message) => message.id === id)
}

/** Whether the message is in the folded work of the turn. */
export const isInWork = (entry: ThreadEntry, at: string | undefined): boolean =>
  entry.kind === "turn" && entry.texts.some(({ id }) => id === at) && entry.answer?.id !== at

/** Key of the entry, once it is there. The list has one element for each entry. */
export const useEntryInView = (
  list: RefObject<HTMLElement | null>,
  { at, entries, isLoading, onEarlier }: Search
): string | undefined => {
  const { end } = useFollowState()
  const pages = useRef(0)
  const place = at === undefined ? -1 : entries.findIndex((entry) => contains(entry, at))
  const key = entries[place]?.key
  const show = useEffectEvent(() => {
    const element = list.current?.children[place]
    if (element === undefined) return
    end.leave()
    element.scrollIntoView({ block: "start" })
    // What is above it gets its height now.
    end.holdInPlace(element)
  })
  const loadEarlier = useEffectEvent(() => {
    pages.current += 1
    onEarlier?.()
  })
  useEffect(() => {
    pages.current = 0
  }, [at])
  useEffect(() => {
    if (key !== undefined) show()
  }, [at, key])
  const isMissing = at !== undefined && key === undefined && !isLoading && entries.length > 0
  useEffect(() => {
    if (isMissing && pages.current < MAX_PAGES) loadEarlier()
  }, [isMissing, entries])
  return key
}
