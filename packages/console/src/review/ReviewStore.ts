/**
 * Review of each run in this browser: viewed files, and comments that are not sent, as they change in this tab and in others.
 *
 * Guarantees: bounded in runs, files and comments; the oldest ones go first. Data of another version or from outside is ignored. Without
 * storage, it lasts as long as the page.
 */
import { fieldOf } from "@corral/domain/text/JsonObject"
import { useCallback, useEffect, useSyncExternalStore } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import type { LineComment, LineRef } from "./LineComment.ts"

interface StoredReview {
  /** Hash of the content that the user marked as viewed, by path. */
  readonly viewed: ReadonlyMap<string, string>
  readonly comments: ReadonlyArray<LineComment>
}

export type ReviewStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">

export const MAX_COMMENTS = 100
export const MAX_COMMENT_CHARACTERS = 8_000
const MAX_RUNS = 30
const MAX_VIEWED = 2_000
const RUNS = "corral.review"
const keyOf = (runId: string): string => `${RUNS}.${runId}`

const emptyReview: StoredReview = { viewed: new Map(), comments: [] }

const isText = (value: unknown): value is string => typeof value === "string"

const isLine = (value: unknown): value is LineRef =>
  Number.isSafeInteger(fieldOf(value, "line")) &&
  ["old", "new"].some((side) => side === fieldOf(value, "side"))

const isComment = (value: unknown): value is LineComment => {
  const quote = fieldOf(value, "quote")
  const suggestion = fieldOf(value, "suggestion") ?? []
  return (
    ["id", "path", "text"].every((name) => isText(fieldOf(value, name))) &&
    isLine(fieldOf(value, "from")) &&
    isLine(fieldOf(value, "to")) &&
    Array.isArray(quote) &&
    quote.every(isText) &&
    Array.isArray(suggestion) &&
    suggestion.every(isText)
  )
}

const isMark = (value: unknown): value is readonly [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every(isText)

const listOf = <A>(value: unknown, is: (each: unknown) => each is A): ReadonlyArray<A> =>
  Array.isArray(value) ? value.filter(is) : []

const parsed = (text: string | null): unknown => {
  try {
    return JSON.parse(text ?? "null")
  } catch {
    return null
  }
}

export class ReviewStore {
  private readonly storage: ReviewStorage
  private readonly reviews = new Map<string, StoredReview>()
  private readonly listeners = new Set<() => void>()

  constructor(storage: ReviewStorage) {
    this.storage = storage
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** The same object until it changes. */
  get(runId: string): StoredReview {
    const cachedReview = this.reviews.get(runId)
    if (cachedReview !== undefined) return cachedReview
    const value = parsed(this.storage.getItem(keyOf(runId)))
    const review =
      value === null
        ? emptyReview
        : {
            viewed: new Map(listOf(fieldOf(value, "viewed"), isMark)),
            comments: listOf(fieldOf(value, "comments"), isComment).slice(-MAX_COMMENTS)
          }
    this.reviews.set(runId, review)
    return review
  }

  /** Marks a file with this content. Without a hash, removes the mark. */
  setViewed(runId: string, path: string, hash: string | undefined): void {
    const viewed = new Map(this.get(runId).viewed)
    viewed.delete(path)
    if (hash !== undefined) viewed.set(path, hash)
    this.set(runId, { ...this.get(runId), viewed: new Map([...viewed].slice(-MAX_VIEWED)) })
  }

  /** Adds a comment, or replaces the one with its id. */
  putComment(runId: string, comment: LineComment): void {
    const { comments } = this.get(runId)
    const text = comment.text.slice(0, MAX_COMMENT_CHARACTERS)
    const stored = { ...comment, text }
    const isNew = comments.every(({ id }) => id !== comment.id)
    if (isNew && comments.length >= MAX_COMMENTS) return
    const changed = isNew
      ? [...comments, stored]
      : comments.map((each) => (each.id === comment.id ? stored : each))
    this.set(runId, { ...this.get(runId), comments: changed })
  }

  removeComments(runId: string, ids: ReadonlySet<string>): void {
    const { comments } = this.get(runId)
    this.set(runId, { ...this.get(runId), comments: comments.filter(({ id }) => !ids.has(id)) })
  }

  /** Moves the comments of a run to another one, which has newer changes. */
  moveComments(from: string, to: string): void {
    if (from === to) return
    for (const comment of this.get(from).comments) this.putComment(to, comment)
    const moved = new Set(this.get(to).comments.map(({ id }) => id))
    this.removeComments(from, moved)
  }

  /** Reads again what another tab has changed. */
  reload(): void {
    this.reviews.clear()
    this.notify()
  }

  private set(runId: string, review: StoredReview): void {
    this.reviews.set(runId, review)
    const isEmpty = review.viewed.size === 0 && review.comments.length === 0
    const others = listOf(parsed(this.storage.getItem(RUNS)), isText).filter((id) => id !== runId)
    const runs = isEmpty ? others : [...others, runId]
    try {
      for (const id of runs.slice(0, -MAX_RUNS)) this.storage.removeItem(keyOf(id))
      if (isEmpty) this.storage.removeItem(keyOf(runId))
      else
        this.storage.setItem(
          keyOf(runId),
          JSON.stringify({ viewed: [...review.viewed], comments: review.comments })
        )
      this.storage.setItem(RUNS, JSON.stringify(runs.slice(-MAX_RUNS)))
    } catch {
      // The storage is full or blocked: the review stays in memory.
    }
    this.notify()
  }

  private notify(): void {
    for (const listener of this.listeners) listener()
  }
}

export const reviewStore = new ReviewStore(accountStorage)

/** The review of a run, as it changes in this tab and in others. */
export const useReview = (runId: string): StoredReview => {
  useEffect(() => {
    const onStorage = ({ key }: StorageEvent) => {
      if (key === null || key.startsWith("corral.review")) reviewStore.reload()
    }
    window.addEventListener("storage", onStorage)
    return () => window.removeEventListener("storage", onStorage)
  }, [])
  return useSyncExternalStore(
    reviewStore.subscribe,
    useCallback(() => reviewStore.get(runId), [runId])
  )
}
