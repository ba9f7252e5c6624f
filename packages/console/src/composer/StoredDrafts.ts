/**
 * Drafts of messages in the storage of this browser: the text, and the files that were uploaded for it.
 *
 * Guarantees: at most `MAX_DRAFTS` are kept, the oldest are deleted first. A browser without storage keeps none.
 */
import type { Attachment } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENTS } from "@corral/domain/session/AttachmentRules"
import { type AccountArea, accountStorage } from "../api/AccountStorage.ts"

/** Longest text of a message, in UTF-16 units. */
export const MAX_TEXT_LENGTH = 262_144
const MAX_DRAFTS = 50
/** A Hub deletes an upload that no message has after 24 hours. */
const UPLOAD_LIFETIME_MS = 23 * 3_600_000

const PREFIX = "corral.draft."

/** An uploaded file, with the time of its upload. */
export interface StoredFile {
  readonly attachment: Attachment
  readonly at: number
}

export interface StoredDraft {
  readonly text: string
  readonly files: ReadonlyArray<StoredFile>
}

type Fields = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Fields => typeof value === "object" && value !== null

const isStoredFile = (value: unknown): value is StoredFile => {
  if (!isRecord(value) || typeof value["at"] !== "number" || !isRecord(value["attachment"])) return false
  const { bytes, id, mediaType, name } = value["attachment"]
  return typeof bytes === "number" && [id, mediaType, name].every((field) => typeof field === "string")
}

const parse = (stored: string | null): Fields => {
  try {
    const value: unknown = JSON.parse(stored ?? "{}")
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

const deleteOldest = (storage: AccountArea): void => {
  const keys = Array.from({ length: storage.length }, (_, i) => storage.key(i) ?? "")
  const drafts = keys
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => ({ key, at: Number(parse(storage.getItem(key))["at"] ?? 0) }))
  for (const { key } of drafts.toSorted((a, b) => b.at - a.at).slice(MAX_DRAFTS)) storage.removeItem(key)
}

/** The stored draft, or an empty one. */
export const readDraft = (name: string, now: number, storage: AccountArea = accountStorage): StoredDraft => {
  const { files, text } = parse(storage.getItem(PREFIX + name))
  return {
    text: typeof text === "string" ? text.slice(0, MAX_TEXT_LENGTH) : "",
    files: (Array.isArray(files) ? files : [])
      .filter(isStoredFile)
      .filter(({ at }) => now - at < UPLOAD_LIFETIME_MS)
      .slice(0, MAX_ATTACHMENTS)
  }
}

/** Stores a draft. An empty one is deleted. */
export const storeDraft = (
  name: string,
  { files, text }: StoredDraft,
  now: number,
  storage: AccountArea = accountStorage
): void => {
  if (text.trim() === "" && files.length === 0) return storage.removeItem(PREFIX + name)
  try {
    storage.setItem(PREFIX + name, JSON.stringify({ text: text.slice(0, MAX_TEXT_LENGTH), files, at: now }))
    deleteOldest(storage)
  } catch {
    // The storage is full or not allowed: the draft lives in the page.
  }
}
