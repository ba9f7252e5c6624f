/**
 * Decisions of a change set from its parts: what is sent for a file, a hunk or everything, with the comments on it, where the focus goes, and the keys: a
 * letter moves the focus to a button, and Enter as the next key presses it.
 *
 * Guarantees: a sentence decides nothing, wherever the focus is in the changes. A letter with another key after it is the beginning of a text, as
 * is a letter that moves with Space after it; in a text, no letter goes to a button. Enter, Escape, Tab, an arrow key or a pointer ends it.
 */
import type { ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type KeyboardEvent, useEffect, useRef } from "react"
import { useSingleKeys } from "../keys/Shortcut.ts"
import { DIALOGS, INNER_KEYS, TEXT_FIELDS, beginsText, isTextInProgress } from "../keys/TextKey.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import type { PlacedComment } from "./LineComment.ts"
import type { ReviewItem } from "./ReviewItem.ts"
import { reviewStore } from "./ReviewStore.ts"
import { reviewMessages } from "./messages.ts"
import {
  type DecidedPart,
  MAX_REASON,
  commentsOn,
  hasHunkDecisions,
  hunkOf,
  rejectionComments,
  selectionOf
} from "./setFiles.ts"
import type { ChangeSetView } from "./useChangeSet.ts"
import type { ReviewFile } from "./useChanges.ts"
import type { useChangesReview } from "./useChangesReview.ts"
import { ALL, type Decision, useDecide } from "./useDecide.ts"
import { REVIEW_LETTERS, type ReviewList } from "./useReviewList.ts"

/** `moved`: the last key was a letter of the review. `armed`: a letter has moved the focus to a button. */
export type DecideMode = "ready" | "moved" | "armed" | "text"

/** `pass`: the review or the browser acts. `arm`: the button takes the focus. `stop`: the key has no effect. */
type DecideAction = "pass" | "arm" | "stop"

interface DecideKeyFacts {
  readonly key: string
  /** Whether Ctrl, Alt or Cmd is pressed. */
  readonly isModified: boolean
  readonly isRepeated: boolean
  /** Whether the key moves in the review, or acts on a file without a decision. */
  readonly isCommand: boolean
  /** Whether the key is the letter of a button that is there. */
  readonly hasButton: boolean
}

interface DecideKey {
  readonly mode: DecideMode
  readonly action: DecideAction
  /** Whether a button that decides loses the focus first. */
  readonly leaves: boolean
}

const MODIFIERS: ReadonlySet<string> = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"])

const keyOfText = (mode: DecideMode, facts: DecideKeyFacts): DecideKey => {
  const { hasButton, isCommand, isRepeated, key } = facts
  if (mode === "armed") return { mode: isRepeated ? mode : "text", action: "stop", leaves: !isRepeated }
  if (INNER_KEYS.has(key))
    return mode === "ready"
      ? { mode, action: "pass", leaves: false }
      : { mode: "text", action: "pass", leaves: true }
  if (isCommand) return { mode: mode === "text" ? mode : "moved", action: "pass", leaves: true }
  if (hasButton && mode !== "text" && !isRepeated) return { mode: "armed", action: "arm", leaves: false }
  return { mode: "text", action: "pass", leaves: true }
}

/** What a key leads to, by where the focus is and what came before. */
export const decideKeyOf = (mode: DecideMode, facts: DecideKeyFacts): DecideKey => {
  const { isModified, key } = facts
  if (MODIFIERS.has(key)) return { mode, action: "pass", leaves: false }
  if (!isModified && (INNER_KEYS.has(key) || beginsText(key))) return keyOfText(mode, facts)
  const stays = (key === "Enter" && !isModified) || key === "Tab"
  return { mode: "ready", action: "pass", leaves: mode === "armed" && !stays }
}

/** The item with the buttons for an item: the head of its hunk, or of its file. */
const decidingItem = (items: ReadonlyArray<ReviewItem>, at: number): string | undefined => {
  for (let index = at; index >= 0; index--) {
    const item = items[index]
    if (item === undefined || item.kind === "apart" || item.kind === "lost") return undefined
    if (item.kind === "file") return item.file.parts === undefined ? undefined : item.key
    const isHunk = item.kind === "row" && item.row.kind === "hunk"
    if (isHunk && item.file.parts !== undefined && hasHunkDecisions(item.file.parts)) return item.key
  }
  return undefined
}

const letters: ReadonlyMap<string, string> = new Map([
  ["a", "a"],
  ["d", "d"]
])

const isField = (target: Element): boolean =>
  target.matches(TEXT_FIELDS) && !target.matches("input[type=checkbox], input[type=radio]")

const DECIDES = "[data-decides]"

interface Options {
  readonly items: ReadonlyArray<ReviewItem>
  readonly list: ReviewList
  /** Whether anything can be decided now. */
  readonly isOpen: boolean
}

/** Handler of keys for the decisions of a change set. */
export const useDecideKeys = ({ isOpen, items, list }: Options) => {
  const [isOn] = useSingleKeys()
  const mode = useRef<DecideMode>("ready")
  const leave = (): void => {
    const { activeElement } = document
    if (!(activeElement instanceof HTMLElement) || !activeElement.matches(DECIDES)) return
    if (list.scroller.current === null) activeElement.blur()
    else list.scroller.current.focus({ preventScroll: true })
  }
  const onKeyDownCapture = (event: KeyboardEvent): void => {
    const { altKey, ctrlKey, currentTarget, key, metaKey, nativeEvent, repeat, target } = event
    if (nativeEvent.isComposing || !(target instanceof Element)) return
    // A dialog of the changes is elsewhere in the page.
    if (!currentTarget.contains(target) || isField(target) || document.querySelector(DIALOGS) !== null)
      return void (mode.current = "ready")
    const place = list.places.get(list.active ?? "") ?? list.virtual.range?.startIndex
    const item = place === undefined ? undefined : decidingItem(items, place)
    // A button that has lost the focus by itself is not armed.
    if (mode.current === "armed" && document.activeElement?.matches(DECIDES) !== true) mode.current = "text"
    const before = isTextInProgress() ? "text" : mode.current
    const next = decideKeyOf(before, {
      key,
      isModified: altKey || ctrlKey || metaKey,
      isRepeated: repeat,
      isCommand: REVIEW_LETTERS.has(key),
      hasButton: isOn && isOpen && item !== undefined && letters.has(key)
    })
    mode.current = next.mode
    if (next.leaves) leave()
    if (next.action === "pass") return
    event.preventDefault()
    event.stopPropagation()
    if (next.action === "arm" && item !== undefined)
      list.focusItem(item, "auto", `[data-key="${letters.get(key)}"]:not(:disabled)`)
  }
  return { onKeyDownCapture, onPointerDownCapture: () => void (mode.current = "ready") }
}

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
