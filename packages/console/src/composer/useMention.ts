/** State of the completion in a message field: the mention at the caret, its entries and the selected one. */
import type { FileEntry } from "@corral/domain/device/Workspace"
import { type KeyboardEvent, useEffect, useEffectEvent, useState } from "react"
import { type Mention, mentionAt } from "./Mention.ts"
import { type MentionPlace, useFoundFiles } from "./useFoundFiles.ts"

export interface OpenMention {
  readonly place: MentionPlace | "loading"
  readonly entries: ReadonlyArray<FileEntry>
  /** Index of the selected entry. */
  readonly selected: number
  readonly isSearching: boolean
  readonly error: Error | null
}

interface Selection {
  /** What was typed when the entry was selected. */
  readonly query: string
  readonly index: number
}

/** `caret` is undefined while the field has no focus. `onChoose` completes the path. */
export const useMention = (
  text: string,
  caret: number | undefined,
  place: MentionPlace | "loading" | undefined,
  onChoose: (mention: Mention, entry: FileEntry) => void
) => {
  const [selection, setSelection] = useState<Selection>({ query: "", index: 0 })
  /** What was typed when a key chose the best match of a search without an answer yet. */
  const [awaited, setAwaited] = useState<string>()
  /** Position of the mention that was closed with Escape. */
  const [closedAt, setClosedAt] = useState<number>()
  const found = place === undefined || caret === undefined ? undefined : mentionAt(text, caret)
  const mention = found?.start === closedAt ? undefined : found
  const { error, isSearching, items: entries } = useFoundFiles(place, mention?.query)
  if (found === undefined && closedAt !== undefined) setClosedAt(undefined)

  const query = mention?.query ?? ""
  const selected = selection.query === query ? Math.min(selection.index, Math.max(entries.length - 1, 0)) : 0
  const select = (index: number) => setSelection({ query, index })
  const choose = (index: number) => {
    const entry = entries[index]
    if (mention !== undefined && entry !== undefined) onChoose(mention, entry)
  }
  const chooseAwaited = useEffectEvent(() => {
    if (awaited === query) choose(0)
    setAwaited(undefined)
  })
  useEffect(() => {
    if (awaited !== undefined && !isSearching) chooseAwaited()
  }, [awaited, isSearching])
  const state: OpenMention | undefined =
    mention === undefined || place === undefined
      ? undefined
      : { place, entries, selected, isSearching, error }

  /** Returns whether the key was for the completion. */
  const onKey = ({ key }: Pick<KeyboardEvent, "key">): boolean => {
    if (mention === undefined) return false
    if (key === "Escape") {
      setClosedAt(mention.start)
      return true
    }
    const isChoice = key === "Enter" || key === "Tab"
    if (isChoice && isSearching) {
      setAwaited(query)
      return true
    }
    if (entries.length === 0) return false
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1
      select((selected + step + entries.length) % entries.length)
      return true
    }
    if (!isChoice) return false
    choose(selected)
    return true
  }
  return { state, onKey, choose, select }
}
