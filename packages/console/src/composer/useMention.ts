/** State of the completion in a message field: the mention at the caret, its entries and the selected one. */
import type { FileEntry } from "@corral/domain/device/Workspace"
import { type KeyboardEvent, useMemo, useState } from "react"
import { type Mention, mentionAt, rankEntries } from "./Mention.ts"
import { type MentionPlace, useFolder } from "./useFolder.ts"

export interface OpenMention {
  readonly place: MentionPlace
  readonly entries: ReadonlyArray<FileEntry>
  /** Index of the selected entry. */
  readonly selected: number
  readonly isLoading: boolean
  readonly error: Error | null
}

const noEntries: ReadonlyArray<FileEntry> = []

interface Selection {
  /** The typed path that the selection belongs to. */
  readonly path: string
  readonly index: number
}

/** `caret` is undefined while the field has no focus. `onChoose` completes the path. */
export const useMention = (
  text: string,
  caret: number | undefined,
  place: MentionPlace | undefined,
  onChoose: (mention: Mention, entry: FileEntry) => void
) => {
  const [selection, setSelection] = useState<Selection>({ path: "", index: 0 })
  /** Position of the mention that was closed with Escape. */
  const [closedAt, setClosedAt] = useState<number>()
  const found = place === undefined || caret === undefined ? undefined : mentionAt(text, caret)
  const mention = found?.start === closedAt ? undefined : found
  const { data = noEntries, error, isLoading } = useFolder(place, mention?.folder)
  const name = mention?.name ?? ""
  const entries = useMemo(() => rankEntries(data, name), [data, name])
  if (found === undefined && closedAt !== undefined) setClosedAt(undefined)

  const path = mention === undefined ? "" : `${mention.folder}/${mention.name}`
  const selected = selection.path === path ? Math.min(selection.index, Math.max(entries.length - 1, 0)) : 0
  const select = (index: number) => setSelection({ path, index })
  const choose = (index: number) => {
    const entry = entries[index]
    if (mention !== undefined && entry !== undefined) onChoose(mention, entry)
  }
  const state: OpenMention | undefined =
    mention === undefined || place === undefined ? undefined : { place, entries, selected, isLoading, error }

  /** Returns whether the key was for the completion. */
  const onKey = ({ key }: Pick<KeyboardEvent, "key">): boolean => {
    if (mention === undefined) return false
    if (key === "Escape") {
      setClosedAt(mention.start)
      return true
    }
    if (entries.length === 0) return false
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1
      select((selected + step + entries.length) % entries.length)
      return true
    }
    if (key !== "Enter" && key !== "Tab") return false
    choose(selected)
    return true
  }
  return { state, onKey, choose, select }
}
